import { base64 } from '../../internal/bytes.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import { redact } from '../../internal/redact.js';
import { isAddress } from '../address.js';
import type { Address } from '../types.js';
import { Fault } from './fault.js';
import type { Account, CallOptions, Commitment, SignatureStatus } from './rpc.js';

export function misshapen(): Fault {
  return new Fault('invalid', 'it does not have the shape of an answer to this question');
}

/** Returns a function that returns values of one shape, and throws for any other value. */
const readAs =
  <T>(is: (value: unknown) => value is T) =>
  (value: unknown): T => {
    if (is(value)) return value;
    throw misshapen();
  };
const listOf =
  <T>(is: (value: unknown) => value is T) =>
  (value: unknown): value is readonly T[] =>
    Array.isArray(value) && value.every(is);

export const asFields = readAs<UnknownRecord>(isRecord);
export const asList = readAs((value): value is readonly unknown[] => Array.isArray(value));
export const asRecords = readAs(listOf<UnknownRecord>(isRecord));
export const asAddresses = readAs(listOf<Address>(isAddress));
export const asText = readAs((value): value is string => typeof value === 'string');
export const asFlag = readAs((value): value is boolean => typeof value === 'boolean');
export const asAddress = readAs<Address>(isAddress);

/** Reads a value, or returns null if it is null or missing: nodes leave out absent values. */
export function orNull<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === null || value === undefined ? null : read(value);
}

/** Reads a list with one entry for each item of the request. */
export function asAnswers(
  value: unknown,
  items: readonly unknown[],
  kind: string,
): readonly unknown[] {
  const list = asList(value);
  if (list.length === items.length) return list;
  throw new Fault('invalid', `it has not as many ${kind} as were asked for`);
}

/**
 * Reads a count, a slot or an amount of lamports. JSON numbers are inexact above 2^53, so a larger
 * number is refused and not rounded.
 */
export function safeInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Fault('invalid', 'a number in it is not within 0 and 2^53');
}

/** Reads the slot of a reply and checks the minimum, because some nodes and proxies ignore it. */
export function readSlot(value: unknown, call: CallOptions | undefined): number {
  const slot = safeInteger(value);
  if (slot < (call?.minContextSlot ?? 0))
    throw new Fault('unavailable', 'it lags behind the slot that is needed');
  return slot;
}

/** Reads a reply that has its slot in `context`. */
export function readContext(
  result: unknown,
  call: CallOptions | undefined,
): { readonly slot: number; readonly value: unknown } {
  const { context, value } = asFields(result);
  return { slot: readSlot(asFields(context)['slot'], call), value };
}

/**
 * Longest text of a transaction error: longer than any honest error, as a node may send megabytes.
 */
const LONGEST_ERROR = 1_000;

/** Returns the error of a transaction as text to show; null if the transaction succeeded. */
export function errorText(error: unknown): string | null {
  const text = errorJson(error);
  return text === null ? null : redact(text).slice(0, LONGEST_ERROR);
}

/** Returns the error as text for rules: redaction could hide a part of its words. */
export function rawErrorText(error: unknown): string | null {
  return errorJson(error)?.slice(0, LONGEST_ERROR) ?? null;
}

/** A reply without the field `err` does not prove success, so it is refused. */
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
  const commitment = COMMITMENTS.find((known) => known === named);
  if (commitment === undefined) throw misshapen();
  return { slot: safeInteger(slot), commitment, error: errorText(err) };
}

/**
 * Infers the commitment for old nodes: they only count confirmations, and send null once it is
 * final.
 */
function countedAs(confirmations: unknown): Commitment {
  if (confirmations === null) return 'finalized';
  safeInteger(confirmations);
  return 'processed';
}
