import { untilAborted } from '../../internal/abort.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint, pinnedMints, WSOL_MINT, type PinnedMint } from '../../network.js';
import { associatedTokenAddress, decodeTokenAccount } from '../../solana/tokens/accounts.js';
import type { Account } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';
import type { Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';
import type { Memory } from '../memory.js';
import { readAccounts, type Read } from './read-accounts.js';

/** For how long a read of all that the wallet holds is shared, in milliseconds. */
const SHARED_MS = 1_000;

/** All that the wallet holds; calls within a second share one read of it, unless that is outdated. */
export function shareHoldings(
  context: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<Holdings> {
  const { memory, config } = context;
  if (!isShared(context, memory.holdings)) {
    // No signal: one caller giving up must not end it for the others.
    const next = { at: config.runtime.now(), read: readHoldings(context, [], undefined) };
    memory.holdings = next;
    follow(context, next);
  }
  return untilAborted(memory.holdings.read, signal);
}

/**
 * What is tried first of what the wallet holds: its SOL and pinned tokens, which are one cheap
 * question, or all if the caller's own order has others. Shared as all is.
 */
export function shareFirst(
  context: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<Holdings> {
  if (!isPinnedFirst(context)) return shareHoldings(context, signal);
  const { pinned } = context.memory;
  const shared = isShared(context, pinned) ? pinned.read : undefined;
  if (shared !== undefined) return untilAborted(shared, signal);
  const { addresses, note } = startPinned(context);
  return untilAborted(note(readAccounts(context, addresses, undefined)), signal);
}

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
function isPinnedFirst({ config: { swapFrom, network } }: PaymentContext): boolean {
  return swapFrom?.every((mint) => pinnedMint(network, mint) !== undefined) !== false;
}

function isShared<T extends { readonly at: number }>(
  { config }: PaymentContext,
  read: T | undefined,
): read is T {
  return read !== undefined && sinceThen(config.runtime, read.at) < SHARED_MS;
}

function startPinned(context: PaymentContext): Beside {
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
      const read = pinnedIn(context, tokens, accounts);
      pinned.read = read;
      follow(context, { at, read });
      return read;
    },
    drop() {
      if (memory.pinned === pinned) memory.pinned = undefined;
    },
  };
}

async function pinnedIn(
  context: PaymentContext,
  addresses: readonly Address[],
  accounts: Read | Promise<Read>,
): Promise<Holdings> {
  const { network, signer } = context.config;
  const wallet = signer.address;
  const found = await accounts;
  const tokens = addresses.flatMap((address) => {
    const { account, slot } = found.get(address) ?? {};
    return account && slot !== undefined ? [{ address, account, slot }] : [];
  });
  return {
    network,
    wallet,
    lamports: found.get(wallet)?.account?.lamports ?? 0n,
    tokens: await seeTokens(context, tokens),
  };
}

function follow(
  context: PaymentContext,
  { at, read }: { readonly at: number; readonly read: Promise<Holdings> },
): void {
  read.then(
    (holdings) => (context.memory.lastHoldings = { at, holdings }),
    () => outdateHoldings(context),
  );
}

/** For how long what the wallet held mostly says what it swaps from next, in milliseconds. */
const LIKELY_MS = 10 * 60_000;

/** What the wallet held when it was read last, if that is not long ago: good for a guess alone. */
export function likelyHoldings({ memory, config }: PaymentContext): Holdings | undefined {
  const { lastHoldings } = memory;
  return lastHoldings !== undefined && sinceThen(config.runtime, lastHoldings.at) <= LIKELY_MS
    ? lastHoldings.holdings
    : undefined;
}

/** What was read may not be true any more: the next call reads anew. */
export function outdateHoldings({ memory }: Pick<PaymentContext, 'memory'>): void {
  memory.holdings = undefined;
  memory.pinned = undefined;
}

/**
 * Reads all that the wallet holds, and remembers it.
 *
 * @param expected - Mints that are remembered as empty if the wallet has no account for them.
 */
export async function readHoldings(
  context: PaymentContext,
  expected: readonly PinnedMint[],
  signal: AbortSignal | undefined,
): Promise<Holdings> {
  const { signer, runtime, network } = context.config;
  const { ledger } = context;
  const wallet = signer.address;
  const [native, held] = await Promise.all([
    context.rpc.accounts([wallet], { signal }),
    context.rpc.tokenAccounts(wallet, { signal }),
  ]);
  const at = runtime.now();
  const { slot } = held;
  const tokens = await seeTokens(
    context,
    held.accounts.map((one) => ({ ...one, slot })),
  );
  for (const { mint, tokenProgram } of expected) {
    const account = associatedTokenAddress(wallet, mint, tokenProgram);
    if (!held.accounts.some(({ address }) => address === account))
      await ledger.see(account, { amount: 0n, at, slot });
  }
  return { network, wallet, lamports: native.accounts[0]?.lamports ?? 0n, tokens };
}

/** What lies in accounts that were read just now, remembered as the wallet's if it is. */
async function seeTokens(
  { config, ledger }: PaymentContext,
  read: readonly { readonly address: Address; readonly account: Account; readonly slot: number }[],
): Promise<Holdings['tokens']> {
  const { signer, runtime } = config;
  const at = runtime.now();
  const tokens = read.flatMap(({ address, account: raw, slot }) => {
    const account = decodeTokenAccount(raw);
    return account === undefined ? [] : [{ address, account, slot }];
  });
  for (const { address, account, slot } of tokens) {
    // A frozen account is looked at again each time: it has a balance and cannot pay.
    if (account.owner !== signer.address || account.state !== 'initialized') continue;
    await ledger.see(address, { amount: account.amount, at, slot });
  }
  return tokens;
}

/** What payments in flight have of each token, and of SOL. */
export async function reservedOf(
  context: PaymentContext,
  { wallet, tokens }: Holdings,
): Promise<ReadonlyMap<Address, bigint>> {
  const { ledger } = context;
  const reserved = new Map<Address, bigint>();
  for (const { address, account } of tokens) reserved.set(account.mint, await ledger.held(address));
  const wrapped = associatedTokenAddress(
    wallet,
    WSOL_MINT,
    pinnedMint(context.config.network, WSOL_MINT)?.tokenProgram ?? '',
  );
  return reserved.set(WSOL_MINT, (await ledger.held(wallet)) + (await ledger.held(wrapped)));
}
