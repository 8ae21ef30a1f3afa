import { maxAmount } from '../../amount.js';
import type { Known } from '../../journal/account-balance.js';
import type { SignedSwap } from '../../journal/types.js';
import { WSOL_MINT } from '../../network.js';
import type { Receipt } from '../../receipt.js';
import type { LandedTransaction } from '../../solana/rpc/rpc.js';
import { decodeTokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { SwapOutlook } from '../../swaps/transaction/prepare.js';
import type { PaymentContext } from '../context.js';

// A node may report a transaction as confirmed a moment before it can return the transaction.
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
    // The wallet never signs a version above 0.
    if (landed !== null && landed !== 'newer') return landed;
    await runtime.sleep(WAIT_MS);
  }
  return undefined;
}

type Sent = Pick<SignedSwap, 'inputMint' | 'outputMint' | 'source' | 'output' | 'relay'>;

/** Returns the network fee that the wallet paid: zero if a relayer paid it. */
export function ownFee(
  { feeLamports }: LandedTransaction,
  { relay }: Pick<SignedSwap, 'relay'>,
): bigint {
  return relay === undefined ? feeLamports : 0n;
}

export function swapRecordOf(
  {
    signature,
    inputMint,
    outputMint,
    provider,
    relay,
  }: Pick<SignedSwap, 'signature' | 'inputMint' | 'outputMint' | 'provider' | 'relay'>,
  { inAmount, outAmount }: Record<'inAmount' | 'outAmount', bigint | string>,
): NonNullable<Receipt['swap']> {
  return {
    signature,
    ...{ inputMint, inAmount: `${inAmount}`, outputMint, outAmount: `${outAmount}`, provider },
    ...(relay === undefined
      ? {}
      : { relayFee: Object.freeze({ mint: relay.mint, amount: relay.fee }) }),
  };
}

export function swapAmountsOf(
  landed: LandedTransaction,
  wallet: string,
  swap: Sent,
): Record<'inAmount' | 'outAmount', bigint> {
  const { inputMint, outputMint, source, output, relay } = swap;
  // Sum the lamports of all own accounts: rent moves between them and cancels out, swapped SOL does
  // not.
  const lamports = [...new Set([wallet, source, output])].reduce(
    (sum, account) => sum + lamportChange(landed, account),
    ownFee(landed, swap),
  );
  return {
    inAmount: inputMint === WSOL_MINT ? -lamports : -tokenChange(landed, source),
    // Rent that a relayer paid came with no swap.
    outAmount:
      outputMint === WSOL_MINT
        ? lamports - (relay === undefined ? 0n : rentKept(landed, wallet, swap))
        : tokenChange(landed, output),
  };
}

/** Returns the token accounts of a swap, with their mints. */
function tokenAccountsOf(
  { inputMint, outputMint, source, output }: Sent,
  wallet: string,
): ReadonlyMap<string, string> {
  const mints = new Map([
    [source, inputMint],
    [output, outputMint],
  ]);
  mints.delete(wallet);
  return mints;
}

/** Sums the lamports of a swap's token accounts that are not wrapped SOL. */
function rentKept(landed: LandedTransaction, wallet: string, swap: Sent): bigint {
  return [...tokenAccountsOf(swap, wallet)].reduce((sum, [account, mint]) => {
    const wrapped = mint === WSOL_MINT ? tokenChange(landed, account) : 0n;
    return sum + lamportChange(landed, account) - wrapped;
  }, 0n);
}

/**
 * Returns the rent of the wallet's token accounts that a landed swap created and did not close.
 * Undefined if the node's numbers contradict each other: wrong numbers must not lower the costs that
 * caps count.
 */
export function rentIn(landed: LandedTransaction, wallet: string, swap: Sent): bigint | undefined {
  const { inputMint, outputMint, relay } = swap;
  const mints = tokenAccountsOf(swap, wallet);
  if (landed.error !== null || !isWhole(landed)) return undefined;
  if (![...mints].every(([account, mint]) => isMintWhole(landed, account, mint))) return undefined;
  const rent = rentKept(landed, wallet, swap);
  // If no SOL is swapped, the wallet loses only fee and rent, whichever account got the rent.
  const swapsSol = inputMint === WSOL_MINT || outputMint === WSOL_MINT;
  const rentLost = swapsSol ? 0n : -lamportChange(landed, wallet) - ownFee(landed, swap);
  return maxAmount(0n, maxAmount(relay === undefined ? rent : 0n, rentLost));
}

