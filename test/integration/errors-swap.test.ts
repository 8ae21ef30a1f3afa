import { address } from '@solana/kit';
import { local, receiptOf, type SigningIntent, type Transport } from 'exact-change';
import type { MintSymbol, VenueBehaviour } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { landed, rpc, signaturesOf, tokenAccount } from '../helpers/chain.js';
import { failureOf, payerOn, recordingSigner, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';
import { paidOf, usedByCap } from '../helpers/worth.js';

// The client retries a failed swap once, when its block is final, 32 slots later.
const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

const FEES = 255_000n; // policy.maxFeeLamports: the most that one swap may cost
const usdc = () => `${sandbox.apiUrl}/usdc`;
const bonk = () => sandbox.mints.BONK.address;
const FUNDS = { SOL: '0.5', BONK: '5000000', USDC: '0.001', USDT: '1' } as const;
const swapper = (options = {}) =>
  payerOn(sandbox, FUNDS, { autoSwap: true, swapFrom: [bonk()], ...options });

const SYMBOLS: readonly MintSymbol[] = ['USDC', 'USDT', 'BONK', 'SOL'];

interface RawAccount {
  readonly owner: string;
  readonly lamports: number;
  readonly data: readonly [string, string];
}

/** Reads the keys that control the wallet and its token accounts, and their balances. */
async function stateOf(owner: string) {
  const accounts = [
    owner,
    ...(await Promise.all(SYMBOLS.map((symbol) => tokenAccount(owner, sandbox.mints[symbol])))),
  ];
  const params = [accounts, { encoding: 'base64', commitment: 'confirmed' }];
  const { value } = await rpc<{ value: (RawAccount | null)[] }>(
    sandbox.rpcUrl,
    'getMultipleAccounts',
    params,
  );
  const [wallet, ...tokens] = value.map((account) =>
    account === null ? undefined : { ...account, bytes: Buffer.from(account.data[0], 'base64') },
  );
  const control = tokens.map((token) =>
    token === undefined
      ? undefined
      : {
          program: token.owner,
          mint: token.bytes.subarray(0, 32).toString('hex'),
          owner: token.bytes.subarray(32, 64).toString('hex'),
          delegate: token.bytes.subarray(72, 76).toString('hex'),
          state: token.bytes[108],
          closeAuthority: token.bytes.subarray(129, 133).toString('hex'),
        },
  );
  return {
    control: { wallet: [wallet?.owner, wallet?.bytes.length], tokens: control },
    lamports: BigInt(wallet?.lamports ?? 0),
    amounts: tokens.map((token) => token?.bytes.readBigUInt64LE(64) ?? 0n),
  };
}

type State = Awaited<ReturnType<typeof stateOf>>;

/** Expects that only fees have left the wallet and that the same keys control its accounts. */
function expectOnlyFeesGone(before: State, after: State, swaps = 1): void {
  expect(after.control).toEqual(before.control);
  expect(after.amounts).toEqual(before.amounts);
  expect(before.lamports - after.lamports).toBeLessThanOrEqual(FEES * BigInt(swaps));
}

const swapsOf = ({ events }: Payer) =>
  events.flatMap((event) => (event.type === 'swap.signed' ? [event.signature] : []));

describe('a swap that fails because the price moves', () => {
  it('is made again with a new quote when the price moves once after the signature', async () => {
    const payer = await swapper();
    const stop = payer.client.on('swap.signed', () =>
      sandbox.controls.aggregator.setVenue({ deviationBps: 80 }),
    );
    payer.client.on('swap.failed', () => {
      stop();
      sandbox.controls.aggregator.setVenue({});
    });
    const response = await payer.client.fetch(usdc());
    expect(response.status).toBe(200);
    const [first = '', second = ''] = swapsOf(payer);
    const [failed, landedWell] = await Promise.all([
      landed(sandbox.rpcUrl, first),
      landed(sandbox.rpcUrl, second),
    ]);
    expect(failed.error).not.toBeNull();
    expect(landedWell.error).toBeNull();
    // Both swaps cost a fee, and the receipt sums them.
    expect(receiptOf(response)?.cost.networkFeeLamports).toBe(
      (failed.fee + landedWell.fee).toString(),
    );
    expect(receiptOf(response)?.swap?.signature).toBe(second);
    expect(payer.events.filter(({ type }) => type === 'swap.quoted').length).toBe(2);
  });

  it('rejects with swap_failed after two tries, and only fees are gone', async () => {
    const payer = await swapper();
    payer.client.on('swap.signed', () =>
      sandbox.controls.aggregator.setVenue({ deviationBps: 80 }),
    );
    payer.client.on('swap.failed', () => sandbox.controls.aggregator.setVenue({}));
    const before = await stateOf(payer.address);
    const error = await failureOf(payer.client.fetch(usdc()), 'swap_failed');
    expect(error).toMatchObject({
      name: 'TransactionError',
      funds: 'untouched',
      moved: [],
      retry: 'fresh',
    });
    const fees = await Promise.all(
      swapsOf(payer).map(async (signature) => (await landed(sandbox.rpcUrl, signature)).fee),
    );
    expect(error.details).toEqual({
      signature: swapsOf(payer)[1],
      reason: expect.stringMatching(/6001|Slippage/),
      feeLamports: fees.reduce((sum, fee) => sum + fee).toString(),
    });
    expect(swapsOf(payer).length).toBe(2);
    expectOnlyFeesGone(before, await stateOf(payer.address), 2);
    // The fees of failed swaps count.
    expect(await usedByCap(payer.client)).toMatchObject({
      maxLamportsPerDay: error.details.feeLamports,
    });
    expect(await paidOf(payer.client)).toBe('0');
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap', 'swap']);
  });

  it('rejects with the fee of the first try when no second try is possible', async () => {
    const payer = await swapper();
    payer.client.on('swap.signed', () =>
      sandbox.controls.aggregator.setVenue({ deviationBps: 80 }),
    );
    payer.client.on('swap.failed', () =>
      sandbox.controls.aggregator.fault('*', { kind: 'status', status: 400 }),
    );
    const before = await stateOf(payer.address);
    const error = await failureOf(payer.client.fetch(usdc()), 'swap_failed');
    const [signature = ''] = swapsOf(payer);
    const { fee } = await landed(sandbox.rpcUrl, signature);
    expect(error.details).toMatchObject({ signature, feeLamports: fee.toString() });
    expect(error).toMatchObject({ funds: 'untouched', moved: [], cause: { funds: 'untouched' } });
    expect(before.lamports - (await stateOf(payer.address)).lamports).toBe(fee);
  });

  it('is simulated twice and never signed when the price moves before the signature', async () => {
    const payer = await swapper();
    sandbox.controls.aggregator.setVenue({ deviationBps: 80 });
    const error = await refusal(sandbox, payer, 'simulation_failed', () =>
      payer.client.fetch(usdc()),
    );
    expect(error).toMatchObject({
      name: 'TransactionError',
      retry: 'fresh',
      details: { reason: expect.stringMatching(/Slippage/) },
    });
    expect(payer.events.filter(({ type }) => type === 'swap.quoted').length).toBe(2);
  });

  it('is not tried again when its reason is no price change', async () => {
    const payer = await swapper();
    sandbox.controls.aggregator.setVenue({ modes: [MODE.fail], amount: 4242n });
    await refusal(sandbox, payer, 'simulation_failed', () => payer.client.fetch(usdc()));
    expect(payer.events.filter(({ type }) => type === 'swap.quoted').length).toBe(1);
  });
});

describe('a swap that is refused before its signature', () => {
  /** A payer with a service that returns unsafe swaps from `mints`. */
  async function withUnsafeSwaps(...mints: readonly string[]): Promise<Payer> {
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const swapInstruction: Transport['swapInstruction'] = async (request, options) => {
      const build = await honest.swapInstruction?.(request, options);
      if (build === undefined) throw new Error('The local transport builds swaps.');
      const bad = mints.includes(request.quote.inputMint);
      return bad
        ? { ...build, instruction: { ...build.instruction, program: sandbox.merchant } }
        : build;
    };
    return swapper({
      transport: { ...honest, swapInstruction },
      swapFrom: ['USDT', bonk(), 'SOL'],
    });
  }

  it('is replaced by a swap from the next token', async () => {
    const payer = await withUnsafeSwaps(sandbox.mints.USDT.address);
    const response = await payer.client.fetch(usdc());
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.swap?.inputMint).toBe(bonk());
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
  });

  it('rejects the call with its reason when no other token works', async () => {
    const payer = await withUnsafeSwaps(
      sandbox.mints.USDT.address,
      bonk(),
      sandbox.mints.SOL.address,
    );
    await refusal(sandbox, payer, 'unsafe_swap', () => payer.client.fetch(usdc()));
    const tried = payer.events.flatMap((event) =>
      event.type === 'swap.quoted' ? [event.inputMint] : [],
    );
    expect(tried).toEqual([sandbox.mints.USDT.address, bonk(), sandbox.mints.SOL.address]);
  });
});

