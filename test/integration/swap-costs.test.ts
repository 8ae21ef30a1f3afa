import {
  memoryJournal,
  type Attempt,
  type ClientOptions,
  type Journal,
  type PolicyOptions,
  type Signer,
} from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { swapCostAfter } from '../../src/payments/plan/swap-cost.js';
import { ownFee, swapAmountsOf, rentIn } from '../../src/payments/reconcile/swap-outcome.js';
import { costOf } from '../../src/policy/cost.js';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import { storedOf } from '../helpers/attempts.js';
import { startTaker } from '../helpers/bounds.js';
import { landed, rpc, signaturesOf, tokenAccount, until } from '../helpers/chain.js';
import { failureOf, payerOf, payerOn, recordingSigner } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { expectCapUse, worth } from '../helpers/worth.js';

// A swap counts by the prices of its reservation and by the balances on the chain. Late, lost or
// wrong answers must not make it count less.

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = (path: string) => sandbox.apiUrl + path;
const SYMBOLS: readonly MintSymbol[] = ['SOL', 'USDC', 'USDT', 'PYUSD', 'BONK'];

async function worthOf(wallet: string): Promise<bigint> {
  const entries = await Promise.all(
    SYMBOLS.map(async (symbol) => [symbol, await sandbox.balance(wallet, symbol)] as const),
  );
  // The list above has an entry for each symbol.
  return worth(sandbox, Object.fromEntries(entries) as Record<MintSymbol, bigint>);
}

/** A payer, and the picodollars that left its wallet, by the chain and the sandbox's prices. */
async function watched(funds: Partial<Record<MintSymbol, string>>, options: ClientOptions) {
  const payer = await payerOn(sandbox, funds, { autoSwap: true, ...options });
  const given = await worthOf(payer.address);
  return { ...payer, left: async () => given - (await worthOf(payer.address)) };
}

/** Compares the use of the first dollar cap with the value that left the wallet. */
async function expectAllCounted(
  payer: Awaited<ReturnType<typeof watched>>,
  journal: Journal,
  paid: bigint,
): Promise<void> {
  const { client, left } = payer;
  const [use] = (await client.spent()).filter(({ unit }) => unit === 'USD');
  if (use === undefined) throw new Error('There is no cap in dollars.');
  expectCapUse(sandbox, use, {
    left: await left(),
    paid,
    attempts: await storedOf(journal, payer),
  });
}

describe('a swap that is decided long after its call', () => {
  /** A payer that closed after its swap of SOL landed and before any node reported it. */
  async function leftBehind(options: ClientOptions = {}) {
    const journal = memoryJournal();
    const payer = await watched({ SOL: '1' }, { swapFrom: ['SOL'], ...options, journal });
    sandbox.controls.node.fault('getSignatureStatuses', { kind: 'status', status: 503 });
    const call = failureOf(payer.client.fetch(url('/usdc')));
    const account = await tokenAccount(payer.address, sandbox.mints.USDC);
    await until('the swap has landed', async () =>
      (await signaturesOf(sandbox.rpcUrl, account)).length > 0 ? true : undefined,
    );
    await payer.client.close();
    expect(await call).toMatchObject({ code: 'swap_uncertain' });
    sandbox.controls.node.clearFaults();
    return { payer, journal };
  }

  it.each<[string, () => void]>([
    ['its token no longer has a price', () => sandbox.controls.aggregator.noRoute('SOL', '*')],
    ['its token has lost its price', () => sandbox.controls.aggregator.setPrice('SOL', 1n)],
    [
      'Jupiter is down',
      () => sandbox.controls.aggregator.fault('*', { kind: 'status', status: 503 }),
    ],
    ['nothing has changed', () => undefined],
  ])('counts its cost at the prices of its reservation when %s', async (_, happens) => {
    const { payer, journal } = await leftBehind();
    happens();
    const client = payer.again({ swapFrom: ['SOL'], autoSwap: true, journal });
    await client.resume();
    const [attempt] = await storedOf(journal, payer);
    expect(attempt).toMatchObject({ state: 'unpaid', swapped: { swaps: 1 } });
    await expectAllCounted({ ...payer, client }, journal, 0n);
  });

  it('counts at most its reservation when its input token has become dearer', async () => {
    const { payer, journal } = await leftBehind();
    const [{ swapping } = {}] = await storedOf(journal, payer);
    sandbox.controls.aggregator.setPrice('SOL', sandbox.mints.SOL.picoUsd * 100n);
    await payer.again({ swapFrom: ['SOL'], autoSwap: true, journal }).resume();
    const [{ swapped } = {}] = await storedOf(journal, payer);
    for (const part of ['lossMicroUsd', 'feeMicroUsd', 'lamports'] as const) {
      expect([part, BigInt(swapped?.[part] ?? 0) <= BigInt(swapping?.[part] ?? 0)]).toEqual([
        part,
        true,
      ]);
    }
  });
});

