import { untilAborted } from '../../internal/abort.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint, WSOL_MINT, type PinnedMint } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { decodeTokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';

/** For how long a read of all that the wallet holds is shared, in milliseconds. */
const SHARED_MS = 1_000;

/** All that the wallet holds; calls within a second share one read of it, unless that is outdated. */
export function shareHoldings(
  context: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<Holdings> {
  const { memory, config } = context;
  const { runtime } = config;
  if (memory.holdings === undefined || sinceThen(runtime, memory.holdings.at) >= SHARED_MS) {
    // No signal: one caller giving up must not end it for the others.
    const next = { at: runtime.now(), read: readHoldings(context, [], undefined) };
    memory.holdings = next;
    next.read.then(
      (holdings) => (memory.lastHoldings = { at: next.at, holdings }),
      () => outdateHoldings(context),
    );
  }
  return untilAborted(memory.holdings.read, signal);
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
  const tokens = held.accounts.flatMap(({ address, account: raw }) => {
    const account = decodeTokenAccount(raw);
    return account === undefined ? [] : [{ address, account }];
  });
  for (const { address, account } of tokens) {
    // A frozen account is looked at again each time: it has a balance and cannot pay.
    if (account.owner !== wallet || account.state !== 'initialized') continue;
    await ledger.see(address, { amount: account.amount, at, slot: held.slot });
  }
  for (const { mint, tokenProgram } of expected) {
    const account = associatedTokenAddress(wallet, mint, tokenProgram);
    if (!held.accounts.some(({ address }) => address === account))
      await ledger.see(account, { amount: 0n, at, slot: held.slot });
  }
  return { network, wallet, lamports: native.accounts[0]?.lamports ?? 0n, tokens };
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
