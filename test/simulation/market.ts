import {
  accountOf,
  POOL_AUTHORITY,
  PYUSD,
  SOL,
  STRANGER,
  TOKEN,
  TOKEN_2022,
  USDC,
  USDT,
  WALLET,
} from './places.js';
import type { Random } from './random.js';
import { writeSwap, type SwapCall } from './swap-call.js';

/** A token of the simulated world. */
export interface Token {
  readonly mint: string;
  readonly program: string;
  readonly decimals: number;
  /** True value of a whole token in millionths of a dollar; 0n for a token that a seller made. */
  readonly worth: bigint;
}

export const SOL_WORTH = 150_000_000n;
export const PINNED: readonly Token[] = [
  { mint: USDC, program: TOKEN, decimals: 6, worth: 1_000_000n },
  { mint: USDT, program: TOKEN, decimals: 6, worth: 1_000_000n },
  { mint: PYUSD, program: TOKEN_2022, decimals: 6, worth: 1_000_000n },
  { mint: SOL, program: TOKEN, decimals: 9, worth: SOL_WORTH },
];

/** Current faults of Jupiter. */
export interface MarketState {
  /** Prices of sellers' tokens in their own markets: millionths of a dollar for a whole token. */
  readonly prices: Map<string, bigint>;
  isDown: boolean;
  /** Share of requests that get no answer. */
  hanging: number;
  /** Share of quotes without a route, for any tokens. */
  gone: number;
  /** Share of swaps that fail on the chain although their simulation succeeded. */
  failing: number;
  /**
   * Share of swaps that take more or bring less than agreed on the chain. The guard must stop them.
   */
  stealing: number;
  /** Share of requests that it refuses, because there are too many. */
  busy: number;
  /** Share of built swaps with another account, other bytes, or further instructions. */
  tampering: number;
}

export const calm = (): MarketState => ({
  prices: new Map(),
  isDown: false,
  hanging: 0,
  gone: 0,
  failing: 0,
  stealing: 0,
  busy: 0,
  tampering: 0,
});

/** Market fee in basis points of the true value. */
const FEE_BPS = 20n;
const WHOLE = 10_000n;
const SLIPPAGE_EXCEEDED = 6_001;

/** The simulated Jupiter: quotes, instructions, and the effects of swaps on the chain. */
export interface Market {
  /** Answers a request with a status and a body. Errors repeat the API key of the request. */
  answer(
    method: string,
    url: URL,
    body: string,
    key: string,
  ): { readonly status: number; readonly body: unknown };
  /** Returns a swap's amounts: the quote's in a simulation, the market's on the chain. */
  venue(
    call: SwapCall,
    isSimulated: boolean,
  ): { inAmount: bigint; outAmount: bigint } | { error: number };
}

export function createMarket(tokens: readonly Token[], state: MarketState, random: Random): Market {
  const tokenOf = (mint: string | null): Token | undefined =>
    tokens.find((token) => token.mint === mint);
  const priceOf = ({ mint, worth }: Token): bigint =>
    worth > 0n ? worth : (state.prices.get(mint) ?? 0n);

  /** Returns the amounts of a trade; undefined if there is no market. */
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
    }; // The library sends back a quote of this market.
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
    const built = { swapInstruction, addressLookupTableAddresses: [] };
    return { status: 200, body: random.chance(state.tampering) ? tampered(built) : built };
  };

  /** Returns a built swap that takes or sends something else. */
  const tampered = ({ swapInstruction, ...rest }: Built): object => {
    const accounts = [...swapInstruction.accounts];
    const data = Buffer.from(swapInstruction.data, 'base64');
    const token = random.pick(tokens);
    const [theirs, ours] = [STRANGER, WALLET].map((owner) =>
      accountOf(owner, token.mint, token.program),
    );
    const meta = (pubkey = '', isSigner = false) => ({ pubkey, isSigner, isWritable: true });
    const at = random.int(0, accounts.length - 1);
    const gives = {
      programId: token.program,
      accounts: [meta(ours), meta(token.mint), meta(theirs), meta(WALLET, true)],
      data: Buffer.from([12, 1, 0, 0, 0, 0, 0, 0, 0, token.decimals]).toString('base64'),
    };
    const approves = {
      ...gives,
      data: Buffer.from([4, ...new Uint8Array(8).fill(9)]).toString('base64'),
    };
    const more = random.pick([gives, approves]);
    switch (random.int(0, 5)) {
      case 0:
        accounts[at] = { ...meta(random.pick([theirs, ours, STRANGER, WALLET])), isWritable: true };
        break;
      case 1:
        accounts[at] = { ...meta(accounts[at]?.pubkey), isSigner: true };
        break;
      case 2:
        data[random.int(0, data.length - 1)] = random.int(0, 255);
        break;
      case 3:
        return { ...rest, swapInstruction, setupInstructions: [more] };
      case 4:
        return { ...rest, swapInstruction, cleanupInstruction: more };
      default:
        return { ...rest, swapInstruction, otherInstructions: [more] };
    }
    return {
      ...rest,
      swapInstruction: { ...swapInstruction, accounts, data: data.toString('base64') },
    };
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
      // The slip depends only on the amounts, so a swap brings the same on each fork.
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

interface Built {
  readonly swapInstruction: ReturnType<typeof writeSwap>;
  readonly addressLookupTableAddresses: readonly string[];
}

export function vaultOf({ mint, program }: Token): string {
  return accountOf(POOL_AUTHORITY, mint, program);
}