interface Meta {
  err: unknown;
  fee: number;
  preBalances: number[];
  postBalances: number[];
  preTokenBalances: {
    accountIndex: number;
    mint: string;
    owner: string;
    uiTokenAmount: { amount: string };
  }[];
  postTokenBalances: {
    accountIndex: number;
    mint: string;
    owner: string;
    uiTokenAmount: { amount: string };
  }[];
}

interface Shown {
  readonly meta: Meta;
}

/** Makes the node apply `change` to each landed transaction that it returns. */
function tellWrong(change: (meta: Meta) => void): void {
  sandbox.controls.node.intercept = (method, _, next) => {
    const answer = next();
    // The sandbox encodes its answers with these fields.
    if (method === 'getTransaction' && answer !== null) change((answer as unknown as Shown).meta);
    return answer;
  };
}

describe('one wrong number in the answer of a node', () => {
  // The sandbox's own numbers are bigint.
  const madeAccount = ({ preBalances, postBalances }: Meta) =>
    postBalances.findIndex((after, index) => after > 0 && Number(preBalances[index]) === 0);
  it.each<[string, (meta: Meta) => void]>([
    ['a lower fee', (meta) => (meta.fee = 1)],
    ['fewer lamports in the new account', (meta) => (meta.postBalances[madeAccount(meta)] = 1)],
    [
      'a lower balance of the source before the swap',
      ({ preTokenBalances, postTokenBalances }) => {
        for (const { accountIndex, uiTokenAmount } of preTokenBalances) {
          const after = postTokenBalances.find((entry) => entry.accountIndex === accountIndex);
          if (uiTokenAmount.amount === '5000000')
            uiTokenAmount.amount = String(Number(after?.uiTokenAmount.amount) + 1);
        }
      },
    ],
  ])('does not lower the counted cost of a swap: %s', async (_, change) => {
    const journal = memoryJournal();
    const payer = await payerOn(sandbox, { SOL: '0.5', USDT: '5' }, { autoSwap: true, journal });
    const seller = await startTaker(sandbox, [['BONK', '100000000']]);
    onTestFinished(() => seller.close());
    tellWrong(change);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    const [attempt] = await storedOf(journal, payer);
    const { inputs = {}, lamports = '0' } = attempt?.swapped ?? {};
    expect(BigInt(inputs[sandbox.mints.USDT.address] ?? 0)).toBeGreaterThanOrEqual(
      5_000_000n - (await sandbox.balance(payer.address, 'USDT')),
    );
    expect(BigInt(lamports)).toBeGreaterThanOrEqual(
      500_000_000n - (await sandbox.balance(payer.address, 'SOL')),
    );
  });

  it('does not make a successful swap count as failed', async () => {
    const journal = memoryJournal();
    const payer = await watched({ SOL: '1' }, { swapFrom: ['SOL'], journal });
    let swap: unknown;
    sandbox.controls.node.intercept = (method, params, next) => {
      const answer = next();
      if (method !== 'getSignatureStatuses') return answer;
      const [[signature]] = params as [[string]];
      // The facilitator asks the same node for the status of the payment.
      swap ??= signature;
      for (const status of (answer as { value: ({ err: unknown } | null)[] }).value)
        if (status !== null && signature === swap) status.err = { Custom: 1 };
      return answer;
    };
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    const [attempt] = await storedOf(journal, payer);
    expect(attempt).toMatchObject({ swapped: { swaps: 1 } });
    expect(BigInt(attempt?.swapped?.lossMicroUsd ?? 0)).toBeGreaterThan(0n);
  });
});

