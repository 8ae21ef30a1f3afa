import { TransactionError } from '../../errors.js';
import { isSameList } from '../../internal/bytes.js';
import { decodeMessage } from '../../solana/transactions/transaction.js';
import { resolveInstructions } from '../../solana/transactions/resolve.js';
import type { Address, Instruction, LookupTable } from '../../solana/types.js';
import { isSwap } from './decoders.js';
import { type Floors, guardsHold } from './guard.js';
import { guardsIn } from './guards-found.js';
import type { SwapExpectation } from './swap-rules.js';
import { placed } from './placed-instructions.js';
import { feePayerOf, isRelayFee, relayFeeOf } from './relay.js';
import { brokenBy } from './rule.js';
import { shapeRules } from './shape.js';
import { surroundingsRules } from './surroundings.js';

/** The parts of a composed transaction, which its message must show again when it is read. */
export interface Composition {
  readonly expected: SwapExpectation;
  /** The swap, which is the only instruction that is not ours. */
  readonly instruction: Instruction;
  readonly floors: Floors;
  readonly lookupTables: readonly LookupTable[];
  /** Lamports. */
  readonly maxPriorityFee: bigint;
}

/**
 * Reads a message that is about to be signed, with none of the code that composed it. Throws
 * `self_check_failed` unless it has this swap and ends in the guard. All other instructions must
 * pass the firewall.
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
  const expectedSigners = [...new Set([feePayerOf(expected), expected.wallet])];
  if (signers.join() !== expectedSigners.join())
    throw failed('the wallet is not its only signer, after what pays its fee');
  const swapAt = instructions.findIndex((candidate) =>
    isSwap(expected.decoders, candidate, expected.wallet),
  );
  const subject = { instructions, swapAt, expected, maxPriorityFee };
  const broken =
    brokenBy(shapeRules, { instructions, ...expected }) ?? brokenBy(surroundingsRules, subject);
  if (broken !== undefined) throw failed(`${broken.refuses} (rule ${broken.id})`);
  const fees = placed(subject).filter((step) => isRelayFee(step, expected));
  if (fees.length !== (relayFeeOf(expected) === undefined ? 0 : 1))
    throw failed('it does not pay the fee of the relayer once');
  const own = [expected.wallet, ...floors.tokens.map(({ account }) => account.address)];
  if (!isSame(instructions[swapAt], instruction, own))
    throw failed('its swap is not the one that was checked');
  if (!guardsHold(guardsIn(subject), floors)) throw failed('it does not end in the guard');
}

/**
 * Whether two swaps have the same program, data, accounts and writable accounts. An account that
 * was read-only when it was checked must stay read-only. The wallet's `own` accounts count as
 * writable: a message has one right per account, and our instructions write to these accounts.
 */
function isSame(
  found: Instruction | undefined,
  checked: Instruction,
  own: readonly Address[],
): boolean {
  if (
    found === undefined ||
    found.program !== checked.program ||
    found.accounts.length !== checked.accounts.length ||
    !isSameList(found.data, checked.data)
  )
    return false;
  const writableAddresses = new Set([
    ...own,
    ...checked.accounts.filter(({ writable }) => writable).map(({ address }) => address),
  ]);
  return found.accounts.every(
    ({ address, writable }, index) =>
      address === checked.accounts[index]?.address && writable === writableAddresses.has(address),
  );
}

function failed(reason: string): TransactionError<'self_check_failed'> {
  return new TransactionError(
    'self_check_failed',
    `The swap that was composed is not the one that was checked: ${reason}. Nothing was signed; report this.`,
    { details: { reason } },
  );
}