describe('a hostile venue', () => {
  const attacker = address('Attack1111111111111111111111111111111111112');
  const SYSTEM = { address: address('11111111111111111111111111111111'), role: 0 } as const;
  /** One attack of each end. `firewall-venue.test.ts` has every attack. */
  const HOSTILE: readonly (readonly [name: string, behaviour: VenueBehaviour])[] = [
    ['makes itself delegate of the source', { modes: [MODE.approve] }],
    ['takes the output account', { modes: [MODE.setOwner] }],
    ['takes a lamport', { modes: [MODE.takeSol], amount: 1n, extra: [SYSTEM] }],
    ['closes the source', { modes: [MODE.closeAccount] }],
    ['fails', { modes: [MODE.fail], amount: 4242n }],
  ];
  const armed = (behaviour: VenueBehaviour): VenueBehaviour => ({
    ...behaviour,
    attacker,
    extra: [...(behaviour.extra ?? []), attacker],
  });

  /** Expects a typed refusal that costs at most fees, or an honest purchase. */
  async function expectHarmless(payer: Payer, before: State, code: RegExp): Promise<void> {
    const outcome = await payer.client.fetch(usdc()).then(
      (response) => ({ response }),
      (error: unknown) => ({ error }),
    );
    const after = await stateOf(payer.address);
    if ('error' in outcome) {
      expect(outcome.error).toMatchObject({
        code: expect.stringMatching(code),
        funds: 'untouched',
        moved: [],
      });
      expectOnlyFeesGone(before, after);
      expect(payer.signed.filter(({ kind }) => kind === 'payment')).toEqual([]);
      return;
    }
    const swap = receiptOf(outcome.response)?.swap;
    const quoted = payer.events.find((event) => event.type === 'swap.quoted');
    const [maxIn, minOut] =
      quoted?.type === 'swap.quoted'
        ? [BigInt(quoted.maxInAmount), BigInt(quoted.minOutAmount)]
        : [0n, 0n];
    expect(after.control).toEqual(before.control);
    expect(before.lamports - after.lamports).toBeLessThanOrEqual(FEES);
    expect((before.amounts[2] ?? 0n) - (after.amounts[2] ?? 0n)).toBeLessThanOrEqual(maxIn);
    expect((after.amounts[0] ?? 0n) - (before.amounts[0] ?? 0n)).toBeGreaterThanOrEqual(
      minOut - 10_000n,
    );
    expect(after.amounts[1]).toBe(before.amounts[1]);
    expect(swap?.provider).toMatch(/^jupiter/);
  }

  it.each(HOSTILE)('takes nothing when it attacks from the start: it %s', async (_, behaviour) => {
    const payer = await swapper();
    sandbox.controls.aggregator.setVenue(armed(behaviour));
    const before = await stateOf(payer.address);
    await expectHarmless(payer, before, /^(unsafe_swap|simulation_failed)$/);
    // Without a payment, the client must not have signed the swap either.
    if (payer.events.every(({ type }) => type !== 'payment.signed'))
      expect(payer.signed).toEqual([]);
  });

  it.each(HOSTILE)(
    'takes at most fees when it attacks after the signature: it %s',
    async (_, behaviour) => {
      const payer = await swapper();
      // The instruction names the accounts of the attack from the start; the venue uses them only
      // after the signature.
      sandbox.controls.aggregator.setVenue({ extra: armed(behaviour).extra ?? [] });
      payer.client.on('swap.signed', () => sandbox.controls.aggregator.setVenue(armed(behaviour)));
      const before = await stateOf(payer.address);
      await expectHarmless(payer, before, /^swap_failed$/);
      expect(payer.signed[0]?.kind).toBe('swap');
    },
  );

  it('is refused when its instruction names another account of the wallet', async () => {
    const payer = await swapper();
    const target = address(await tokenAccount(payer.address, sandbox.mints.USDT));
    sandbox.controls.aggregator.setVenue({ modes: [MODE.drainOther], attacker, extra: [target] });
    const error = await refusal(sandbox, payer, 'unsafe_swap', () => payer.client.fetch(usdc()));
    expect(error).toMatchObject({
      name: 'QuoteError',
      retry: 'never',
      details: { rule: 'exposed_account' },
    });
  });
});

