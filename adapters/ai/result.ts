import { isExactChangeError, type ErrorCode, type Funds, type Retry } from '../../src/errors.js';
import { isRecord } from '../../src/internal/record.js';
import type { Receipt } from '../../src/receipt.js';

/** What a tool answers, whether it worked or not. Only `untrusted` has text of others. */
export interface ToolResult {
  readonly ok: boolean;
  /** What happened to the money. */
  readonly funds: Funds;
  /** JSON-safe, and all ours. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: ToolError;
  /** Text of a seller or a service, marked as data. */
  readonly untrusted?: string;
  /** Of what was paid; for the program, a model needs no more than `data` has of it. */
  readonly receipt?: Receipt;
}

export interface ToolError {
  /** That of the library, or `invalid_input`, `address_refused`, `request_failed`. */
  readonly code: ErrorCode | 'invalid_input' | 'address_refused' | 'request_failed';
  /** What is wrong and what to do, in our words. */
  readonly message: string;
  /** As on errors of the library. */
  readonly retry: Retry;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Puts text of others between marks. */
export type Fence = (text: string) => string;

/** The answer of a tool that did not do what it was asked. */
export function refusal(code: ToolError['code'], message: string): ToolResult {
  return { ok: false, funds: 'untouched', error: { code, message, retry: 'never' } };
}

/** The answer of a tool that its caller ended: what its client had signed by then is not known. */
export function ended(): ToolResult {
  const message =
    'The call was ended before its answer was there. What was signed for it by then may still land: look at receipts, balance and budget before it is made again.';
  const error: ToolError = { code: 'request_failed', message, retry: 'never' };
  return { ok: false, funds: 'uncertain', error };
}

/** A failure as the answer of a tool. An error that is none of ours may quote a server: it is not shown. */
export function failure(error: unknown, fence: Fence): ToolResult {
  if (!isExactChangeError(error)) {
    const message =
      'The request failed: the address is wrong, or its server cannot be reached. Nothing was paid for it.';
    return refusal('request_failed', message);
  }
  const { code, message, funds, retry, details } = error;
  const texts = [...textsIn(error.untrusted, true), ...textsIn(details)];
  return {
    ok: false,
    funds,
    error: { code, message, retry, details: own(details) },
    ...(texts.length === 0 ? {} : { untrusted: fence(texts.join('\n')) }),
  };
}

/** An object without what others say in it. */
export function own(value: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'untrusted')
      .map(([name, inner]) => [name, ownValue(inner)]),
  );
}

function ownValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ownValue);
  return isRecord(value) ? own(value) : value;
}

/** The text that others say in an object: all of `untrusted`, at any depth. */
function textsIn(value: unknown, isUntrusted = false): string[] {
  if (typeof value === 'string') return isUntrusted ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((one) => textsIn(one, isUntrusted));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    textsIn(inner, isUntrusted || name === 'untrusted'),
  );
}

/** An answer as text, for models that take nothing else. */
export function toText({ receipt: _receipt, untrusted, ...result }: ToolResult): string {
  const json = JSON.stringify(result);
  return untrusted === undefined ? json : `${json}\n${untrusted}`;
}