/** Yields copies of an answer, each with one number replaced. */
function* wrongNumbers(shown: Shown): Iterable<readonly [what: string, shown: Shown]> {
  const changed = function* (
    what: string,
    values: readonly unknown[],
    change: (meta: Meta, value: never) => void,
  ) {
    for (const value of values) {
      const copy = structuredClone(shown);
      change(copy.meta, value as never); // Each caller passes values of the field's type.
      yield [`${what} as ${String(value)}`, copy] as const;
    }
  };
  const { meta } = shown;
  const RENT = 2_039_280;
  const near = (value: number) =>
    [
      0,
      1,
      value - 1,
      value + 1,
      value * 2,
      Math.floor(value / 2),
      value + RENT,
      value - RENT,
      value + meta.fee,
    ].filter((candidate) => candidate >= 0 && candidate !== value);
  yield* changed('fee', near(meta.fee), (copy, value) => (copy.fee = value));
  for (const list of ['preBalances', 'postBalances'] as const)
    for (const [index, value] of meta[list].entries())
      yield* changed(
        `${list}[${index}]`,
        near(value),
        (copy, wrong) => (copy[list][index] = wrong),
      );
  const indexes = meta.preBalances.map((_, index) => index);
  for (const list of ['preTokenBalances', 'postTokenBalances'] as const)
    for (const [index, { accountIndex, uiTokenAmount }] of meta[list].entries()) {
      const entryOf = (copy: Meta) => copy[list][index];
      yield* changed(`${list}[${index}]`, near(Number(uiTokenAmount.amount)), (copy, wrong) => {
        const entry = entryOf(copy);
        if (entry !== undefined) entry.uiTokenAmount.amount = String(wrong);
      });
      yield* changed(
        `${list}[${index}].accountIndex`,
        indexes.filter((wrong) => wrong !== accountIndex),
        (copy, wrong) => {
          const entry = entryOf(copy);
          if (entry !== undefined) entry.accountIndex = wrong;
        },
      );
    }
}

describe('any wrong number in the transaction of a swap', () => {
  type Funds = Partial<Record<MintSymbol, string>>;
  it.each<[what: string, asked: MintSymbol, amount: string, funds: Funds, first: boolean]>([
    ['SOL into a held token', 'USDC', '500000', { SOL: '1', USDC: '0.01' }, true],
    ['SOL into a new token', 'USDC', '500000', { SOL: '1' }, true],
    ['USDT into held USDC', 'USDC', '500000', { SOL: '0.5', USDT: '5', USDC: '0.01' }, true],
    ['USDT into new USDC', 'USDC', '500000', { SOL: '0.5', USDT: '5' }, true],
    ['BONK into new USDC', 'USDC', '500000', { SOL: '0.5', BONK: '1000000' }, true],
    ['USDT into a token that is not pinned', 'BONK', '100000000', { SOL: '0.5', USDT: '5' }, true],
    ['USDC into new wrapped SOL', 'SOL', '1000000', { SOL: '0.005', USDC: '5' }, true],
    ['USDC into held wrapped SOL', 'SOL', '1000000', { SOL: '0.005', USDC: '5' }, false],
    ['SOL that the client only wraps', 'SOL', '1000000', { SOL: '1' }, true],
    ['USDT into new wrapped SOL, by a relayer', 'SOL', '1000000', { USDT: '5' }, true],
    ['USDT into held wrapped SOL, by a relayer', 'SOL', '1000000', { USDT: '5' }, false],
  ])('does not lower the counted cost: %s', async (_, asked, amount, funds, first) => {
    const signed: Attempt[] = [];
    const inner = memoryJournal();
    const journal: Journal = {
      ...inner,
      put: (attempt) => {
        if (
          attempt.state === 'reserved' &&
          attempt.swapping !== undefined &&
          attempt.swap?.outcome === undefined
        )
          signed.push(attempt);
        return inner.put(attempt);
      },
    };
    const options = { autoSwap: true, journal, relayer: { url: sandbox.relayerUrl } };
    const payer = await payerOn(sandbox, funds, options);
    const seller = await startTaker(sandbox, [[asked, amount]]);
    onTestFinished(() => seller.close());
    if (!first) {
      expect((await payer.client.fetch(seller.url)).status).toBe(200);
      await payer.client.close();
    }
    expect((await payer.again(options).fetch(`${seller.url}/2`)).status).toBe(200);
    const attempt = signed[signed.length - 1];
    const swap = attempt?.swap;
    if (attempt === undefined || swap === undefined) throw new Error('No swap was signed.');
    const config = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
    const truth = await rpc<Shown>(sandbox.rpcUrl, 'getTransaction', [swap.signature, config]);
    let shown = truth;
    const node = connectRpc({
      urls: [sandbox.rpcUrl],
      timeoutMs: 5_000,
      fetch: (_url, init) => {
        const { id } = JSON.parse(String(init?.body)) as { id: unknown };
        return Promise.resolve(Response.json({ jsonrpc: '2.0', id, result: shown }));
      },
    });
    onTestFinished(() => node.close());
    const { inputMint, outputMint, quoted } = swap;
    const countedBy = async (answer: Shown) => {
      shown = answer;
      const found = await node.transaction(swap.signature).catch(() => null);
      if (found === null || found === 'newer') return costOf(attempt, true);
      const seen =
        inputMint === outputMint
          ? { inAmount: quoted.inAmount, outAmount: quoted.outAmount }
          : swapAmountsOf(found, payer.address, swap);
      const rent = rentIn(found, payer.address, swap);
      const cost = swapCostAfter(attempt, {
        state: 'confirmed',
        ...{
          inAmount: seen.inAmount.toString(),
          outAmount: seen.outAmount.toString(),
          feeLamports: ownFee(found, swap).toString(),
        },
        ...(rent === undefined ? {} : { rentLamports: rent.toString() }),
      });
      if (cost === undefined) throw new Error('A swap that landed has cost something.');
      return costOf({ ...attempt, swapping: cost }, true);
    };
    const right = await countedBy(truth);
    const bound = costOf(attempt, true);
    for (const [unit, most] of bound)
      expect([unit, (right.get(unit) ?? 0n) <= most]).toEqual([unit, true]);
    let wrong = 0;
    for (const [what, answer] of wrongNumbers(truth)) {
      const counted = await countedBy(answer);
      for (const [unit, value] of right)
        expect([what, unit, (counted.get(unit) ?? 0n) >= value]).toEqual([what, unit, true]);
      wrong += 1;
    }
    expect(wrong).toBeGreaterThan(100);
    if (inputMint !== outputMint) expect(right).not.toEqual(bound);
    expect((await landed(sandbox.rpcUrl, swap.signature)).error).toBeNull();
  });
});

