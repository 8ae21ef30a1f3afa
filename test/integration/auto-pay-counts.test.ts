import { address, type Address } from '@solana/kit';
import { createClient, memoryJournal, type Journal } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createOperations } from '../../adapters/local/operations.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { withCoordination, createCoordination } from '../../src/journal/registry.js';
import type { Coordination } from '../../src/journal/types.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { u64 } from '../corpus/accounts.js';
import {
  createAccount,
  instruction,
  readonly,
  signer,
  transferSol,
  unitLimit,
  writable,
  type FilledInstruction,
} from '../corpus/instructions.js';
import { storedOf } from '../helpers/attempts.js';
import {
  buyerOf,
  startService,
  untilState,
  type AutoPayService,
  type Buyer,
} from '../helpers/auto-pay.js';
import { landed, tokenAccount, until } from '../helpers/chain.js';
import { opened, sealed } from '../helpers/foreign-transaction.js';
import { useSandbox } from '../helpers/sandbox.js';

const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const JUPITER = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4';
const RENT = 2_039_280n;

const sandbox = await useSandbox({ confirmationMs: 20 });

const serve = (journal: Journal, options?: Parameters<typeof startService>[2]) =>
  startService(sandbox, journal, options);

const usdc = (query = '') => `${sandbox.apiUrl}/usdc${query}`;

/** Signs a planned swap after `change` has replaced its instructions. */
async function signedWith(
  buyer: Buyer,
  service: AutoPayService,
  change: (all: readonly FilledInstruction[]) => readonly FilledInstruction[],
): Promise<string> {
  const planned = await buyer.post(service);
  const parts = opened(sandbox, planned.body.swap?.transaction ?? '');
  return buyer.sign(sealed({ ...parts, instructions: change(parts.instructions) }));
}

const after = (extra: FilledInstruction) => (all: readonly FilledInstruction[]) => {
  const at = all.findIndex(({ programAddress }) => programAddress === JUPITER);
  return [...all.slice(0, at + 1), extra, ...all.slice(at + 1)];
};

