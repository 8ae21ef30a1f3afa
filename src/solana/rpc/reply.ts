import { base64 } from '../../internal/bytes.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import { redact } from '../../internal/redact.js';
import { isAddress } from '../address.js';
import type { Address } from '../types.js';
import { Fault } from './fault.js';
import type { Account, CallOptions, Commitment, SignatureStatus } from './rpc.js';

/** An answer that cannot be one to its question. */
export function misshapen(): Fault {
  return new Fault('invalid', 'it does not have the shape of an answer to this question');
}

export function asFields(value: unknown): UnknownRecord {
  if (isRecord(value)) return value;
  throw misshapen();
}

export function asList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw misshapen();
}

/** A list of objects, checked at once: some have hundreds. */
export function asRecords(value: unknown): readonly UnknownRecord[] {
  const list = asList(value);
  if (list.every(isRecord)) return list;
  throw misshapen();
}

export function asAddresses(value: unknown): readonly Address[] {
  const list = asList(value);
  if (list.every(isAddress)) return list;
  throw misshapen();
}

export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw misshapen();
}

export function asFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw misshapen();
}

export function asAddress(value: unknown): Address {
  if (isAddress(value)) return value;
  throw misshapen();
}

/** What is there, or null: nodes also leave out what they do not have. */
export function orNull<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === null || value === undefined ? null : read(value);
}

/** A list with one entry for each thing that was asked for. */
export function asAnswers(
  value: unknown,
  asked: readonly unknown[],
  kind: string,
): readonly unknown[] {
  const list = asList(value);
  if (list.length === asked.length) return list;
  throw new Fault('invalid', `it has not as many ${kind} as were asked for`);
}

/**
 * A count, slot or amount of lamports. JSON numbers are wrong above 2^53: such an answer is refused
 * instead of rounded.
 */
export function safeInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Fault('invalid', 'a number in it is not within 0 and 2^53');
}

/** The slot that an answer is of. Not each node and proxy minds the least that it is told. */
export function readSlot(value: unknown, call: CallOptions | undefined): number {
  const slot = safeInteger(value);
  if (slot < (call?.minContextSlot ?? 0))
    throw new Fault('unavailable', 'it lags behind the slot that is needed');
  return slot;
}

/** An answer that says which slot it is of. */
export function readContext(
  result: unknown,
  call: CallOptions | undefined,
): { readonly slot: number; readonly value: unknown } {
  const { context, value } = asFields(result);
  return { slot: readSlot(asFields(context)['slot'], call), value };
}

/** More than any error of a transaction has: a node may answer with megabytes. */
const LONGEST_ERROR = 1_000;

/** Why a transaction failed, as the node words it: what is shown of it. Null if it went well. */
export function errorText(error: unknown): string | null {
  const text = errorJson(error);
  return text === null ? null : redact(text).slice(0, LONGEST_ERROR);
}

/** The same to be judged: a secret of ours may be a part of its words. */
export function rawErrorText(error: unknown): string | null {
  return errorJson(error)?.slice(0, LONGEST_ERROR) ?? null;
}

/** An answer that says nothing of an error does not say that there was none. */
function errorJson(error: unknown): string | null {
  if (error === undefined) throw misshapen();
  return error === null ? null : JSON.stringify(error);
}

export function readAccount(account: unknown): Account {
  const { owner, lamports, data, executable } = asFields(account);
  const [text, encoding] = asList(data);
  if (encoding !== 'base64') throw misshapen();
  return {
    owner: asAddress(owner),
    lamports: BigInt(safeInteger(lamports)),
    data: base64.decode(asText(text)),
    executable: asFlag(executable),
  };
}

const COMMITMENTS: readonly Commitment[] = ['processed', 'confirmed', 'finalized'];

export function readStatus(status: unknown): SignatureStatus {
  const { slot, confirmations, err, confirmationStatus } = asFields(status);
  const named = confirmationStatus ?? countedAs(confirmations);
  const commitment = COMMITMENTS.find((one) => one === named);
  if (commitment === undefined) throw misshapen();
  return { slot: safeInteger(slot), commitment, error: errorText(err) };
}

/** Old nodes do not name the commitment; they count confirmations, and stop once it is final. */
function countedAs(confirmations: unknown): Commitment {
  if (confirmations === null) return 'finalized';
  safeInteger(confirmations);
  return 'processed';
}