describe('a payment that fails after its swap landed', () => {
  /** A payer with a signer that signs swaps, and signs payments by `pay` until `obey` is called. */
  async function withPaymentSigner(
    pay: (intent: SigningIntent, signature: Uint8Array) => Promise<Uint8Array>,
  ): Promise<Payer & { obey(): void }> {
    const { address: at, secretKey } = await sandbox.createWallet(FUNDS);
    const { signer, signed } = recordingSigner(at, secretKey);
    let obedient = false;
    const own = {
      address: at,
      signMessage: async (message: Uint8Array, intent: SigningIntent) => {
        const signature = await signer.signMessage(message, intent);
        return intent.kind === 'swap' || obedient ? signature : pay(intent, signature);
      },
    };
    const other = await payerOn(sandbox, {}, { signer: own, autoSwap: true, swapFrom: [bonk()] });
    return { ...other, address: at, secretKey, signed, obey: () => (obedient = true) };
  }

  it.each<[string, Parameters<typeof withPaymentSigner>[0]]>([
    ['the signer refuses', () => Promise.reject(new Error('denied on the device'))],
    [
      'the signer signs something else',
      (_, signature) => Promise.resolve(signature.map((byte, at) => (at === 10 ? byte ^ 1 : byte))),
    ],
    ['the signer answers nonsense', () => Promise.resolve(new Uint8Array(3))],
  ])('names the swap in moved, and the next call pays from it: %s', async (_, pay) => {
    const payer = await withPaymentSigner(pay);
    const error = await failureOf(payer.client.fetch(usdc()), 'signing_failed');
    const [signature = ''] = swapsOf(payer);
    const confirmed = payer.events.find((event) => event.type === 'swap.confirmed');
    if (confirmed?.type !== 'swap.confirmed') throw new Error('no swap was confirmed');
    const { inputMint, inAmount, outputMint, outAmount } = confirmed;
    expect(error).toMatchObject({
      name: 'TransactionError',
      funds: 'swapped',
      details: { address: payer.address },
    });
    expect(error.moved).toEqual([
      { kind: 'swap', signature, inputMint, inAmount, outputMint, outAmount },
    ]);
    expect(error.response?.status).toBe(402);
    // The chain shows the same amounts as the event.
    const { error: failed, tokens } = await landed(sandbox.rpcUrl, signature);
    expect(failed).toBeNull();
    const ours = tokens
      .filter(({ owner }) => owner === payer.address)
      .map(({ mint, change }) => [mint, change]);
    expect(ours).toEqual(
      expect.arrayContaining([
        [bonk(), -BigInt(inAmount)],
        [outputMint, BigInt(outAmount)],
      ]),
    );
    const failure = payer.events.find((event) => event.type === 'payment.failed');
    expect(failure).toMatchObject({ code: 'signing_failed', funds: 'swapped' });
    expect(await paidOf(payer.client)).toBe('0');

    payer.obey();
    const response = await payer.client.fetch(usdc());
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.swap).toBeUndefined();
    expect(swapsOf(payer).length).toBe(1);
    // The chain has one swap and one payment.
    expect(
      (await signaturesOf(sandbox.rpcUrl, await tokenAccount(payer.address, sandbox.mints.USDC)))
        .length,
    ).toBe(2);
  });

  it('leaves funds untouched when the signer refuses the swap itself', async () => {
    const { address: at } = await sandbox.createWallet(FUNDS);
    const signer = {
      address: at,
      signMessage: () => Promise.reject(new Error('denied on the device')),
    };
    const payer = await payerOn(sandbox, {}, { signer, autoSwap: true, swapFrom: [bonk()] });
    const error = await refusal(sandbox, payer, 'signing_failed', () => payer.client.fetch(usdc()));
    expect(error.details).toEqual({ address: at });
    expect(error.cause).toMatchObject({ message: 'denied on the device' });
  });
});