describe('a signed swap that a buyer posts to the service', () => {
  it.each<
    [
      string,
      (
        own: Address,
        other: Address,
        wallet: Address,
      ) => (all: readonly FilledInstruction[]) => readonly FilledInstruction[],
    ]
  >([
    ['SOL for another wallet', (_, other, wallet) => after(transferSol(wallet, other, 1_000_000n))],
    [
      'tokens for another wallet',
      (own, other, wallet) =>
        after(
          instruction(TOKEN, [writable(own), writable(other), signer(wallet)], [3, ...u64(1n)]),
        ),
    ],
    [
      'a delegate of its tokens',
      (own, other, wallet) =>
        after(
          instruction(TOKEN, [writable(own), readonly(other), signer(wallet)], [4, ...u64(1n)]),
        ),
    ],
    [
      'its proceeds in the account of another wallet',
      (own, other) => (all) =>
        all.map((call) =>
          call.programAddress === JUPITER
            ? {
                ...call,
                accounts: call.accounts.map((account) =>
                  account.address === own ? { ...account, address: other } : account,
                ),
              }
            : call,
        ),
    ],
  ])('is refused with %s, because the service could not count it', async (_, change) => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const [wallet, other] = await Promise.all([
      sandbox.createWallet({ SOL: '0.5', USDC: '0' }),
      sandbox.createWallet({ USDC: '0' }),
    ]);
    const buyer = await buyerOf(wallet, usdc());
    const accounts = await Promise.all(
      [wallet, other].map((owner) => tokenAccount(owner.address, sandbox.mints.USDC)),
    );
    const [own, theirs] = accounts.map((account) => address(account));
    const sent = sandbox.controls.node.calls({ method: 'sendTransaction' });
    const signedSwap = await signedWith(
      buyer,
      service,
      change(own!, theirs!, address(wallet.address)),
    );
    expect((await buyer.post(service, { signedSwap })).body).toMatchObject({ code: 'unsafe_swap' });
    expect(await storedOf(journal, wallet)).toEqual([]);
    expect(sandbox.controls.node.calls({ method: 'sendTransaction' })).toBe(sent);
  });

  it('counts the rent of each account that it creates and leaves open', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDT: '5', USDC: '0' });
    const buyer = await buyerOf(wallet, usdc(), { swapFrom: ['USDT'] });
    const { SOL } = sandbox.mints;
    const own = address(wallet.address);
    const account = address(await tokenAccount(wallet.address, SOL));
    const creation = {
      payer: own,
      account,
      owner: own,
      mint: address(SOL.address),
      tokenProgram: TOKEN,
    };
    // Drop the guard: it would refuse that rent.
    const signedSwap = await signedWith(buyer, service, (all) => {
      const end = all.findIndex(({ programAddress }) => programAddress === JUPITER) + 1;
      return [
        unitLimit(400_000),
        ...all.slice(1, 2),
        createAccount(creation),
        ...all.slice(2, end),
      ];
    });
    const bounds: bigint[] = [];
    const reserve = journal.reserve.bind(journal);
    journal.reserve = (attempt, caps) => {
      bounds.push(BigInt(attempt.swapping?.lamports ?? 0));
      return reserve(attempt, caps);
    };
    const { body } = await untilState('ready_to_sign', () => buyer.post(service, { signedSwap }));
    const [attempt] = await storedOf(journal, wallet);
    const { fee, error } = await landed(sandbox.rpcUrl, attempt?.swap?.signature ?? '');
    expect([body.id, error, bounds]).toEqual([attempt?.id, null, [expect.any(BigInt)]]);
    expect(bounds[0]).toBeGreaterThanOrEqual(fee + RENT);
    expect(attempt?.swapped?.lamports).toBe((fee + RENT).toString());
  });

  it('counts its full bound when it failed and no node shows its transaction', async () => {
    const journal = memoryJournal();
    // The node returns the transaction once, which proves the failure.
    let reads = 0;
    const forgetful: typeof fetch = (input, init) =>
      typeof init?.body === 'string' && init.body.includes('"getTransaction"') && (reads += 1) > 1
        ? Promise.reject(new TypeError('fetch failed'))
        : fetch(input, init);
    const service = await serve(journal, { fetch: forgetful });
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, usdc());
    const planned = await buyer.post(service);
    const signedSwap = await buyer.sign(planned.body.swap?.transaction);
    sandbox.controls.aggregator.setVenue({ deviationBps: 80 });
    const failed = await until('it failed', async () => {
      const answer = await buyer.post(service, { signedSwap });
      return answer.body.state === 'swap_submitted' ? undefined : answer;
    });
    const most = 5_000n + BigInt(planned.body.swap?.priorityFeeLamports ?? 0);
    expect(failed.body).toMatchObject({
      code: 'swap_failed',
      details: { feeLamports: most.toString() },
    });
    const [attempt] = await until('its purchase is over', async () => {
      const attempts = await storedOf(journal, wallet);
      return attempts.every(({ state }) => state === 'unpaid') ? attempts : undefined;
    });
    expect(attempt?.swap?.outcome).toEqual({ state: 'failed', code: 'swap_failed' });
    expect(attempt?.swapped).toMatchObject({ swaps: 1, lamports: (most + RENT).toString() });
  });

  it('counts together with its payment against maxPerPayment', async () => {
    const journal = memoryJournal();
    const first = await serve(journal);
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, usdc());
    const signedSwap = await buyer.sign((await buyer.post(first)).body.swap?.transaction);
    const swapped = await untilState('ready_to_sign', () => buyer.post(first, { signedSwap }));
    const signedPayment = await buyer.sign(swapped.body.payment?.transaction);
    // The price fits the cap; the price and the cost of the swap do not.
    const second = await serve(journal, { policy: { maxPerPayment: '0.01' } });
    const refused = {
      status: 403,
      body: { code: 'amount_over_limit', details: { cap: 'maxPerPayment' } },
    };
    expect(await buyer.post(second)).toMatchObject(refused);
    expect(await buyer.post(second, { signedPayment })).toMatchObject(refused);
    expect(await storedOf(journal, wallet)).toMatchObject([{ state: 'reserved' }]);
  });
});

