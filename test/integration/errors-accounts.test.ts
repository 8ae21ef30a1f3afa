import { address } from '@solana/kit';
import { receiptOf } from 'exact-change';
import type { ChainAccount, MintSymbol, SandboxMint } from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { entryV2, envelopeV2 } from '../fixtures/malformed-402.js';
import { tokenAccount, until } from '../helpers/chain.js';
import {
  comingFee,
  mintBytes,
  nonTransferable,
  paused,
  permanentDelegate,
  running,
  startsFrozen,
  TOKEN_2022,
  transferFee,
  transferHook,
  unknownExtension,
  type ExtensionBytes,
} from '../helpers/mint-bytes.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, sellerOfTest, startSeller, type Seller } from '../helpers/seller.js';
import { refusal } from '../helpers/untouched.js';

const STRANGER = 'GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse';
const NEW_MINT = '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu';

const sandbox = await useSandbox({ confirmationMs: 20 });
let seller: Seller;
let terms: unknown;
const restored: (() => void)[] = [];

beforeAll(async () => {
  seller = await startSeller((_, response) => answerTerms(response, terms));
});

afterEach(async () => {
  for (const restore of restored.splice(0)) restore();
});

afterAll(async () => {
  await seller.close();
});

const offer = (change: Record<string, unknown> = {}) =>
  entryV2({ payTo: sandbox.merchant, extra: { feePayer: sandbox.feePayer }, ...change });

/** Rewrites an existing account until the end of the test. */
function rewrite(key: string, change: (data: Uint8Array) => void, owner?: string): void {
  const before = accountAt(key);
  const data = before.data.slice();
  change(data);
  restored.push(() => sandbox.chain.setAccount(address(key), before));
  sandbox.chain.setAccount(address(key), {
    ...before,
    data,
    ...(owner === undefined ? {} : { owner: address(owner) }),
  });
}

function accountAt(key: string): ChainAccount {
  const account = sandbox.chain.account(address(key));
  if (account === undefined) throw new Error(`nothing is at ${key}`);
  return account;
}

const ownAccount = (owner: string, symbol: MintSymbol) =>
  tokenAccount(owner, sandbox.mints[symbol]);

// Byte offsets in a token account.
const [OWNER, STATE, DELEGATE, CLOSE_AUTHORITY] = [32, 108, 72, 129];
/** Token-2022's extension 8, of one byte: transfers in need a memo right before them. */
const MEMO_REQUIRED = [8, 0, 1, 0, 1];
const stranger = Uint8Array.from([1, 0, 0, 0, ...new Uint8Array(32).fill(7)]);

