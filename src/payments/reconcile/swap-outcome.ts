import { maxAmount } from '../../amount.js';
import type { Known } from '../../journal/account-balance.js';
import type { SignedSwap } from '../../journal/types.js';
import { WSOL_MINT } from '../../network.js';
import type { RelayFee } from '../../receipt.js';
import type { LandedTransaction } from '../../solana/rpc/rpc.js';
import { decodeTokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { SwapOutlook } from '../../swaps/transaction/prepare.js';
import type { PaymentContext } from '../context.js';

/** What a landed swap took and brought, in base units. */
export interface SwapAmounts {
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  readonly feeLamports: bigint;
}

// A node may show a transaction as confirmed a moment before it can give it.
const TRIES = 10;
const WAIT_MS = 200;

/** Reads the landed swap; undefined if the node does not give it. */
export async function readLanded(
  context: PaymentContext,
  signature: string,
): Promise<LandedTransaction | undefined> {
  const { runtime } = context.config;
  for (let tries = 0; tries < TRIES && !context.closing.signal.aborted; tries++) {
    const landed = await context.rpc.transaction(signature).catch(() => null);
    // A version above 0 is never ours.
    if (landed !== null && landed !== 'newer') return landed;
    await runtime.sleep(WAIT_MS);
  }
  return undefined;
}

/** What is known of a swap that landed. */
type Sent = Pick<SignedSwap, 'inputMint' | 'outputMint' | 'source' | 'output' | 'relay'>;

/** What the wallet paid of the network fee: nothing if a relayer did. */
export function ownFee(
  { feeLamports }: LandedTransaction,
  { relay }: Pick<SignedSwap, 'relay'>,
): bigint {
  return relay === undefined ? feeLamports : 0n;
}

/** What a relayer took, as records of a swap have it. */
export function relayFeeOf({ relay }: Pick<SignedSwap, 'relay'>): { readonly relayFee?: RelayFee } {
  return relay === undefined ? {} : { relayFee: { mint: relay.mint, amount: relay.fee } };
}

/** What the landed transaction moved on the wallet's own accounts. */
export function swapAmountsOf(landed: LandedTransaction, wallet: string, swap: Sent): SwapAmounts {
  const { inputMint, outputMint, source, output } = swap;
  const feeLamports = ownFee(landed, swap);
  // Lamports on all own accounts together: rent moves between them and cancels out, what SOL was
  // swapped does not.
  const lamports = [...new Set([wallet, source, output])].reduce(
    (sum, account) => sum + lamportChange(landed, account),
    feeLamports,
  );
  return {
    inAmount: inputMint === WSOL_MINT ? -lamports : -tokenChange(landed, source),
    outAmount: outputMint === WSOL_MINT ? lamports : tokenChange(landed, output),
    feeLamports,
  };
}

/**
 * Rent of own token accounts that a landed swap made and that stay: lamports on them that are no
 * wrapped SOL. Undefined if what a node gave of it does not agree with itself: then nothing of it
 * may lower what is counted.
 */
export function rentIn(landed: LandedTransaction, wallet: string, swap: Sent): bigint | undefined {
  const { inputMint, outputMint, source, output, relay } = swap;
  const own = new Map([
    [source, inputMint],
    [output, outputMint],
  ]);
  own.delete(wallet);
  if (landed.error !== null || !isWhole(landed)) return undefined;
  if (![...own].every(([account, mint]) => isKept(landed, account, mint))) return undefined;
  const rent = [...own].reduce((sum, [account, mint]) => {
    const wrapped = mint === WSOL_MINT ? tokenChange(landed, account) : 0n;
    return sum + lamportChange(landed, account) - wrapped;
  }, 0n);
  // If no SOL is swapped, all that leaves the wallet is fee and rent, whatever it went into.
  const isSold = inputMint === WSOL_MINT || outputMint === WSOL_MINT;
  const left = isSold ? 0n : -lamportChange(landed, wallet) - ownFee(landed, swap);
  return maxAmount(0n, maxAmount(relay === undefined ? rent : 0n, left));
}

/**
 * The fee of a transaction that landed and failed, which is all that it took; undefined if what a
 * node gave of it does not agree with that.
 */
export function failureFee(
  landed: LandedTransaction | undefined,
  wallet: string,
  swap: Pick<SignedSwap, 'relay'>,
): bigint | undefined {
  if (landed === undefined || landed.error === null || !isWhole(landed)) return undefined;
  const { tokenChanges } = landed;
  const feeLamports = ownFee(landed, swap);
  const hasMoved =
    lamportChange(landed, wallet) !== -feeLamports ||
    tokenChanges.some(({ before, after }) => before !== after);
  return hasMoved ? undefined : feeLamports;
}

/** No lamport comes or goes but for the fee: one wrong number of an answer does not add up. */
function isWhole({ lamports, feeLamports }: LandedTransaction): boolean {
  return (
    [...lamports.values()].reduce((sum, { before, after }) => sum + before - after, 0n) ===
    feeLamports
  );
}

/**
 * Whether what an own account took of a mint, or gave, is what the other accounts say; wrapped SOL
 * comes from lamports too, which are whole.
 */
function isKept(landed: LandedTransaction, account: string, mint: string): boolean {
  const sum = landed.tokenChanges.reduce(
    (all, one) => (one.mint === mint ? all + one.after - one.before : all),
    0n,
  );
  if (sum === 0n) return true;
  const { before = 0n, after = 0n } = landed.lamports.get(account) ?? {};
  return (
    mint === WSOL_MINT &&
    before > 0n === after > 0n &&
    after - before === tokenChange(landed, account)
  );
}

/**
 * Remembers what own accounts hold after it.
 *
 * @param busy - The accounts that payments in flight could leave from since it was sent.
 */
export async function rememberAfter(
  context: PaymentContext,
  landed: LandedTransaction,
  { source, output }: Pick<SwapOutlook, 'source' | 'output'>,
  busy: ReadonlySet<Address>,
): Promise<void> {
  const { ledger } = context;
  const at = context.config.runtime.now();
  for (const account of [source, output]) {
    const change = landed.tokenChanges.find((one) => one.account === account);
    const shown = change && { amount: change.after, at, slot: landed.slot };
    const known = busy.has(account) ? await readSince(context, account, landed.slot) : shown;
    // The next payment reads it.
    if (change === undefined || known === undefined) await ledger.forget(account);
    else await ledger.see(account, known, change.after - change.before);
  }
}

/**
 * What an account holds at the end of a slot: a payment that landed in the same slot as the swap
 * may be known to have left, and no slot tells whether the swap has found it gone. Undefined if no
 * node says.
 */
async function readSince(
  { rpc, config }: PaymentContext,
  account: Address,
  slot: number,
): Promise<Known | undefined> {
  const read = await rpc.accounts([account], { minContextSlot: slot }).catch(() => undefined);
  const found = read?.accounts[0];
  const amount = found ? decodeTokenAccount(found)?.amount : undefined;
  return read === undefined || amount === undefined
    ? undefined
    : { amount, at: config.runtime.now(), slot: read.slot };
}

function lamportChange({ lamports }: LandedTransaction, account: string): bigint {
  const change = lamports.get(account);
  return change === undefined ? 0n : change.after - change.before;
}

function tokenChange({ tokenChanges }: LandedTransaction, account: string): bigint {
  const change = tokenChanges.find((one) => one.account === account);
  return change === undefined ? 0n : change.after - change.before;
}
