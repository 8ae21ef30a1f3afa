import { TransactionError } from '../../errors.js';
import { decodeMessage } from '../../solana/transactions/transaction.js';
import { resolveInstructions } from '../../solana/transactions/resolve.js';
import type { Address, Instruction, LookupTable } from '../../solana/types.js';
import { isSwap } from './decoders.js';
import { type Floors, holds } from './guard.js';
import { guardsIn } from './guards-found.js';
import type { SwapExpectation } from './instruction-rules.js';
import { placed } from './placed-instructions.js';
import { feePayerOf, isRelayFee, relayFeeOf } from './relay.js';
import { brokenBy } from './rule.js';
import { shapeRules } from './shape.js';
import { surroundingsRules } from './surroundings.js';

/** What a transaction was composed from, and must say again when it is read. */
export interface Composition {
  readonly expected: SwapExpectation;
  /** The one instruction that is not ours. */
  readonly instruction: Instruction;
  readonly floors: Floors;
  readonly lookupTables: readonly LookupTable[];
  /** Lamports. */
  readonly maxPriorityFee: bigint;
}

/**
 * Reads what is about to be signed with none of the code that composed it, and throws
 * `self_check_failed` unless it is this swap, surrounded by nothing but what the firewall lets
 * pass, and closed by the guard.
 */
export function checkComposed(
  message: Uint8Array,
  { expected, instruction, floors, lookupTables, maxPriorityFee }: Composition,
): void {
  const decoded = decodeMessage(message);
  const instructions =
    decoded === undefined ? undefined : resolveInstructions(decoded, lookupTables);
  if (decoded === undefined || instructions === undefined) throw failed('it cannot be read');
  const { header, staticAccounts } = decoded;
  const signers = staticAccounts.slice(0, header.numRequiredSignatures);
  const meant = [...new Set([feePayerOf(expected), expected.wallet])];
  if (signers.join() !== meant.join())
    throw failed('the wallet is not its only signer, after what pays its fee');
  const swapAt = instructions.findIndex((one) => isSwap(expected.decoders, one, expected.wallet));
  const subject = { instructions, swapAt, expected, maxPriorityFee };
  const broken =
    brokenBy(shapeRules, { instructions, ...expected }) ?? brokenBy(surroundingsRules, subject);
  if (broken !== undefined) throw failed(`${broken.refuses} (rule ${broken.id})`);
  const fees = placed(subject).filter((one) => isRelayFee(one, expected));
  if (fees.length !== (relayFeeOf(expected) === undefined ? 0 : 1))
    throw failed('it does not pay the fee of the relayer once');
  const own = [expected.wallet, ...floors.tokens.map(({ account }) => account.address)];
  if (!isSame(instructions[swapAt], instruction, own))
    throw failed('its swap is not the one that was checked');
  if (!holds(guardsIn(subject), floors)) throw failed('it does not end in the guard');
}

/**
 * Program, data, accounts, and which of them may be written: what was not to be written has not
 * been looked at. The wallet's own accounts are written by our instructions too, and rights are a
 * matter of the whole message.
 */
function isSame(
  found: Instruction | undefined,
  meant: Instruction,
  own: readonly Address[],
): boolean {
  if (
    found === undefined ||
    found.program !== meant.program ||
    found.accounts.length !== meant.accounts.length
  )
    return false;
  if (
    found.data.length !== meant.data.length ||
    !found.data.every((byte, index) => byte === meant.data[index])
  )
    return false;
  const written = new Set([
    ...own,
    ...meant.accounts.filter(({ writable }) => writable).map(({ address }) => address),
  ]);
  return found.accounts.every(
    ({ address, writable }, index) =>
      address === meant.accounts[index]?.address && writable === written.has(address),
  );
}

function failed(reason: string): TransactionError<'self_check_failed'> {
  return new TransactionError(
    'self_check_failed',
    `The swap that was composed is not the one that was checked: ${reason}. Nothing was signed; report this.`,
    { details: { reason } },
  );
}
