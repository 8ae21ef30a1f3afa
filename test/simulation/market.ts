import { accountOf, POOL_AUTHORITY, PYUSD, SOL, TOKEN, TOKEN_2022, USDC, USDT } from './places.js';
import type { Random } from './random.js';
import { writeSwap, type SwapCall } from './swap-call.js';

/** A token that something in the world trades. */
export interface Token {
  readonly mint: string;
  readonly program: string;
  readonly decimals: number;
  /** What it is truly worth: millionths of a dollar a whole token. 0n for a seller's own. */
  readonly worth: bigint;
}

export const SOL_WORTH = 150_000_000n;
export const PINNED: readonly Token[] = [
  { mint: USDC, program: TOKEN, decimals: 6, worth: 1_000_000n },
  { mint: USDT, program: TOKEN, decimals: 6, worth: 1_000_000n },
  { mint: PYUSD, program: TOKEN_2022, decimals: 6, worth: 1_000_000n },
  { mint: SOL, program: TOKEN, decimals: 9, worth: SOL_WORTH },
];

/** What is wrong with Jupiter now. */
export interface MarketState {
  /** What markets of sellers' own ask for a token: millionths of a dollar a whole token. */
  readonly prices: Map<string, bigint>;
  isDown: boolean;
  /** The share of its requests that are never answered. */
  hanging: number;
  /** The share of quotes for which there is no route, of whatever tokens. */
  gone: number;
  /** The share of swaps that fail where they land, though their simulation was good. */
  failing: number;
  /**
   * The share of swaps that take more, or bring less, than agreed where they land: the guard is
   * there for them.
   */
  stealing: number;
}

export const calm = (): MarketState => ({
  prices: new Map(),
  isDown: false,
  hanging: 0,
  gone: 0,
  failing: 0,
  stealing: 0,
});

/** Basis points that a trade costs against what tokens are worth. */
const FEE_BPS = 20n;
const WHOLE = 10_000n;
const SLIPPAGE_EXCEEDED = 6_001;

/** The world's Jupiter: quotes, instructions, and what a swap does where it lands. */
export interface Market {
  /**
   * An answer to a request: a status and a body. Errors repeat the key that they were asked with.
   */
  answer(
    method: string,
    url: URL,
    body: string,
    key: string,
  ): { readonly status: number; readonly body: unknown };
  /** What a swap does: as quoted in a simulation; where it lands, as the market is then. */
  venue(
    call: SwapCall,
    isSimulated: boolean,
  ): { inAmount: bigint; outAmount: bigint } | { error: number };
}

