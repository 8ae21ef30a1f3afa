import { isExactChangeError, type ErrorCode, type Funds, type Retry } from '../../src/errors.js';
import { isRecord } from '../../src/internal/record.js';
import type { Receipt } from '../../src/receipt.js';

/** The result of a tool, whether it worked or not. Only `untrusted` has text of a seller. */
export interface ToolResult {
  readonly ok: boolean;
  /** What happened to the money. */
  readonly funds: Funds;
  /** JSON-safe, without text of a seller or a service. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: ToolError;
  /** Text of a seller or a service, marked as data. */
  readonly untrusted?: string;
  /** Receipt of the payment, for the program: a model only needs its part in `data`. */
  readonly receipt?: Receipt;
}

export interface ToolError {
  /** A code of the library, or `invalid_input`, `address_refused`, `request_failed`. */
  readonly code: ErrorCode | 'invalid_input' | 'address_refused' | 'request_failed';
  /** Says what is wrong and what to do, without text of a seller or a service. */
  readonly message: string;
  /** As on errors of the library. */
  readonly retry: Retry;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Puts untrusted text between marks. */
export type Fence = (text: string) => string;

/** Returns the result of a tool that refused its input, or failed without a payment. */
export function refusal(code: ToolError['code'], message: string): ToolResult {
  return { ok: false, funds: 'untouched', error: { code, message, retry: 'never' } };
}

/** Returns the result of an aborted tool call: what the client had signed by then is unknown. */
export function abortedResult(): ToolResult {
  const message =
    'The call was ended before its answer was there. What was signed for it by then may still land: look at receipts, balance and budget before it is made again.';
  const error: ToolError = { code: 'request_failed', message, retry: 'never' };
  return { ok: false, funds: 'uncertain', error };
}

/** Why a request without an answer failed. */
export const NO_ANSWER =
  'The request failed: the address is wrong, or its server cannot be reached.';

/**
 * Turns an error into the result of a tool. Only errors of the library are shown, because other
 * errors may quote a server. No model reads the answer of an error, so its body is cancelled.
 */
export function failure(error: unknown, fence: Fence): ToolResult {
  if (!isExactChangeError(error))
    return refusal('request_failed', `${NO_ANSWER} Nothing was paid for it.`);
  const { code, message, funds, retry, details } = error;
  cancel(error.response).catch(() => undefined);
  const texts = [...textsIn(error.untrusted, true), ...textsIn(details)];
  return {
    ok: false,
    funds,
    error: { code, message, retry, details: withoutUntrusted(details) },
    ...(texts.length === 0 ? {} : { untrusted: fence(texts.join('\n')) }),
  };
}

/** As `dropBody`, which would come into a file of its own that each client loads first. */
async function cancel(response: Response | undefined): Promise<void> {
  await response?.body?.cancel();
}

/** Returns an object without its `untrusted` fields, at any depth. */
export function withoutUntrusted(value: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'untrusted')
      .map(([name, inner]) => [name, ownValue(inner)]),
  );
}

function ownValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ownValue);
  return isRecord(value) ? withoutUntrusted(value) : value;
}

/** Returns the text in all `untrusted` fields of an object, at any depth. */
function textsIn(value: unknown, isUntrusted = false): string[] {
  if (typeof value === 'string') return isUntrusted ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((inner) => textsIn(inner, isUntrusted));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    textsIn(inner, isUntrusted || name === 'untrusted'),
  );
}

/** Writes a result as text, for models that take only text. */
export function toText({ receipt: _receipt, untrusted, ...result }: ToolResult): string {
  const json = JSON.stringify(result);
  return untrusted === undefined ? json : `${json}\n${untrusted}`;
}
