import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint, mintsPinnedOn } from '../../network.js';
import { associatedTokenAddress, plainAccount } from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import type { Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';
import type { Memory } from '../memory.js';
import { swapEngine } from '../on-demand.js';
import type { Read } from './read-accounts.js';

/** Milliseconds for which calls share a read of the holdings. */
const SHARED_MS = 1_000;

interface Beside {
  readonly addresses: readonly Address[];
  /** Notes the accounts that were read; call it right after the read. */
  note(read: Read | Promise<Read>): Promise<Holdings>;
  /** Ends the shared read without a result, because no swap needs the accounts. */
  drop(): void;
}

/**
 * Returns the accounts that a swap reads first, so that a round that is due anyway reads them too.
 * Undefined if no swap can need them, or a recent read is shared.
 */
export function firstBeside(context: PaymentContext): Beside | undefined {
  const isNeeded =
    context.config.autoSwap && isPinnedFirst(context) && !isShared(context, context.memory.pinned);
  return isNeeded ? startPinned(context) : undefined;
}

/** Whether swaps try SOL and pinned tokens before any token that is not pinned. */
export function isPinnedFirst({ config: { swapFrom, network } }: PaymentContext): boolean {
  return swapFrom?.every((mint) => pinnedMint(network, mint) !== undefined) !== false;
}

export function isShared<T extends { readonly at: number }>(
  { config }: PaymentContext,
  read: T | undefined,
): read is T {
  return read !== undefined && sinceThen(config.runtime, read.at) < SHARED_MS;
}

export function startPinned(context: PaymentContext): Beside {
  const { memory, config } = context;
  const wallet = config.signer.address;
  const tokens = mintsPinnedOn(config.network).map(({ mint, tokenProgram }) =>
    associatedTokenAddress(wallet, mint, tokenProgram),
  );
  const at = config.runtime.now();
  const pinned: NonNullable<Memory['pinned']> = { at };
  // Set before the read, so that a read that is outdated while it runs stays outdated.
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
  // Note balances before code is loaded, which takes time. Accounts with extensions are left out:
  // the code that needs them reads them again.
  for (const address of tokens) {
    const { account = null, slot } = read.get(address) ?? {};
    const token = account === null ? undefined : plainAccount(account);
    // Do not note a frozen account: it has a balance but cannot pay, so each payment has to see it.
    if (token?.owner !== signer.address || token.state !== 'initialized') continue;
    await context.ledger.see(address, { amount: token.amount, at, slot });
  }
  const { holdingsIn } = await swapEngine();
  return holdingsIn(context, tokens, read);
}

/** Remembers the holdings once they are read; if the read fails, the next call reads again. */
export function followRead(
  context: PaymentContext,
  { at, read }: { readonly at: number; readonly read: Promise<Holdings> },
): void {
  read.then(
    (holdings) => (context.memory.lastHoldings = { at, holdings }),
    () => outdateHoldings(context),
  );
}

/** Makes the next call read the holdings again, because they may have changed. */
export function outdateHoldings({ memory }: Pick<PaymentContext, 'memory'>): void {
  memory.holdings = undefined;
  memory.pinned = undefined;
}
