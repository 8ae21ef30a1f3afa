import { untilAborted } from '../../internal/abort.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint, WSOL_MINT, type PinnedMint } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { decodeTokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';
import { followRead, isPinnedFirst, isShared, startPinned } from './pinned-holdings.js';
import { readAccounts, type Read } from './read-accounts.js';

/**
 * Reads all holdings of the wallet. Calls within a second share a read, unless the read is
 * outdated.
 */
export function readAllHoldings(
  context: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<Holdings> {
  const { memory, config } = context;
  if (!isShared(context, memory.holdings)) {
    // No signal, because a caller that gives up must not end the read for other callers.
    const next = { at: config.runtime.now(), read: readHoldings(context, [], undefined) };
    memory.holdings = next;
    followRead(context, next);
  }
  return untilAborted(memory.holdings.read, signal);
}

/**
 * Reads the holdings to try first: SOL and pinned tokens, which take a single cheap request. Reads
 * all holdings if the caller's `swapFrom` has other tokens. Calls share reads here too.
 */
export function readFirstHoldings(
  context: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<Holdings> {
  if (!isPinnedFirst(context)) return readAllHoldings(context, signal);
  const { pinned } = context.memory;
  const shared = isShared(context, pinned) ? pinned.read : undefined;
  if (shared !== undefined) return untilAborted(shared, signal);
  const { addresses, note } = startPinned(context);
  return untilAborted(note(readAccounts(context, addresses, undefined)), signal);
}

export function holdingsIn(
  { config: { network, signer } }: Pick<PaymentContext, 'config'>,
  addresses: readonly Address[],
  read: Read,
): Holdings {
  const wallet = signer.address;
  const tokens = addresses.flatMap((address) => {
    const raw = read.get(address)?.account;
    const account = raw ? decodeTokenAccount(raw) : undefined;
    return account === undefined ? [] : [{ address, account }];
  });
  return { network, wallet, lamports: read.get(wallet)?.account?.lamports ?? 0n, tokens };
}

/** Milliseconds for which a read of the holdings is good enough to guess the next swap's input. */
const LIKELY_MS = 10 * 60_000;

/** Returns the holdings of the last read if it is recent: good enough for a guess only. */
export function likelyHoldings({ memory, config }: PaymentContext): Holdings | undefined {
  const { lastHoldings } = memory;
  return lastHoldings !== undefined && sinceThen(config.runtime, lastHoldings.at) <= LIKELY_MS
    ? lastHoldings.holdings
    : undefined;
}

/**
 * Reads all holdings of the wallet, and notes their balances in the ledger.
 *
 * @param expected - Mints to note a zero balance for if the wallet has no account for them.
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
  const tokens = held.accounts.flatMap(({ address, account: raw }) => {
    const account = decodeTokenAccount(raw);
    return account === undefined ? [] : [{ address, account }];
  });
  for (const { address, account } of tokens) {
    // Do not note a frozen account: it has a balance but cannot pay, so each payment has to see it.
    if (account.owner !== wallet || account.state !== 'initialized') continue;
    await ledger.see(address, { amount: account.amount, at, slot });
  }
  for (const { mint, tokenProgram } of expected) {
    const account = associatedTokenAddress(wallet, mint, tokenProgram);
    if (!held.accounts.some(({ address }) => address === account))
      await ledger.see(account, { amount: 0n, at, slot });
  }
  return { network, wallet, lamports: native.accounts[0]?.lamports ?? 0n, tokens };
}

/** Returns the base units of each token that attempts hold. */
export async function reservedOf(
  context: PaymentContext,
  { wallet, tokens }: Holdings,
): Promise<ReadonlyMap<Address, bigint>> {
  const { ledger } = context;
  const reserved = new Map<Address, bigint>();
  // Sum per mint, because any wallet may create an extra account of a mint for this wallet.
  for (const { address, account } of tokens)
    reserved.set(account.mint, (reserved.get(account.mint) ?? 0n) + (await ledger.held(address)));
  const wrapped = associatedTokenAddress(
    wallet,
    WSOL_MINT,
    pinnedMint(context.config.network, WSOL_MINT)?.tokenProgram ?? '',
  );
  return reserved.set(WSOL_MINT, await ledger.held(wrapped));
}
