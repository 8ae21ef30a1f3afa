import {
  address,
  createKeyPairSignerFromBytes,
  getBase58Encoder,
  partiallySignTransaction,
  type TransactionModifyingSigner,
} from '@solana/kit';
import { isExactChangeError, receiptOf, type ClientOptions, type Plan } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTaker } from '../helpers/bounds.js';
import {
  changingWallet,
  compile,
  decompile,
  guarded,
  guardOn,
  insert,
} from '../helpers/changing-wallet.js';
import { landed } from '../helpers/chain.js';
import { decided } from '../helpers/flow.js';
import { deployLighthouse } from '../helpers/lighthouse.js';
import { failureOf, payerOf, payerOn, recordingSigner, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const { relayer } = sandbox.controls;
const url = `${sandbox.apiUrl}/usdc`;
const relayed = { autoSwap: true, relayer: { url: sandbox.relayerUrl } };

const withoutSol = (
  funds: Partial<Record<MintSymbol, string>> = { USDT: '5' },
  more: ClientOptions = {},
): Promise<Payer> => payerOn(sandbox, funds, { ...relayed, ...more });

/** Returns the changes of the wallet by a transaction, as the chain has them. */
async function movedOf(payer: Payer, signature: string) {
  const { lamports, tokens, error, signatures } = await landed(sandbox.rpcUrl, signature);
  const own = new Map(
    tokens.filter(({ owner }) => owner === payer.address).map(({ mint, change }) => [mint, change]),
  );
  return { lamports: lamports.get(payer.address) ?? 0n, own, error, signatures, tokens };
}

describe('a swap that was approved by its bounds', () => {
  it('pays no relayer beyond its bounds', async () => {
    const payer = await withoutSol();
    const order = { inputMint: 'USDT', outputMint: 'SOL', amount: '1000000' } as const;
    const noWorseThan = await payer.client.quote(order);
    const error = await failureOf(payer.client.swap(order, { noWorseThan }));
    const why = error.cause ?? error;
    expect(why).toMatchObject({ code: 'approval_refused', details: { reason: 'changed' } });
    expect([await sandbox.balance(payer.address, 'USDT'), relayer.signed]).toEqual([
      5_000_000n,
      [],
    ]);
  });
});

describe('a relayer, for a wallet without SOL', () => {
  it.each([
    { held: 'USDT', funds: { USDT: '5' } },
    { held: 'BONK', funds: { BONK: '500000' } },
  ] as const)('lets the wallet buy in USDC from $held alone', async ({ held, funds }) => {
    const payer = await withoutSol(funds);
    const answer = await payer.client.fetch(url);
    const { swap, cost, state, payment } = await decided(answer);
    expect([answer.status, state, payment.amount]).toEqual([200, 'settled', '10000']);
    const fee = BigInt(swap?.relayFee?.amount ?? 0);
    const mint = sandbox.mints[held].address;
    expect([swap?.relayFee?.mint, swap?.inputMint]).toEqual([mint, mint]);

    const { lamports, own, error, tokens } = await movedOf(payer, swap?.signature ?? '');
    expect([error, lamports]).toEqual([null, 0n]);
    expect(own.get(mint)).toBe(-BigInt(swap?.inAmount ?? 0));
    expect(own.get(sandbox.mints.USDC.address)).toBe(BigInt(swap?.outAmount ?? 0));
    const fees = tokens.filter((transfer) => transfer.mint === mint && transfer.change === fee);
    expect(fees.map(({ owner }) => owner)).not.toContain(payer.address);
    expect(fees).toHaveLength(1);
    // The rent of a token account at 150 dollars per SOL, and a tenth of it for the relayer.
    expect(Number(cost.usd)).toBeGreaterThan(0.3);
    expect(Number(cost.usd)).toBeLessThan(0.51);
    expect([cost.networkFeeLamports, cost.rentLamports]).toEqual(['0', '0']);
    expect(await sandbox.balance(payer.address, 'SOL')).toBe(0n);
  });

  it('shows its signature to a wallet of kit, which may then change nothing', async () => {
    const wallet = await sandbox.createWallet({ USDT: '5' });
    const secretBytes = getBase58Encoder().encode(wallet.secretKey);
    const { keyPair } = await createKeyPairSignerFromBytes(secretBytes);
    const given: number[] = [];
    const modifyAndSignTransactions: TransactionModifyingSigner['modifyAndSignTransactions'] = (
      transactions,
    ) =>
      Promise.all(
        transactions.map((transaction) => {
          const signatures = Object.values(transaction.signatures);
          given.push(signatures.filter((signature) => signature !== null).length);
          return partiallySignTransaction([keyPair], transaction as never);
        }),
      );
    const signer = { address: address(wallet.address), modifyAndSignTransactions };
    const { client } = await payerOn(sandbox, {}, { ...relayed, signer });
    expect((await decided(await client.fetch(url))).state).toBe('settled');
    // The relayer has signed the swap, and no facilitator has signed the payment.
    expect(given).toEqual([1, 0]);
  });

  it('is not needed for the next payment, which uses the remaining tokens', async () => {
    const payer = await withoutSol();
    await (await payer.client.fetch(url)).text();
    const calls = relayer.calls();
    const receipt = await decided(await payer.client.fetch(url));
    expect([receipt.state, receipt.swap, relayer.calls()]).toEqual(['settled', undefined, calls]);
  });

  it('gets its fee from the output if it accepts no other token', async () => {
    relayer.accept([sandbox.mints.USDC.address]);
    const payer = await withoutSol({ BONK: '500000' });
    const { swap, state } = await decided(await payer.client.fetch(url));
    expect([state, swap?.relayFee?.mint]).toEqual(['settled', sandbox.mints.USDC.address]);
    const { lamports, own } = await movedOf(payer, swap?.signature ?? '');
    expect([lamports, own.get(sandbox.mints.USDC.address)]).toEqual([
      0n,
      BigInt(swap?.outAmount ?? 0),
    ]);
  });

  it('adds nothing to the proceeds of wrapped SOL by the rent that it pays', async () => {
    const payer = await withoutSol();
    const seller = await startTaker(sandbox, [['SOL', '1000000']]);
    onTestFinished(() => seller.close());
    // The seller settles nothing, so the chain would decide only once the payment has expired.
    const { swap, cost } = receiptOf(await payer.client.fetch(seller.url)) ?? {};
    const { lamports, own } = await movedOf(payer, swap?.signature ?? '');
    const brought = BigInt(swap?.outAmount ?? 0);
    expect([lamports, own.get(sandbox.mints.SOL.address)]).toEqual([0n, brought]);
    // USDT is worth a dollar, and SOL 150 dollars.
    const lost = BigInt(swap?.inAmount ?? 0) - (brought * 150n) / 1_000n;
    expect(Number(cost?.usd) * 1e6).toBeGreaterThanOrEqual(Number(lost));
  });

  it('lets the wallet swap a token into SOL', async () => {
    const payer = await withoutSol();
    const swapped = await payer.client.swap({
      inputMint: 'USDT',
      outputMint: 'SOL',
      uiAmount: '2',
    });
    const { lamports, own } = await movedOf(payer, swapped.signature);
    expect(lamports).toBeGreaterThanOrEqual(BigInt(swapped.outAmount));
    expect(own.get(sandbox.mints.USDT.address)).toBe(-BigInt(swapped.inAmount));
    expect(swapped.feeLamports).toBe('0');
    expect(Number(swapped.relayFee?.amount)).toBeGreaterThan(0);
  });

  it('may add the guard that Kora puts on its own lamports', async () => {
    deployLighthouse(sandbox);
    relayer.tamper((message) => {
      const compiled = decompile(message);
      const [payer] = compiled.staticAccounts;
      return compile(insert(compiled, compiled.instructions.length, guardOn(payer ?? address(''))));
    });
    const payer = await withoutSol();
    const { state, swap } = await decided(await payer.client.fetch(url));
    expect([state, swap?.relayFee === undefined]).toEqual(['settled', false]);
  });

  it('gets no request if the wallet has enough SOL', async () => {
    const before = relayer.calls();
    const payer = await withoutSol({ USDT: '5', SOL: '0.1' });
    const { swap } = await decided(await payer.client.fetch(url));
    expect([swap?.relayFee, relayer.calls()]).toEqual([undefined, before]);
  });

  it('signs nothing if the wallet has just enough SOL', async () => {
    const payer = await withoutSol({ USDT: '5', USDC: '0.001', SOL: '0.00092' });
    const { swap } = await decided(await payer.client.fetch(url));
    expect([swap?.relayFee, relayer.signed]).toEqual([undefined, []]);
  });

  it('is shown to the approve hook with its maximum fee', async () => {
    const plans: Plan[] = [];
    const approve = (plan: Plan) => plans.push(plan) > 0;
    const payer = await withoutSol({ USDT: '5' }, { policy: { approve } });
    const { swap } = await decided(await payer.client.fetch(url));
    const [plan] = plans;
    const mint = sandbox.mints.USDT.address;
    expect(plan?.relayer).toMatchObject({ mint, maxAmount: '500000' });
    expect(Number(plan?.cost?.usd)).toBeGreaterThanOrEqual(0.51);
    expect(Number(swap?.relayFee?.amount)).toBeLessThan(500_000);
  });

  it('signs nothing without approval', async () => {
    const payer = await withoutSol({ USDT: '5' }, { policy: { approve: () => false } });
    await failureOf(payer.client.fetch(url), 'approval_refused');
    expect([payer.signed, relayer.signed]).toEqual([[], []]);
  });

  it('counts its fee against the caps before any signature', async () => {
    const payer = await withoutSol({ USDT: '5' }, { policy: { maxPerPayment: '0.30' } });
    const error = await failureOf(payer.client.fetch(url), 'amount_over_limit');
    expect(error.details).toMatchObject({ cap: 'maxPerPayment' });
    expect([payer.signed, relayer.signed]).toEqual([[], []]);
  });

  it.each([
    ['no hook', {}],
    ['an approval', { approve: () => true }],
  ])('counts its fee against policy.maxInAmount with %s', async (_, more) => {
    const policy = { maxInAmount: { USDT: '300000' }, ...more };
    const payer = await withoutSol({ USDT: '5' }, { policy });
    const error = await failureOf(payer.client.fetch(url), 'amount_over_limit');
    expect(error.details).toMatchObject({ cap: 'maxInAmount' });
    expect([payer.signed, relayer.signed]).toEqual([[], []]);
  });

  it('ends a call if no cap has room for a fee that is taken from the output', async () => {
    relayer.accept([sandbox.mints.USDC.address]);
    const payer = await withoutSol({ USDT: '5' }, { policy: { maxPerPayment: '0.30' } });
    const error = await failureOf(payer.client.fetch(url), 'amount_over_limit');
    expect(error.details).toMatchObject({ cap: 'maxPerPayment' });
    expect([payer.signed, relayer.signed]).toEqual([[], []]);
  });

  it('needs no room for lamports that it pays', async () => {
    const payer = await withoutSol({ USDT: '5' }, { policy: { maxLamportsPerDay: '4000' } });
    const { state, cost } = await decided(await payer.client.fetch(url));
    expect([state, cost.networkFeeLamports]).toEqual(['settled', '0']);
  });

  it('pays for no swap that takes more than was approved with its fee', async () => {
    const { aggregator } = sandbox.controls;
    let asked = 0;
    // The quote still fits into what was approved, but with the fee it does not.
    const approve = () => {
      aggregator.setVenue({ deviationBps: 300 });
      aggregator.setPrice('BONK', (sandbox.mints.BONK.picoUsd * 985n) / 1_000n);
      aggregator.lie('/swap/v1/quote', (answer) => {
        aggregator.setVenue({});
        return answer;
      });
      asked += 1;
      return true;
    };
    const caps = { maxPerPayment: '30', maxPerDay: '30', maxSwapLossBps: 300 };
    const policy = { approve, minSwap: '20', ...caps };
    const payer = await withoutSol({ BONK: '5000000' }, { policy });
    const error = await failureOf(payer.client.fetch(url), 'approval_refused');
    expect(error).toMatchObject({ details: { reason: 'changed' }, retry: 'fresh' });
    expect([asked, payer.signed, relayer.signed]).toEqual([1, [], []]);
  });

  it('signs before a wallet that takes whole transactions', async () => {
    const wallet = await sandbox.createWallet({ USDT: '5' });
    const { signer } = recordingSigner(wallet.address, wallet.secretKey);
    const whole = changingWallet(signer, (message) => message);
    const client = payerOf(sandbox, wallet).again({ ...relayed, signer: whole });
    const { state, swap } = await decided(await client.fetch(url));
    expect([state, swap?.relayFee === undefined]).toEqual(['settled', false]);
  });

  it('leaves the little SOL of the wallet untouched', async () => {
    const payer = await withoutSol({ USDT: '5', SOL: '0.0001' });
    const { swap } = await decided(await payer.client.fetch(url));
    expect(swap?.relayFee).toBeDefined();
    expect(await sandbox.balance(payer.address, 'SOL')).toBe(100_000n);
  });

  it('gets no wallet signature if the wallet changes the signed message', async () => {
    deployLighthouse(sandbox);
    const wallet = await sandbox.createWallet({ USDT: '5' });
    const { signer } = recordingSigner(wallet.address, wallet.secretKey);
    const own = address(wallet.address);
    const changing = changingWallet(signer, (message) => guarded(message, own, { after: 1 }));
    const client = payerOf(sandbox, wallet).again({ ...relayed, signer: changing });
    const error = await failureOf(client.fetch(url), 'signing_failed');
    expect(error.funds).toBe('untouched');
    expect(await sandbox.balance(wallet.address, 'USDT')).toBe(5_000_000n);
  });
});

describe('a shortage of SOL', () => {
  it('names the least amount that is enough, also at the fees of a busy market', async () => {
    const price = 40_000;
    sandbox.controls.node.intercept = (method, _params, next) =>
      method === 'getRecentPrioritizationFees' ? [{ slot: 1, prioritizationFee: price }] : next();
    const payer = await payerOn(sandbox, { USDT: '5' }, { autoSwap: true });
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(error.message).toContain(payer.address);
    expect(error.message).toContain('Send it at least');
    const { link = '', requiredLamports } = error.details;
    expect(link).toMatch(new RegExp(`^solana:${payer.address}\\?amount=0\\.\\d+$`));
    sandbox.chain.fundSol(address(payer.address), BigInt(requiredLamports));
    expect((await payer.client.fetch(url)).status).toBe(200);
  });
});

/** Expects no signature of the wallet, and unchanged balances. */
async function expectUntouched(payer: Payer, held = 5_000_000n): Promise<void> {
  expect(payer.signed).toEqual([]);
  expect(await sandbox.balance(payer.address, 'USDT')).toBe(held);
  expect(await sandbox.balance(payer.address, 'SOL')).toBe(0n);
}

type Change = (message: ReturnType<typeof decompile>) => ReturnType<typeof decompile>;
const tampered = (change: Change) => () =>
  relayer.tamper((message) => compile(change(decompile(message))));

/** Messages that a relayer signs in place of the given message. */
const TAMPERED: readonly {
  readonly how: string;
  readonly rule: string;
  readonly change: Change;
}[] = [
  {
    how: 'with a higher fee for itself',
    rule: 'wallet_instructions',
    change: (message) => ({
      ...message,
      instructions: message.instructions.map((step) =>
        step.data?.[0] === 12 && step.accountIndices?.[0] !== step.accountIndices?.[2]
          ? { ...step, data: Uint8Array.from([12, 255, 255, 255, 0, 0, 0, 0, 0, 6]) }
          : step,
      ),
    }),
  },
  {
    how: 'without the guard',
    rule: 'wallet_instructions',
    change: (message) => ({ ...message, instructions: message.instructions.slice(0, -1) }),
  },
  {
    how: 'with its instructions in another order',
    rule: 'wallet_instructions',
    change: (message) => ({ ...message, instructions: [...message.instructions].reverse() }),
  },
  {
    how: 'with an added instruction that sends the lamports of the wallet',
    rule: 'wallet_instructions',
    change: (message) =>
      insert(message, message.instructions.length, {
        program: address('11111111111111111111111111111111'),
        accounts: message.staticAccounts.slice(1, 2).concat(message.staticAccounts.slice(0, 1)),
        data: Uint8Array.from([2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
      }),
  },
  {
    how: 'with another blockhash',
    rule: 'wallet_blockhash',
    change: (message) => ({ ...message, lifetimeToken: sandbox.merchant }),
  },
  {
    how: 'for another fee payer',
    rule: 'wallet_signers',
    change: (message) => ({
      ...message,
      staticAccounts: [address(sandbox.feePayer), ...message.staticAccounts.slice(1)],
    }),
  },
  {
    how: 'with the signature of a third key',
    rule: 'wallet_signers',
    change: (message) => ({
      ...message,
      header: { ...message.header, numSignerAccounts: message.header.numSignerAccounts + 1 },
    }),
  },
  {
    how: 'with another payee of the fee',
    rule: 'wallet_instructions',
    change: (message) => ({
      ...message,
      staticAccounts: message.staticAccounts.map((account) =>
        account === message.staticAccounts[feePlace(message)] ? address(sandbox.merchant) : account,
      ),
    }),
  },
  {
    how: 'with a guard that creates an account',
    rule: 'wallet_memory_write',
    change: (message) => insert(message, 3, guardOn(address(sandbox.merchant), 'MemoryWrite')),
  },
];

/** Returns the index of the account that gets the fee. */
function feePlace(message: ReturnType<typeof decompile>): number {
  const fee = message.instructions.find(
    ({ data, accountIndices }) => data?.[0] === 12 && accountIndices?.[0] !== accountIndices?.[2],
  );
  return fee?.accountIndices?.[2] ?? -1;
}

describe('a relayer that lies', () => {
  it.each(TAMPERED)('gets nothing signed if it signs the swap $how', async ({ change, rule }) => {
    tampered(change)();
    const payer = await withoutSol();
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(error.cause).toMatchObject({ code: 'signing_failed', details: { rule } });
    expect([error.funds, relayer.signed.length]).toEqual(['untouched', 1]);
    await expectUntouched(payer);
  });

  const flip = (base64: unknown, at: number) => {
    const bytes = Buffer.from(String(base64), 'base64');
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes.toString('base64');
  };
  it.each([
    ['gives a signature that is not its own', 'signing_failed', (wire: unknown) => flip(wire, 5)],
    ['gives bytes that are no transaction', 'signing_failed', () => 'AAAA'],
    [
      'gives no signature',
      'signing_failed',
      (wire: unknown) => {
        const bytes = Buffer.from(String(wire), 'base64');
        return bytes.fill(0, 1, 65).toString('base64');
      },
    ],
    ['gives no base64', 'invalid_response', () => '%%%'],
    ['gives no text', 'invalid_response', () => 7],
    [
      'adds bytes after the transaction',
      'signing_failed',
      (wire: unknown) => {
        const bytes = Buffer.from(String(wire), 'base64');
        return Buffer.concat([bytes, Buffer.from([0])]).toString('base64');
      },
    ],
  ] as const)('gets nothing signed if it %s', async (_how, code, change) => {
    relayer.lie('signTransaction', ({ signed_transaction: signed, ...rest }) => ({
      ...rest,
      signed_transaction: change(signed),
    }));
    const payer = await withoutSol();
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(error.cause).toMatchObject({ code });
    await expectUntouched(payer);
  });

  it.each([
    ['asks for more than relayer.maxFee', { fee_in_token: 500_001 }, 'amount_over_limit'],
    ['asks for less than nothing', { fee_in_token: -1 }, 'invalid_response'],
    ['asks for a part of a base unit', { fee_in_token: 0.5 }, 'invalid_response'],
    ['asks for more than any account holds', { fee_in_token: 1e30 }, 'invalid_response'],
    ['asks for text', { fee_in_token: '1' }, 'invalid_response'],
    ['names no fee', { fee_in_token: null }, 'invalid_response'],
    ['names another payer for the fee', { signer_pubkey: sandbox.merchant }, 'invalid_response'],
    ['names another payee for the fee', { payment_address: sandbox.merchant }, 'invalid_response'],
  ] as const)('gets nothing signed if it %s', async (_how, change, code) => {
    relayer.lie('estimateTransactionFee', (result) => ({ ...result, ...change }));
    const payer = await withoutSol();
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(error.cause).toMatchObject({ code });
    expect(relayer.signed).toEqual([]);
    await expectUntouched(payer);
  });

  it('gets no base unit that is worth more than relayer.maxFee', async () => {
    const bonk = sandbox.mints.BONK.address;
    // 100 dollars for a base unit.
    sandbox.controls.aggregator.setPrice('BONK', 100n * 10n ** 12n);
    relayer.lie('estimateTransactionFee', (result) => ({ ...result, fee_in_token: 1 }));
    const payer = await withoutSol({ BONK: '0.00005' });
    const error = await failureOf(
      payer.client.swap({ inputMint: bonk, outputMint: 'USDC', amount: 1n }),
      'insufficient_sol',
    );
    expect(error.cause).toMatchObject({
      code: 'amount_over_limit',
      details: { cap: 'relayer.maxFee', limit: '0' },
    });
    await expectUntouched(payer, 0n);
  });

  it.each(['signer_address', 'payment_address'] as const)(
    'gets nothing signed if it names the wallet itself as its %s',
    async (field) => {
      const payer = await withoutSol();
      relayer.lie('getPayerSigner', (result) => ({ ...result, [field]: payer.address }));
      const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
      expect(error.cause).toMatchObject({ code: 'signing_failed' });
      await expectUntouched(payer);
    },
  );

  it('fails the swap if it names a low price and refuses that price', async () => {
    relayer.lie('estimateTransactionFee', (result) => ({ ...result, fee_in_token: 1 }));
    const payer = await withoutSol();
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(error.untrusted?.['message']).toContain('Insufficient token payment');
    await expectUntouched(payer);
  });

  it.each([
    ['is down', { kind: 'status', status: 503 }, 'service_unavailable'],
    ['cuts the connection', { kind: 'dropBefore' }, 'service_unavailable'],
    ['answers what is no JSON', { kind: 'garbage' }, 'invalid_response'],
    ['limits the rate', { kind: 'status', status: 429 }, 'rate_limited'],
  ] as const)('fails the swap without a signature if it %s', async (_how, fault, code) => {
    relayer.fault('*', fault);
    const payer = await withoutSol();
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(error.cause).toMatchObject({ code });
    await expectUntouched(payer);
  });

  it('fails the swap in time if it never answers', async () => {
    relayer.lie('signTransaction', () => new Promise(() => undefined));
    const payer = await withoutSol({ USDT: '5' }, { timeouts: { service: 2_000 } });
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(error.cause).toMatchObject({ code: 'timeout', details: { step: 'relayer' } });
    await expectUntouched(payer);
  });

  it('gets nothing signed if it accepts no token of the swap', async () => {
    relayer.accept([sandbox.mints.PYUSD.address]);
    const payer = await withoutSol();
    const error = await failureOf(payer.client.fetch(url), 'insufficient_sol');
    expect(isExactChangeError(error.cause, 'mint_not_supported')).toBe(true);
    expect(error.details.link).toContain(`solana:${payer.address}`);
    await expectUntouched(payer);
  });
});