export function createMarket(tokens: readonly Token[], state: MarketState, random: Random): Market {
  const tokenOf = (mint: string | null): Token | undefined =>
    tokens.find((one) => one.mint === mint);
  const priceOf = ({ mint, worth }: Token): bigint =>
    worth > 0n ? worth : (state.prices.get(mint) ?? 0n);

  /** Undefined if there is no market. */
  const price = (input: Token, output: Token, mode: 'ExactIn' | 'ExactOut', amount: bigint) => {
    const [sells, buys] = [priceOf(input), priceOf(output)];
    if (sells === 0n || buys === 0n || input.mint === output.mint) return undefined;
    const [inUnit, outUnit] = [10n ** BigInt(input.decimals), 10n ** BigInt(output.decimals)];
    const keep = WHOLE - FEE_BPS;
    if (mode === 'ExactIn')
      return {
        inAmount: amount,
        outAmount: (amount * sells * outUnit * keep) / (buys * inUnit * WHOLE),
      };
    const cost = amount * buys * inUnit * WHOLE;
    const per = sells * outUnit * keep;
    return { inAmount: (cost + per - 1n) / per, outAmount: amount };
  };

  const quote = (query: URLSearchParams, key: string) => {
    const [input, output] = [tokenOf(query.get('inputMint')), tokenOf(query.get('outputMint'))];
    const mode = query.get('swapMode') === 'ExactOut' ? 'ExactOut' : 'ExactIn';
    const slippageBps = Number(query.get('slippageBps') ?? 50);
    const priced =
      input && output && price(input, output, mode, BigInt(query.get('amount') ?? '0'));
    if (
      input === undefined ||
      output === undefined ||
      priced === undefined ||
      priced === null ||
      random.chance(state.gone)
    ) {
      return {
        status: 400,
        body: { errorCode: 'NO_ROUTES_FOUND', error: `No routes found for ${key}` },
      };
    }
    const { inAmount, outAmount } = priced;
    const slip = BigInt(slippageBps);
    const threshold =
      mode === 'ExactIn'
        ? (outAmount * (WHOLE - slip)) / WHOLE
        : (inAmount * (WHOLE + slip) + WHOLE - 1n) / WHOLE;
    return {
      status: 200,
      body: {
        ...{
          inputMint: input.mint,
          outputMint: output.mint,
          inAmount: String(inAmount),
          outAmount: String(outAmount),
        },
        ...{
          otherAmountThreshold: String(threshold),
          swapMode: mode,
          slippageBps,
          platformFee: null,
          priceImpactPct: '0',
        },
        routePlan: [{ swapInfo: { ammKey: POOL_AUTHORITY, label: 'World' }, percent: 100 }],
      },
    };
  };

  const build = (body: string) => {
    const { userPublicKey, quoteResponse } = JSON.parse(body) as {
      userPublicKey: string;
      quoteResponse: Record<string, string>;
    }; // Our own quote.
    const [input, output] = [
      tokenOf(quoteResponse['inputMint'] ?? null),
      tokenOf(quoteResponse['outputMint'] ?? null),
    ];
    if (input === undefined || output === undefined)
      return { status: 400, body: { error: 'unknown mint' } };
    const swapInstruction = writeSwap({
      mode: quoteResponse['swapMode'] === 'ExactOut' ? 'ExactOut' : 'ExactIn',
      user: userPublicKey,
      ...{
        inputMint: input.mint,
        outputMint: output.mint,
        inputProgram: input.program,
        outputProgram: output.program,
      },
      inAmount: BigInt(quoteResponse['inAmount'] ?? '0'),
      outAmount: BigInt(quoteResponse['outAmount'] ?? '0'),
      slippageBps: Number(quoteResponse['slippageBps']),
    });
    return { status: 200, body: { swapInstruction, addressLookupTableAddresses: [] } };
  };

  return {
    answer(method, url, body, key) {
      if (state.isDown) return { status: 503, body: { error: `down for ${key}` } };
      if (method === 'GET' && url.pathname === '/swap/v1/quote')
        return quote(url.searchParams, key);
      if (method === 'POST' && url.pathname === '/swap/v1/swap-instructions') return build(body);
      return {
        status: 400,
        body: { errorCode: 'NO_ROUTES_FOUND', error: `No routes found for ${key}` },
      };
    },
    venue({ mode, inAmount, outAmount, slippageBps }, isSimulated) {
      if (isSimulated) return { inAmount, outAmount };
      if (random.chance(state.failing)) return { error: SLIPPAGE_EXCEEDED };
      // The same on each fork: what a dropped fork showed of a confirmed swap differs from what
      // stays by no more than its slippage.
      const slip = BigInt(random.fork(`${inAmount} ${outAmount}`).int(0, slippageBps));
      if (random.chance(state.stealing)) {
        return random.chance(0.5)
          ? { inAmount: inAmount * 2n, outAmount }
          : { inAmount, outAmount: outAmount / 2n };
      }
      return mode === 'ExactIn'
        ? { inAmount, outAmount: (outAmount * (WHOLE - slip) + WHOLE - 1n) / WHOLE }
        : { inAmount: (inAmount * (WHOLE + slip)) / WHOLE, outAmount };
    },
  };
}

export function vaultOf({ mint, program }: Token): string {
  return accountOf(POOL_AUTHORITY, mint, program);
}
