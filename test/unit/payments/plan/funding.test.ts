import { describe, expect, it } from 'vitest';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { createMemory } from '../../../../src/payments/memory.js';
import { concernsCandidate } from '../../../../src/payments/plan/candidate-queue.js';
import { findFunding } from '../../../../src/payments/plan/funding.js';
import type { ResolvedRequest } from '../../../../src/config/swap-request.js';
import { QuoteError, TransactionError, TransportError } from '../../../../src/errors.js';
import { newWallet } from '../../../../src/journal/registry.js';
import { SOLANA_MAINNET, TOKEN_PROGRAM, WSOL_MINT } from '../../../../src/network.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { addressBytes } from '../../../../src/solana/address.js';
import { mostIn } from '../../../../src/swaps/quote/check-quote.js';
import type { Offer } from '../../../../src/protocols/types.js';

const WALLET = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const JUNK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const FACTS = {
  tokenProgram: TOKEN_PROGRAM,
  decimals: 6,
  source: WALLET,
  destination: WALLET,
  available: 0n,
};

/** An offer of 10 base units. */
function paidIn(mint: string): Offer {
  const [payTo, feePayer] = [WALLET, WALLET];
  return {
    index: 0,
    x402Version: 2,
    scheme: 'exact',
    network: SOLANA_MAINNET,
    amount: 10n,
    mint,
    payTo,
    feePayer,
    takesMemo: true,
    maxTimeoutSeconds: 60,
    raw: {},
  };
}

/**
 * A wallet with one SOL, in a market where all tokens have the same worth. `sells` returns what an
 * amount of a token brings; `rate`, how many units of a token cost one unit of any other.
 */
function coreWith(
  sells: (amount: bigint) => bigint,
  asked: ResolvedRequest[],
  rate: (mint: string) => bigint = () => 1n,
): PaymentContext {
  const quote = (request: ResolvedRequest) => {
    const out = request.swapMode === 'ExactOut';
    if (out) asked.push(request);
    const [amount, units] = [BigInt(request.amount), rate(request.inputMint)];
    const inAmount = out ? amount * units : amount;
    const outAmount = out ? amount : sells(amount) / units;
    return Promise.resolve({
      ...request,
      inAmount: inAmount.toString(),
      outAmount: outAmount.toString(),
      minOutAmount: (out ? outAmount : (outAmount * 9_950n) / 10_000n).toString(),
      maxInAmount: (out ? mostIn(inAmount, 50) : inAmount).toString(),
      priceImpactBps: 0,
      platformFeeBps: 0,
      route: [],
      provider: 'test',
      quotedAt: 0,
      raw: {},
    });
  };
  const policy = {
    maxSlippageBps: 50,
    maxPriceImpactBps: 100,
    maxSwapLossBps: 100,
    minSwap: 50_000n,
    maxInAmount: new Map(),
  };
  // The parts of a context that funding needs.
  return {
    config: {
      network: SOLANA_MAINNET,
      policy,
      runtime: { now: () => 0, idle: () => new Promise<void>(() => undefined) },
      signer: { address: WALLET },
      swapFrom: undefined,
    },
    rpc: {
      accounts: () => Promise.resolve({ slot: 1, accounts: [{ lamports: 10n ** 9n }] }),
      tokenAccounts: () => Promise.resolve({ slot: 1, accounts: [] }),
    },
    transport: { quote },
    prices: { quote },
    memory: createMemory(),
    ...newWallet().coordination,
  } as unknown as PaymentContext;
}

const par = (amount: bigint) => amount;

/** The wallet's token account of a mint, as a node lists it. */
function holding(mint: string, amount: bigint) {
  const data = new Uint8Array(165);
  data.set(addressBytes(mint), 0);
  data.set(addressBytes(WALLET), 32);
  new DataView(data.buffer).setBigUint64(64, amount, true);
  data[108] = 1;
  const address = associatedTokenAddress(WALLET, mint, TOKEN_PROGRAM);
  return {
    address,
    account: { owner: TOKEN_PROGRAM, lamports: 2_039_280n, data, executable: false },
  };
}