describe('a swap while a payment from its accounts is in flight', () => {
  const TAKEN = { USDC: 900_000n, BONK: 4_000_000_000n };
  const setVenue = (amount: bigint) =>
    sandbox.controls.aggregator.setVenue({ modes: [MODE.underpay], amount });

  /**
   * A payer with a payment in flight that takes the whole balance of a token. The seller settles
   * nothing, and the next call needs a swap.
   */
  async function withPaymentInFlight(
    maxPerPayment: string,
    symbol: 'USDC' | 'BONK' = 'USDC',
    more: PolicyOptions = {},
  ) {
    const [held, asked] = {
      USDC: ['0.95', '950000'] as const,
      BONK: ['45000', '4500000000'] as const,
    }[symbol];
    const seller = await startTaker(sandbox, [[symbol, asked]]);
    onTestFinished(() => seller.close());
    const journal = memoryJournal();
    const policy = { maxPerPayment, minSwap: '0', ...more };
    const payer = await watched(
      { SOL: '0.1', [symbol]: held, USDT: '10' },
      { swapFrom: ['USDT'], policy, journal },
    );
    expect((await payer.client.fetch(`${seller.url}/first`)).status).toBe(200);
    return { payer, journal, buys: () => payer.client.fetch(`${seller.url}/second`) };
  }

  it.each(['USDC', 'BONK'] as const)(
    'must bring its full minimum of %s when no cap has room for the payment in flight',
    async (symbol) => {
      const { payer, buys } = await withPaymentInFlight('1.00', symbol);
      setVenue(TAKEN[symbol]);
      expect(await failureOf(buys())).toMatchObject({ code: 'unsafe_swap', funds: 'untouched' });
      expect(await payer.left()).toBe(0n);
      sandbox.controls.aggregator.restore();
      expect((await buys()).status).toBe(200);
    },
  );

  it('must bring its full minimum when the plan with it was approved', async () => {
    const { payer, buys } = await withPaymentInFlight('3.00', 'USDC', { approve: () => true });
    setVenue(TAKEN.USDC);
    expect(await failureOf(buys())).toMatchObject({ code: 'unsafe_swap', funds: 'untouched' });
    expect(await payer.left()).toBe(0n);
  });

  it.each(['USDC', 'BONK'] as const)(
    'counts the %s of the payment in flight that the venue took when a cap has room for it',
    async (symbol) => {
      const { payer, journal, buys } = await withPaymentInFlight('3.00', symbol);
      setVenue(TAKEN[symbol]);
      // The payment in flight holds the amount that is missing.
      const error = await failureOf(buys());
      expect(error).toMatchObject({ code: 'insufficient_funds' });
      // No advice to swap: it did.
      expect(error).not.toMatchObject({ message: expect.stringContaining('autoSwap') });
      const left = await payer.left();
      expect(left).toBeGreaterThan(TAKEN[symbol] * sandbox.mints[symbol].picoUsd);
      const [, attempt] = await storedOf(journal, payer);
      if (attempt === undefined) throw new Error('There is no second attempt.');
      const counted = costOf({ ...attempt, microUsd: '0' }, true).get('USD') ?? 0n;
      expect(counted * 1_000_000n).toBeGreaterThanOrEqual(left);
    },
  );

  it.each(['noWorseThan', 'no cap'])(
    'must bring its full minimum when the caller ordered it with %s',
    async (how) => {
      const { payer } = await withPaymentInFlight('3.00');
      const order = { inputMint: 'USDT', outputMint: 'USDC', uiAmount: '1' };
      const noWorseThan = how === 'no cap' ? undefined : await payer.client.quote(order);
      const buys = () => payer.client.swap(order, { noWorseThan, counted: how !== 'no cap' });
      setVenue(TAKEN.USDC);
      expect(await failureOf(buys())).toMatchObject({ code: 'unsafe_swap', funds: 'untouched' });
      expect(await payer.left()).toBe(0n);
      sandbox.controls.aggregator.restore();
      expect(BigInt((await buys()).outAmount)).toBeGreaterThan(TAKEN.USDC);
    },
  );

  it.each([
    ['its input', 'USDC', '100000'],
    ['its output', 'BONK', '10000000'],
    // The swap lands at the second try: its guard stops the first.
    ['its input more than the guard may allow under a cap', 'USDC', '950000'],
  ] as const)(
    'lands in a token that is not pinned while the payment takes from %s',
    async (_, first, amount) => {
      const wallet = await sandbox.createWallet({
        SOL: '0.1',
        USDC: '5',
        BONK: first === 'BONK' ? '100' : '0',
      });
      const gate = { open: (): void => undefined, settled: (): void => undefined };
      const opened = new Promise<void>((resolve) => (gate.open = resolve));
      const settled = new Promise<void>((resolve) => (gate.settled = resolve));
      const bonk = { asset: sandbox.mints.BONK.address, amount: '10000000' };
      const seller = await sellerOfTest((request, response) => {
        const isFirst = request.url === '/first';
        const terms = isFirst ? { asset: sandbox.mints[first].address, amount } : bonk;
        if (!isPaid(request))
          return answerTerms(response, { x402Version: 2, accepts: [offerOf(sandbox, terms)] });
        const settling = (isFirst ? opened : Promise.resolve()).then(() =>
          settle(sandbox, request),
        );
        settling
          .then(
            (settlement) =>
              answer(
                response,
                settlement.success ? 200 : 402,
                {},
                settlementHeader({ ...settlement }),
              ),
            () => request.socket.destroy(),
          )
          .finally(() => isFirst && gate.settled());
      });
      const { signer } = recordingSigner(wallet.address, wallet.secretKey);
      // The payment settles after the swap was composed and before it is signed.
      const late: Signer = {
        ...signer,
        signMessage: async (message, intent) => {
          if (intent.kind === 'swap') gate.open();
          if (intent.kind === 'swap') await settled;
          return signer.signMessage(message, intent);
        },
      };
      const { client } = payerOf(sandbox, wallet, {
        autoSwap: true,
        swapFrom: ['USDC'],
        signer: late,
        policy: { maxPerPayment: '0.951' },
      });
      const inFlight = client.fetch(`${seller.url}/first`);
      await until('the first payment is presented', () => Promise.resolve(seller.paid[0]));
      expect((await client.fetch(`${seller.url}/second`)).status).toBe(200);
      expect((await inFlight).status).toBe(200);
    },
  );

  it.each([
    ['policy.maxInAmount', { maxInAmount: { USDC: '150000' } }],
    ['the approved plan', { approve: () => true }],
  ])(
    'takes no more of its input than %s, whatever the payment in flight takes',
    async (_, policy) => {
      const sellers = await Promise.all([
        startTaker(sandbox, [['USDC', '500000']]),
        startTaker(sandbox, [['USDT', '100000']]),
      ]);
      onTestFinished(async () => void (await Promise.all(sellers.map((seller) => seller.close()))));
      const payer = await watched(
        { SOL: '0.1', USDC: '5' },
        { swapFrom: ['USDC'], policy: { minSwap: '0', ...policy } },
      );
      expect((await payer.client.fetch(sellers[0].url)).status).toBe(200);
      sandbox.controls.aggregator.setVenue({ modes: [MODE.overcharge], amount: 400_000n });
      expect(await failureOf(payer.client.fetch(sellers[1].url))).toMatchObject({
        code: 'unsafe_swap',
        funds: 'untouched',
      });
      expect(await payer.left()).toBe(0n);
      sandbox.controls.aggregator.restore();
      expect((await payer.client.fetch(sellers[1].url)).status).toBe(200);
    },
  );
});