describe('a call with a payee that cannot be paid', () => {
  it('is refused when the payee has no token account, and pays once it exists', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const error = await refusal(sandbox, payer, 'payee_account_missing', () =>
      payer.client.fetch(`${sandbox.apiUrl}/no-account`),
    );
    const { payTo, mint, tokenAccount: missing } = error.details;
    expect(error).toMatchObject({ name: 'FundsError', retry: 'never' });
    expect(mint).toBe(sandbox.mints.USDC.address);
    expect(missing).toBe(await tokenAccount(payTo, sandbox.mints.USDC));
    expect(error.message).toContain(missing);
    // The same client pays after the seller has created the account.
    await sandbox.chain.fundToken(address(payTo), sandbox.mints.USDC, 0n);
    expect((await payer.client.fetch(`${sandbox.apiUrl}/no-account`)).status).toBe(200);
  });

  it('asks for no swap when the payee has no token account', async () => {
    terms = envelopeV2([offer({ payTo: STRANGER })]);
    const payer = await payerOn(sandbox, { SOL: '1', BONK: '5000000' }, { autoSwap: true });
    const before = sandbox.controls.aggregator.calls();
    await refusal(sandbox, payer, 'payee_account_missing', () => payer.client.fetch(seller.url));
    expect(sandbox.controls.aggregator.calls()).toBe(before);
  });

  it("is refused when the payee's token account is frozen", async () => {
    rewrite(await ownAccount(sandbox.merchant, 'USDC'), (data) => data.set([2], STATE));
    const payer = await payerOn(sandbox, { USDC: '1' });
    await refusal(sandbox, payer, 'payee_account_missing', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
  });

  it("is refused when the payee's token account takes confidential transfers alone", async () => {
    const account = await ownAccount(sandbox.merchant, 'PYUSD');
    const before = accountAt(account);
    restored.push(() => sandbox.chain.setAccount(address(account), before));
    // Token-2022's extension 5, of 295 bytes: byte 262 says whether it takes plain transfers.
    const confidential = [5, 0, 39, 1, ...new Array<number>(262).fill(1), 0, ...new Uint8Array(32)];
    const data = Uint8Array.from([...before.data, ...confidential]);
    sandbox.chain.setAccount(address(account), { ...before, data });
    const payer = await payerOn(sandbox, { PYUSD: '1' });
    const error = await refusal(sandbox, payer, 'unsupported_offer', () =>
      payer.client.fetch(`${sandbox.apiUrl}/pyusd`),
    );
    expect(error.details.reason).toBe('payee takes confidential transfers alone');
  });

  it.each(['payee', 'wallet'])(
    'is refused when a token account of the %s pays the fee',
    async (of) => {
      const payer = await payerOn(sandbox, { USDC: '1' });
      const owner = of === 'payee' ? sandbox.merchant : payer.address;
      const feePayer = await ownAccount(owner, 'USDC');
      terms = envelopeV2([offer({ extra: { feePayer } })]);
      const error = await refusal(sandbox, payer, 'unsupported_offer', () =>
        payer.client.fetch(seller.url),
      );
      expect(error.details.reason).toBe('fee payer is a token account');
    },
  );

  it("reads the payee's token account again after a payment to it has not landed", async () => {
    terms = envelopeV2([offer()]);
    const payer = await payerOn(sandbox, { USDC: '1' });
    await payer.client.pay(await fetch(seller.url));
    rewrite(await ownAccount(sandbox.merchant, 'USDC'), (data) => data.set([2], STATE));
    sandbox.controls.node.warp();
    await until('the end of the payment', () =>
      payer.events.find(({ type }) => type === 'payment.unsettled'),
    );
    await refusal(sandbox, payer, 'payee_account_missing', () => payer.client.plan(seller.url));
    expect(payer.signed).toHaveLength(1);
  });

  it('reads the mint again after the seller has refused a payment in it', async () => {
    const { PYUSD } = sandbox.mints;
    const before = accountAt(PYUSD.address);
    restored.push(() => sandbox.chain.setAccount(address(PYUSD.address), before));
    terms = envelopeV2([offer({ asset: PYUSD.address })]);
    const payer = await payerOn(sandbox, { PYUSD: '1' });
    await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    const [type, bytes] = paused;
    const data = Uint8Array.from([...before.data, type, 0, bytes.length, 0, ...bytes]);
    sandbox.chain.setAccount(address(PYUSD.address), { ...before, data });
    await refusal(sandbox, payer, 'mint_not_supported', () => payer.client.plan(seller.url));
  });

  it('keeps a known offer while the seller of a parallel call refuses a payment', async () => {
    const usdc = offer();
    let meanwhile: (() => Promise<unknown>) | undefined;
    const payer = await payerOn(
      sandbox,
      { USDC: '1' },
      {
        fetch: async (input, init) => {
          const work = meanwhile;
          if (work !== undefined && String(init?.body).includes('getMultipleAccounts')) {
            meanwhile = undefined;
            await work();
          }
          return fetch(input, init);
        },
      },
    );
    terms = envelopeV2([usdc]);
    await payer.client.plan(seller.url);
    const both = envelopeV2([usdc, offer({ asset: sandbox.mints.PYUSD.address })]);
    const known = await sellerOfTest((_, response) => answerTerms(response, both));
    meanwhile = () => failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    const { payment } = await payer.client.plan(known.url);
    expect(payment?.mint).toBe(sandbox.mints.USDC.address);
  });

  it("is refused before a swap when the payee's token account requires a memo", async () => {
    const account = await ownAccount(sandbox.merchant, 'PYUSD');
    const before = accountAt(account);
    restored.push(() => sandbox.chain.setAccount(address(account), before));
    sandbox.chain.setAccount(address(account), {
      ...before,
      data: Uint8Array.from([...before.data, ...MEMO_REQUIRED]),
    });
    const payer = await payerOn(sandbox, { SOL: '1', USDC: '5' }, { autoSwap: true });
    const error = await refusal(sandbox, payer, 'unsupported_offer', () =>
      payer.client.fetch(`${sandbox.apiUrl}/pyusd`),
    );
    expect(error.details.reason).toBe('payee requires a memo before each transfer');
  });

  it('is refused when payTo is a token account instead of a wallet', async () => {
    terms = envelopeV2([offer({ payTo: await ownAccount(sandbox.merchant, 'USDC') })]);
    const payer = await payerOn(sandbox, { USDC: '1' });
    const error = await refusal(sandbox, payer, 'unsupported_offer', () =>
      payer.client.fetch(seller.url),
    );
    expect(error.details.reason).toBe('payee is a token account');
  });

  it.each<[string, () => string]>([
    ['the mint itself', () => sandbox.mints.USDC.address],
    ['another mint', () => sandbox.mints.BONK.address],
  ])('is refused when payTo is %s', async (_, payTo) => {
    terms = envelopeV2([offer({ payTo: payTo() })]);
    const payer = await payerOn(sandbox, { USDC: '1' });
    await refusal(sandbox, payer, 'unsupported_offer', () => payer.client.fetch(seller.url));
  });

  it('is refused when the payee or the fee payer is the paying wallet', async () => {
    const payer = await payerOn(sandbox, { USDC: '1', SOL: '1' });
    for (const change of [{ payTo: payer.address }, { extra: { feePayer: payer.address } }]) {
      terms = envelopeV2([offer(change)]);
      await refusal(sandbox, payer, 'unsupported_offer', () => payer.client.fetch(seller.url));
    }
  });
});