describe('client.swap()', () => {
  it('refuses an invalid request, too little balance or no route, and moves nothing', async () => {
    const payer = await payerOn(sandbox, FUNDS);
    const { USDC, BONK } = sandbox.mints;
    const request = {
      inputMint: BONK.address,
      outputMint: USDC.address,
      amount: 100_000n,
      swapMode: 'ExactOut' as const,
    };
    const { client } = payer;
    for (const [change, option] of [
      [{ amount: 0n }, 'amount'],
      [{ amount: '-1' }, 'amount'],
      [{ amount: '1.5' }, 'amount'],
      [{ outputMint: BONK.address }, 'outputMint'],
      [{ inputMint: 'DOGE' }, 'inputMint'],
      [{ slippageBps: 51 }, 'slippageBps'],
      [{ maxAccounts: 0 }, 'maxAccounts'],
    ] as const) {
      const error = await refusal(sandbox, payer, 'invalid_option', () =>
        client.swap({ ...request, ...change }),
      );
      expect(error.details).toEqual({ option });
    }
    await refusal(sandbox, payer, 'insufficient_funds', () =>
      client.swap({ ...request, amount: 150_000_000n }),
    );
    sandbox.controls.aggregator.noRoute('BONK', 'USDC');
    await refusal(sandbox, payer, 'no_route', () => client.swap(request));
  });
});
