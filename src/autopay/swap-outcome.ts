import { TransactionError, type ErrorDetails } from '../errors.js';
import { WSOL_MINT } from '../network.js';
import type { LandedTransaction } from '../solana/rpc.js';
import type { SwapOutlook } from '../swap/prepare.js';
import type { Core } from './core.js';

/** What a landed swap took and brought, in base units. */
export interface Outcome {
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  readonly feeLamports: bigint;
}

// A node may show a transaction as confirmed a moment before it can give it.
const TRIES = 10;
const WAIT_MS = 200;

/** Reads the landed swap; undefined where the node does not give it. */
export async function readLanded(core: Core, signature: string): Promise<LandedTransaction | undefined> {
  const { runtime } = core.config;
  for (let tries = 0; tries < TRIES && !core.closing.signal.aborted; tries++) {
    const landed = await core.rpc.transaction(signature).catch(() => null);
    // A version above 0 is never ours.
    if (landed !== null && landed !== 'newer') return landed;
    await runtime.sleep(WAIT_MS);
  }
  return undefined;
}

/** The error of a swap that landed and failed; `cause` is what ended the try after it, where that never landed. */
export function swapFailed(details: ErrorDetails['swap_failed'], cause?: unknown): TransactionError<'swap_failed'> {
  const again = cause === undefined ? '' : ', and a second try came to nothing: see cause';
  const message = `The swap landed and failed, so only ${details.feeLamports} lamports of network fee are gone${again}. Try again.`;
  return new TransactionError('swap_failed', message, { details, ...(cause === undefined ? {} : { cause }) });
}

/** What the landed transaction moved on the wallet's own accounts. */
export function outcomeOf(
  landed: LandedTransaction,
  wallet: string,
  { inputMint, outputMint, source, output }: Pick<SwapOutlook, 'inputMint' | 'outputMint' | 'source' | 'output'>,
): Outcome {
  const { feeLamports } = landed;
  // Lamports on all own accounts together: rent moves between them and cancels out, what SOL was swapped does not.
  const lamports = [...new Set([wallet, source, output])].reduce((sum, account) => sum + lamportChange(landed, account), feeLamports);
  return {
    inAmount: inputMint === WSOL_MINT ? -lamports : -tokenChange(landed, source),
    outAmount: outputMint === WSOL_MINT ? lamports : tokenChange(landed, output),
    feeLamports,
  };
}

/** Rent of own token accounts that a landed swap made and that stay: lamports on them that are no wrapped SOL. */
export function rentIn(
  landed: LandedTransaction,
  wallet: string,
  { inputMint, outputMint, source, output }: Pick<SwapOutlook, 'inputMint' | 'outputMint' | 'source' | 'output'>,
): bigint {
  const mints = new Map([
    [source, inputMint],
    [output, outputMint],
  ]);
  mints.delete(wallet);
  const rent = [...mints].reduce((sum, [account, mint]) => {
    const wrapped = mint === WSOL_MINT ? tokenChange(landed, account) : 0n;
    return sum + lamportChange(landed, account) - wrapped;
  }, 0n);
  return rent > 0n ? rent : 0n;
}

/** Remembers what own accounts hold after it. */
export async function rememberAfter(core: Core, landed: LandedTransaction, { source, output }: SwapOutlook): Promise<void> {
  const { ledger } = core;
  const at = core.config.runtime.now();
  for (const account of [source, output]) {
    const change = landed.tokenChanges.find((one) => one.account === account);
    if (change === undefined) await ledger.forget(account);
    else await ledger.see(account, { amount: change.after, at, slot: landed.slot }, change.after - change.before);
  }
}

function lamportChange({ lamports }: LandedTransaction, account: string): bigint {
  const change = lamports.get(account);
  return change === undefined ? 0n : change.after - change.before;
}

function tokenChange({ tokenChanges }: LandedTransaction, account: string): bigint {
  const change = tokenChanges.find((one) => one.account === account);
  return change === undefined ? 0n : change.after - change.before;
}