/**
 * Returns the fee of a transaction that landed and failed. Undefined if the node's numbers show
 * more than the fee, because a failed transaction takes nothing else.
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

/** Returns whether lamports add up to the fee: a single wrong number makes the sum differ. */
function isWhole({ lamports, feeLamports }: LandedTransaction): boolean {
  return (
    [...lamports.values()].reduce((sum, { before, after }) => sum + before - after, 0n) ===
    feeLamports
  );
}

/**
 * Returns whether the changes of a mint add up to zero over all accounts. For wrapped SOL, it
 * suffices that the account's token change equals its lamport change.
 */
function isMintWhole(landed: LandedTransaction, account: string, mint: string): boolean {
  const sum = landed.tokenChanges.reduce(
    (total, change) => (change.mint === mint ? total + change.after - change.before : total),
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
 * Remembers the balances of a landed swap's accounts.
 *
 * @param busy - The accounts that payments could leave from since the swap was sent.
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
    const change = landed.tokenChanges.find((candidate) => candidate.account === account);
    const shown = change && { amount: change.after, at, slot: landed.slot };
    const known = busy.has(account) ? await readSince(context, account, landed.slot) : shown;
    // Without a balance here, the next payment reads it.
    if (change === undefined || known === undefined) await ledger.forget(account);
    else await ledger.see(account, known, change.after - change.before);
  }
}

/**
 * Remembers the balance of an account after a slot. If no node gives it, remembers the least
 * balance that the guard of the slot's swap has proved. A node that is behind would show less
 * later, and would cause a second swap.
 */
export async function rememberSince(
  context: PaymentContext,
  account: Address,
  slot: number,
  least: bigint,
): Promise<void> {
  const known = await readSince(context, account, slot);
  const { ledger, config } = context;
  await ledger.see(account, known ?? { amount: least, at: config.runtime.now() });
}

/**
 * Corrects the known balances of the accounts of a decided swap that another call signed.
 *
 * The balance of the output is read after `slot`, not forgotten: the swap's own call may have noted
 * it, and payments may have left since. If a reading follows no known balance, the holds of these
 * payments subtract them a second time.
 */
export async function readAfter(
  context: PaymentContext,
  { source, output }: Pick<SignedSwap, 'source' | 'output'>,
  slot = 0,
): Promise<void> {
  const { ledger } = context;
  await ledger.forget(source);
  const known = await readSince(context, output, slot);
  await (known === undefined ? ledger.forget(output) : ledger.see(output, known));
}

/** Forgets the balances of a swap's accounts, because the swap may have changed them. */
export function forgetAccounts(
  context: PaymentContext,
  { source, output }: Pick<SignedSwap, 'source' | 'output'>,
): Promise<void> {
  context.wallet.outdated.add(source).add(output);
  return forgetOutdated(context);
}

/** Forgets the balances that {@link forgetAccounts} could not forget. */
export async function forgetOutdated({ ledger, wallet }: PaymentContext): Promise<void> {
  const forget = async (account: string) => {
    await ledger.forget(account);
    wallet.outdated.delete(account);
  };
  await Promise.all([...wallet.outdated].map(forget));
}

/**
 * Reads an account's balance at the end of a slot or later; undefined if no node gives it. If a
 * payment left in the slot of the swap, that slot does not tell which of both came first, so the
 * swap's own numbers may lack the payment.
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
  const { before = 0n, after = 0n } = lamports.get(account) ?? {};
  return after - before;
}

function tokenChange({ tokenChanges }: LandedTransaction, account: string): bigint {
  const change = tokenChanges.find((candidate) => candidate.account === account);
  const { before = 0n, after = 0n } = change ?? {};
  return after - before;
}
