import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint, pinnedMints } from '../../network.js';
import { associatedTokenAddress, plainAccount } from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import type { Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';
import type { Memory } from '../memory.js';
import { swapEngine } from '../on-demand.js';
import type { Read } from './read-accounts.js';

/** For how long a read of what the wallet holds is shared, in milliseconds. */
const SHARED_MS = 1_000;

/** Accounts of the wallet that are read with others. */
interface Beside {
  readonly addresses: readonly Address[];
  /** Notes what lies there; to be called right after it was read. */
  note(read: Read | Promise<Read>): Promise<Holdings>;
  /** They are of no interest. */
  drop(): void;
}

/**
 * What a swap would have to read next, so that it is better read with what is read anyway;
 * undefined if there is no need.
 */
export function firstBeside(context: PaymentContext): Beside | undefined {
  const isNeeded =
    context.config.autoSwap && isPinnedFirst(context) && !isShared(context, context.memory.pinned);
  return isNeeded ? startPinned(context) : undefined;
}

/** Whether no token that is not pinned is swapped from as long as one that is pinned will do. */
export function isPinnedFirst({ config: { swapFrom, network } }: PaymentContext): boolean {
  return swapFrom?.every((mint) => pinnedMint(network, mint) !== undefined) !== false;
}

export function isShared<T extends { readonly at: number }>(
  { config }: PaymentContext,
  read: T | undefined,
): read is T {
  return read !== undefined && sinceThen(config.runtime, read.at) < SHARED_MS;
}

/** Begins to read the wallet's SOL and pinned tokens. */
export function startPinned(context: PaymentContext): Beside {
  const { memory, config } = context;
  const wallet = config.signer.address;
  const tokens = pinnedMints(config.network).map(({ mint, tokenProgram }) =>
    associatedTokenAddress(wallet, mint, tokenProgram),
  );
  const at = config.runtime.now();
  const pinned: NonNullable<Memory['pinned']> = { at };
  // What is outdated while it is read stays so.
  memory.pinned = pinned;
  return {
    addresses: [wallet, ...tokens],
    note(accounts) {
      const read = heldIn(context, tokens, accounts);
      pinned.read = read;
      followRead(context, { at, read });
      return read;
    },
    drop() {
      if (memory.pinned === pinned) memory.pinned = undefined;
    },
  };
}

async function heldIn(
  context: PaymentContext,
  tokens: readonly Address[],
  accounts: Read | Promise<Read>,
): Promise<Holdings> {
  const { signer, runtime } = context.config;
  const read = await accounts;
  const at = runtime.now();
  // Remembered before anything is loaded. Those with extensions are read anew by what needs them.
  for (const address of tokens) {
    const { account = null, slot } = read.get(address) ?? {};
    const token = account === null ? undefined : plainAccount(account);
    // A frozen account is looked at again each time: it has a balance and cannot pay.
    if (token?.owner !== signer.address || token.state !== 'initialized') continue;
    await context.ledger.see(address, { amount: token.amount, at, slot });
  }
  const { holdingsIn } = await swapEngine();
  return holdingsIn(context, tokens, read);
}

/** Remembers what is being read, or that nothing came of it. */
export function followRead(
  context: PaymentContext,
  { at, read }: { readonly at: number; readonly read: Promise<Holdings> },
): void {
  read.then(
    (holdings) => (context.memory.lastHoldings = { at, holdings }),
    () => outdateHoldings(context),
  );
}

/** What was read may not be true any more: the next call reads anew. */
export function outdateHoldings({ memory }: Pick<PaymentContext, 'memory'>): void {
  memory.holdings = undefined;
  memory.pinned = undefined;
}