it('keeps the claim of a purchase while its second swap is open', async () => {
  const waits: (() => void)[] = [];
  // The test ends waits of more than a minute; shorter waits run as usual.
  const idle = (ms: number, signal?: AbortSignal) =>
    ms > 60_000
      ? new Promise<void>((resolve) => void waits.push(resolve))
      : systemRuntime.idle(ms, signal);
  const { claims, locks, ledger, next } = createCoordination();
  const dropped: string[] = [];
  let held = 0;
  const shared: Coordination = {
    ...{ ledger, next },
    claims: { ...claims, drop: (ids) => (dropped.push(...ids), claims.drop(ids)) },
    locks: {
      hold: (names, work, signals) => locks.hold(names, work, signals).finally(() => (held += 1)),
    },
  };
  const journal: Journal = {
    ...withCoordination(memoryJournal(), shared),
    coordination: () => shared,
  };
  const { rpcUrl, jupiterUrl } = sandbox;
  const transport = await createOperations(
    parseLocalOptions({ rpcUrl, jupiterUrl, journal }, { ...systemRuntime, idle }),
  );
  onTestFinished(() => transport.close());
  onTestFinished(() => waits.forEach((end) => end()));
  const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '0' });
  const { paymentRequired, sign } = await buyerOf(wallet, usdc());
  const request = {
    paymentRequired,
    wallet: wallet.address,
    autoSwap: true,
    idempotencyKey: 'order-1',
  };
  const swap = async (planned: Awaited<ReturnType<typeof transport.autoPay>>) => {
    const signedSwap = await sign(planned.swap?.transaction);
    return until('the swap has landed', async () => {
      const answer = await transport.autoPay({ ...request, signedSwap });
      return answer.state === 'ready_to_sign' ? answer : undefined;
    });
  };
  await swap(await transport.autoPay(request));
  // Another client spends the proceeds of the first swap.
  const client = createClient({
    walletSecretKey: wallet.secretKey,
    rpcUrl,
    jupiterUrl,
    journal: memoryJournal(),
  });
  onTestFinished(() => client.close());
  const proceeds = await sandbox.balance(wallet.address, 'USDC');
  for (let left = proceeds; left >= 10_000n; left -= 10_000n)
    await (await client.fetch(usdc(`?left=${left}`))).text();
  const again = await until('it is gone', async () => {
    const planned = await transport.autoPay(request);
    return planned.state === 'swap_required' ? planned : undefined;
  });
  const { id = '' } = await swap(again);
  const before = held;
  waits[0]?.();
  await until('the first is over', () =>
    dropped.includes(id) || held >= before + 2 ? true : undefined,
  );
  expect([dropped, [...(await claims.live([id]))]]).toEqual([[], [id]]);
  waits[1]?.();
  await until('the second is over too', () => (dropped.includes(id) ? true : undefined));
});

it.each(['signedPayment', 'signedSwap'])(
  "refuses a %s when the service's own node returns an impossible block height",
  async (name) => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet(
      name === 'signedSwap' ? { SOL: '0.5' } : { USDC: '1' },
    );
    const buyer = await buyerOf(wallet, usdc());
    const { swap, payment } = (await buyer.post(service)).body;
    const signed = await buyer.sign((swap ?? payment)?.transaction);
    sandbox.controls.node.fault('getLatestBlockhash', {
      kind: 'offBy',
      at: 'value.lastValidBlockHeight',
      by: 100_000,
    });
    expect(await buyer.post(service, { [name]: signed })).toMatchObject({
      body: { code: 'invalid_response' },
    });
    expect(await storedOf(journal, wallet)).toEqual([]);
  },
);