describe('a call of a wallet with an unusable account', () => {
  it("is refused when the wallet's token account is frozen", async () => {
    const payer = await payerOn(
      sandbox,
      { USDC: '1', SOL: '1', BONK: '5000000' },
      { autoSwap: true },
    );
    const account = await ownAccount(payer.address, 'USDC');
    rewrite(account, (data) => data.set([2], STATE));
    const error = await refusal(sandbox, payer, 'account_unusable', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
    expect(error).toMatchObject({
      name: 'FundsError',
      retry: 'never',
      details: { account, reason: 'frozen' },
    });
    expect(error.message).toContain(account);
  });

  it('is refused when its token account belongs to another wallet', async () => {
    const payer = await payerOn(sandbox, { USDC: '1', SOL: '1', BONK: '5000000' });
    rewrite(await ownAccount(payer.address, 'USDC'), (data) =>
      data.set(new Uint8Array(32).fill(7), OWNER),
    );
    const error = await refusal(sandbox, payer, 'insufficient_funds', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
    expect(error.details.available).toBe('0');
    const swapping = payer.again({ autoSwap: true });
    await refusal(sandbox, payer, 'account_unusable', () =>
      swapping.fetch(`${sandbox.apiUrl}/usdc`),
    );
  });

  it.each([
    ['a delegate may spend from', DELEGATE],
    ['another wallet may close', CLOSE_AUTHORITY],
  ] as const)('is refused before a swap into an account that %s', async (_, offset) => {
    const payer = await payerOn(
      sandbox,
      { USDC: '0.001', SOL: '1', BONK: '5000000' },
      { autoSwap: true },
    );
    const account = await ownAccount(payer.address, 'USDC');
    rewrite(account, (data) => data.set(stranger, offset));
    const error = await refusal(sandbox, payer, 'account_unusable', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
    expect(error.details.account).toBe(account);
  });

  it('names that account, not the price of a token that could not be swapped either', async () => {
    const payer = await payerOn(sandbox, { USDT: '1', SOL: '1' }, { autoSwap: true });
    const worthless = await sandbox.createMint({ decimals: 0, picoUsd: 1n });
    await sandbox.chain.fundToken(address(payer.address), worthless, 10n ** 12n);
    const account = await ownAccount(payer.address, 'USDC');
    await sandbox.chain.fundToken(address(payer.address), sandbox.mints.USDC, 0n);
    rewrite(account, (data) => data.set(new Uint8Array(32).fill(7), OWNER));
    const error = await refusal(sandbox, payer, 'account_unusable', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
    expect(error.details.account).toBe(account);
  });

  it('pays an offer in another token when that account cannot take a swap', async () => {
    const payer = await payerOn(sandbox, { USDC: '0.0001', SOL: '1' }, { autoSwap: true });
    rewrite(await ownAccount(payer.address, 'USDC'), (data) => data.set(stranger, DELEGATE));
    const { USDT } = sandbox.mints;
    terms = envelopeV2([offer(), offer({ asset: USDT.address })]);
    const plan = await payer.client.plan(seller.url);
    expect(plan.payment?.mint).toBe(USDT.address);
    expect(plan.refused).toMatchObject([{ index: 0, code: 'account_unusable' }]);
    const { receipt } = await payer.client.pay(await fetch(seller.url));
    expect(receipt.payment.mint).toBe(USDT.address);
  });

  it('is refused when the wallet account belongs to a program', async () => {
    const payer = await payerOn(sandbox, { SOL: '1', BONK: '5000000' }, { autoSwap: true });
    rewrite(payer.address, () => undefined, STRANGER);
    const error = await refusal(sandbox, payer, 'account_unusable', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
    expect(error.details.account).toBe(payer.address);
  });
});

describe('a call of a wallet with little SOL', () => {
  // A fee of 0.000005 SOL and the wallet's minimum, but not the rent of a token account.
  const [usdt, sol] = ['1', '0.0012'];

  it('gets no plan with a swap that the wallet cannot pay for', async () => {
    terms = envelopeV2([offer()]);
    const payer = await payerOn(sandbox, { USDT: usdt, SOL: sol }, { autoSwap: true });
    const error = await refusal(sandbox, payer, 'insufficient_sol', () =>
      payer.client.plan(seller.url),
    );
    // The minimum of the wallet, the rent, and the most that policy.maxFeeLamports lets a fee be.
    const required = 890_880n + 2_039_280n + 250_000n;
    expect(error.details.requiredLamports).toBe(String(required));
    sandbox.chain.fundSol(address(payer.address), required - 1_200_000n);
    expect((await payer.client.plan(seller.url)).swap?.inputMint).toBe(sandbox.mints.USDT.address);
  });

  it('pays the offer that needs no new account', async () => {
    const { BONK, USDC } = sandbox.mints;
    terms = envelopeV2([
      offer({ asset: USDC.address }),
      offer({ asset: BONK.address, amount: '100000000' }),
    ]);
    const payer = await payerOn(
      sandbox,
      { USDT: usdt, SOL: sol, BONK: '0.00001' },
      { autoSwap: true },
    );
    const plan = await payer.client.plan(seller.url);
    expect(plan.payment?.mint).toBe(BONK.address);
    const { receipt } = await payer.client.pay(await fetch(seller.url));
    expect(receipt.payment.mint).toBe(BONK.address);
  });
});

describe('an offer with an unusual mint', () => {
  /** Creates the mint, with a token account of the seller, and offers it. */
  async function issue(
    decimals: number,
    extensions: readonly ExtensionBytes[],
    owner = TOKEN_2022,
  ): Promise<void> {
    const data = mintBytes(decimals, extensions);
    sandbox.chain.setAccount(address(NEW_MINT), {
      lamports: 10_000_000n,
      data,
      owner: address(owner),
      executable: false,
    });
    const mint: SandboxMint = {
      ...sandbox.mints.PYUSD,
      address: address(NEW_MINT),
      decimals,
      tokenProgram: address(owner),
    };
    await sandbox.chain.fundToken(address(sandbox.merchant), mint, 0n);
    terms = envelopeV2([offer({ asset: NEW_MINT })]);
  }

  it.each<[string, ExtensionBytes[]]>([
    ['takes a fee from each transfer', [transferFee(1)]],
    ['will take a fee from each transfer', [comingFee(10_000)]],
    ['runs a program on each transfer', [transferHook(STRANGER)]],
    ['has a hook without a program', [transferHook('11111111111111111111111111111111')]],
    ['lets a stranger take from every account', [permanentDelegate(STRANGER)]],
    ['is paused', [paused]],
    ['could be paused', [running]],
    ['cannot be transferred', [nonTransferable]],
    ['freezes new accounts', [startsFrozen]],
    ['has an unknown extension', [unknownExtension]],
  ])('is refused when the mint %s', async (_, extensions) => {
    await issue(6, extensions);
    const payer = await payerOn(
      sandbox,
      { SOL: '1' },
      { autoSwap: true, policy: { maxAmount: { [NEW_MINT]: '1000000' } } },
    );
    const error = await refusal(sandbox, payer, 'mint_not_supported', () =>
      payer.client.fetch(seller.url),
    );
    expect(error).toMatchObject({
      name: 'FundsError',
      retry: 'never',
      details: { mint: NEW_MINT },
    });
    expect(error.message).toContain(NEW_MINT);
  });

  it('is refused as an unknown mint when the account is of no token program', async () => {
    const account = {
      ...{ lamports: 10_000_000n, data: mintBytes(6), owner: address(STRANGER) },
      executable: false,
    };
    sandbox.chain.setAccount(address(NEW_MINT), account);
    terms = envelopeV2([offer({ asset: NEW_MINT })]);
    const payer = await payerOn(sandbox, { SOL: '1' });
    const error = await refusal(sandbox, payer, 'unknown_mint', () =>
      payer.client.fetch(seller.url),
    );
    expect(error.details).toEqual({ mint: NEW_MINT });
  });

  it('is paid in a pinned pausable mint until the mint is paused', async () => {
    const { PYUSD } = sandbox.mints;
    const before = accountAt(PYUSD.address);
    restored.push(() => sandbox.chain.setAccount(address(PYUSD.address), before));
    const withPause = ([type, bytes]: ExtensionBytes) => ({
      ...before,
      data: Uint8Array.from([...before.data, type, 0, bytes.length, 0, ...bytes]),
    });
    sandbox.chain.setAccount(address(PYUSD.address), withPause(running));
    const payer = await payerOn(sandbox, { PYUSD: '1' });
    expect((await payer.client.fetch(`${sandbox.apiUrl}/pyusd`)).status).toBe(200);
    sandbox.chain.setAccount(address(PYUSD.address), withPause(paused));
    const later = await payerOn(sandbox, { PYUSD: '1' });
    const error = await refusal(sandbox, later, 'mint_not_supported', () =>
      later.client.fetch(`${sandbox.apiUrl}/pyusd`),
    );
    expect(error.details.reason).toMatch(/paused/);
  });

  it('is refused when the decimals of a pinned mint differ on the chain', async () => {
    rewrite(sandbox.mints.USDC.address, (data) => data.set([9], 44));
    const payer = await payerOn(sandbox, { USDC: '1' });
    const error = await refusal(sandbox, payer, 'mint_not_supported', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
    expect(error.details.reason).toMatch(/pinned/);
  });

  it("takes the decimals from the chain, and is refused when the seller's differ", async () => {
    const { BONK } = sandbox.mints;
    const asking = (extra: object) =>
      envelopeV2([
        offer({
          asset: BONK.address,
          amount: '123456789',
          extra: { feePayer: sandbox.feePayer, ...extra },
        }),
      ]);
    const payer = await payerOn(sandbox, { BONK: '5000' });
    terms = asking({ decimals: 9 });
    await refusal(sandbox, payer, 'unsupported_offer', () => payer.client.fetch(seller.url));
    terms = asking({});
    const plan = await payer.client.plan(seller.url);
    expect(plan.payment).toMatchObject({
      amount: '123456789',
      decimals: 5,
      uiAmount: '1234.56789',
    });
    const response = await payer.client.fetch(`${sandbox.apiUrl}/bonk`);
    expect(receiptOf(response)?.payment.decimals).toBe(5);
  });
});
