import {
  AccountRole,
  type Instruction as KitInstruction,
  getAddressDecoder,
  isSignerRole,
  isWritableRole,
} from '@solana/kit';
import type { VenueSwap } from '../../../adapters/sandbox/venue/venue.mjs';
import { TOKEN_PROGRAM } from '../../../src/network.js';
import type { Runtime } from '../../../src/internal/runtime.js';
import { associatedTokenAddress } from '../../../src/solana/tokens/accounts.js';
import type { Account } from '../../../src/solana/rpc/rpc.js';
import type { Instruction } from '../../../src/solana/types.js';
import type { SwapExpectation } from '../../../src/swaps/firewall/swap-rules.js';
import type { QuoteIntent, SwapProvider } from '../../../src/swaps/provider.js';
import type { SwapQuote } from '../../../src/swaps/types.js';
import { swapDecoders as decoders } from '../../../src/swaps/sources.js';

export const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
export const PYUSD = '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo';
export const WSOL = 'So11111111111111111111111111111111111111112';
export const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';

/** An arbitrary address. */
export function someKey(n: number) {
  return getAddressDecoder().decode(new Uint8Array(32).fill(n).fill(n + 1, 16));
}

export const WALLET = someKey(7);
export const STRANGER = someKey(66);
export const SOURCE = associatedTokenAddress(WALLET, USDC, TOKEN_PROGRAM);
export const DESTINATION = associatedTokenAddress(WALLET, USDT, TOKEN_PROGRAM);
export const BLOCKHASH = someKey(99);

/** A swap of USDC to USDT: at most 1,005,000 units for at least 995,000. */
export const EXPECTED: SwapExpectation = {
  decoders,
  wallet: WALLET,
  inputMint: USDC,
  outputMint: USDT,
  inputProgram: TOKEN_PROGRAM,
  outputProgram: TOKEN_PROGRAM,
  maxIn: 1_005_000n,
  minOut: 995_000n,
  slippageBps: 50,
};

export const VENUE_SWAP = {
  user: WALLET,
  source: SOURCE,
  destination: DESTINATION,
  sourceMint: USDC,
  destinationMint: USDT,
  sourceProgram: TOKEN_PROGRAM,
  destinationProgram: TOKEN_PROGRAM,
  vaultIn: someKey(20),
  vaultOut: someKey(30),
} as unknown as VenueSwap;

/** An instruction of kit as plain data. */
export function fromKit({
  programAddress,
  accounts = [],
  data = new Uint8Array(),
}: KitInstruction): Instruction {
  return {
    program: programAddress,
    accounts: accounts.map(({ address, role }) => ({
      address,
      signer: isSignerRole(role),
      writable: isWritableRole(role),
    })),
    data: new Uint8Array(data),
  };
}

export function toKit({ program, accounts, data }: Instruction) {
  return {
    programAddress: program,
    accounts: accounts.map(({ address, signer, writable }) => ({
      address,
      role: signer
        ? writable
          ? AccountRole.WRITABLE_SIGNER
          : AccountRole.READONLY_SIGNER
        : writable
          ? AccountRole.WRITABLE
          : AccountRole.READONLY,
    })),
    data: [...data],
  };
}

/** The instruction with a change to an account. */
export function withAccount(
  instruction: Instruction,
  index: number,
  change: Partial<Instruction['accounts'][number]>,
): Instruction {
  const accounts = instruction.accounts.map((account, at) =>
    at === index ? { ...account, ...change } : account,
  );
  return { ...instruction, accounts };
}

/** The bytes of a token account, written by hand. */
export function tokenAccountData(options: {
  readonly mint: string;
  readonly owner: string;
  readonly amount: bigint;
  readonly delegate?: string;
  readonly closeAuthority?: string;
  readonly state?: number;
  readonly bytes: (address: string) => Uint8Array;
}): Uint8Array {
  const { bytes } = options;
  const data = new Uint8Array(165);
  const view = new DataView(data.buffer);
  data.set(bytes(options.mint), 0);
  data.set(bytes(options.owner), 32);
  view.setBigUint64(64, options.amount, true);
  if (options.delegate !== undefined) {
    view.setUint32(72, 1, true);
    data.set(bytes(options.delegate), 76);
    view.setBigUint64(121, 1n, true);
  }
  data[108] = options.state ?? 1;
  if (options.closeAuthority !== undefined) {
    view.setUint32(129, 1, true);
    data.set(bytes(options.closeAuthority), 133);
  }
  return data;
}

export function account(
  owner: string,
  data: Uint8Array = new Uint8Array(),
  lamports = 2_039_280n,
): Account {
  return { owner, lamports, data, executable: false };
}

/**
 * A clock that only sleeps move; it records the sleeps. A sleep of `never` milliseconds ends only
 * by an abort.
 */
export function fakeRuntime(
  never?: number,
): Runtime & { readonly slept: number[]; advance(ms: number): void } {
  let now = 1_800_000_000_000;
  const slept: number[] = [];
  const sleep: Runtime['sleep'] = (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      if (ms === never)
        return void signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      slept.push(ms);
      now += ms;
      resolve();
    });
  return {
    slept,
    sleep,
    idle: sleep,
    advance: (ms) => void (now += ms),
    now: () => now,
    randomBytes: (length) => new Uint8Array(length),
  };
}

/** A market with a fixed price: the output for each unit of input, in millionths. */
export function fakeProvider(options: {
  readonly id?: string;
  readonly price: bigint;
  readonly fail?: (intent: QuoteIntent) => Error | undefined;
  readonly change?: (quote: SwapQuote) => SwapQuote;
}): SwapProvider & { readonly asked: QuoteIntent[] } {
  const { id = 'fake', price, fail, change = (quote: SwapQuote) => quote } = options;
  const asked: QuoteIntent[] = [];
  const MICRO = 1_000_000n;
  return {
    id,
    asked,
    async quote(intent) {
      asked.push(intent);
      const error = fail?.(intent);
      if (error !== undefined) throw error;
      const { inputMint, outputMint, swapMode, slippageBps, amount } = intent;
      const exactIn = swapMode === 'ExactIn';
      const inAmount = exactIn ? amount : (amount * MICRO + price - 1n) / price;
      const outAmount = exactIn ? (amount * price) / MICRO : amount;
      const s = BigInt(slippageBps);
      return change({
        ...{
          inputMint,
          outputMint,
          swapMode,
          slippageBps,
          provider: id,
          quotedAt: 0,
          raw: {},
          route: ['Fake'],
        },
        ...{
          inAmount: String(inAmount),
          outAmount: String(outAmount),
          platformFeeBps: 0,
          priceImpactBps: 1,
        },
        minOutAmount: String(exactIn ? (outAmount * (10_000n - s)) / 10_000n : outAmount),
        maxInAmount: String(exactIn ? inAmount : (inAmount * (10_000n + s) + 9_999n) / 10_000n),
      });
    },
    build: () => Promise.reject(new Error('not asked for')),
  };
}