describe('funding', () => {
  it('buys a little more than the missing amount, for later payments', async () => {
    const asked: ResolvedRequest[] = [];
    const funding = await findFunding(coreWith(par, asked), paidIn(USDC), FACTS, 10n, {});
    expect(funding).toMatchObject({ inputMint: WSOL_MINT, available: 992_000_000n });
    expect(asked.map(({ amount }) => amount)).toEqual(['50000']);
  });

  it('buys only the missing amount of a token that may be worthless', async () => {
    const asked: ResolvedRequest[] = [];
    await findFunding(coreWith(par, asked), paidIn(JUNK), FACTS, 10n, {});
    expect(asked.map(({ amount }) => amount)).toEqual(['10']);
  });

  it('limits the time of a quote to the present', async () => {
    const core = coreWith(par, []);
    const quote: PaymentContext['transport']['quote'] = async (...asked) => ({
      ...(await core.prices.quote(...asked)),
      quotedAt: 10 ** 15,
    });
    const funding = await findFunding(
      { ...core, transport: { ...core.transport, quote } },
      paidIn(JUNK),
      FACTS,
      10n,
      {},
    );
    expect(funding).toMatchObject({ quote: { quotedAt: 0 } });
  });

  it('buys only the missing amount when no account could hold the float', async () => {
    const asked: ResolvedRequest[] = [];
    const none = (amount: bigint) => (amount > 10n ** 18n ? 1n : 0n);
    const worthless = coreWith(none, asked);
    await findFunding(worthless, paidIn(JUNK), { ...FACTS, decimals: 255 }, 10n, {}).catch(
      () => undefined,
    );
    expect(new Set(asked.map(({ amount }) => amount))).toEqual(new Set(['10']));
  });

  it.each([WSOL_MINT, JUNK])(
    'neither swaps nor wraps an excluded token to fund %s',
    async (mint) => {
      const asked: ResolvedRequest[] = [];
      const core = coreWith(par, asked);
      await expect(
        findFunding(core, paidIn(mint), FACTS, 10n, { except: new Set([WSOL_MINT]) }),
      ).rejects.toMatchObject({
        code: 'insufficient_funds',
      });
      expect(asked).toEqual([]);
    },
  );

  it('tries another token only when the error concerns the first token', () => {
    const unsafe = { rule: 'program' };
    expect(concernsCandidate(new QuoteError('unsafe_swap', 'No.', { details: unsafe }))).toBe(true);
    expect(
      concernsCandidate(
        new QuoteError('unsafe_swap', 'No.', { details: unsafe, funds: 'swapped' }),
      ),
    ).toBe(false);
    expect(
      concernsCandidate(
        new TransactionError('swap_expired', 'No.', { details: { signature: '' } }),
      ),
    ).toBe(false);
    expect(
      concernsCandidate(
        new TransportError('rate_limited', 'No.', { details: { retryAfterMs: 1 } }),
      ),
    ).toBe(false);
    expect(concernsCandidate(new Error('no'))).toBe(false);
  });
});

describe('funding from tokens without a pinned price', () => {
  const [DEAR, CHEAP] = [
    '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu',
    'GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse',
  ];
  const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

  it('tries the token with the highest worth first, whatever its number of units', async () => {
    const asked: ResolvedRequest[] = [];
    // A millionth of a dollar costs one unit of the dear token or 10000 of the cheap token.
    const core = coreWith(par, asked, (mint) => (mint === CHEAP ? 10_000n : 1n));
    const rpc = {
      accounts: () => Promise.resolve({ slot: 1, accounts: [{ lamports: 1_000_000n }] }),
      tokenAccounts: () =>
        Promise.resolve({
          slot: 1,
          accounts: [holding(CHEAP, 50_000_000_000n), holding(DEAR, 20_000_000n)],
        }),
    };
    const rich = { ...core, rpc } as unknown as PaymentContext;
    const funding = await findFunding(rich, paidIn(USDC), FACTS, 10_000n, {});
    expect(funding.inputMint).toBe(DEAR);
    expect(asked.map(({ inputMint }) => inputMint)).toEqual([DEAR]);
  });
});
