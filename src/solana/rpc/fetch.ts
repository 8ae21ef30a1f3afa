import { asOwn } from '../../internal/own-request.js';
import { isRecord } from '../../internal/record.js';
import { Fault, jsonRpcFault } from './fault.js';

/**
 * The fetch that a web3.js Connection gets: bound to one attempt's signal, and it answers only with
 * a JSON-RPC result. All else throws a {@link Fault} before web3.js sees it, because web3.js prints
 * some errors, hides others (rent becomes 0) and waits for ever on a rejection that is no `Error`.
 */
export function rpcFetch(given: typeof fetch | undefined, signal: AbortSignal): typeof fetch {
  return async (input, init) => {
    const response = await request(given, input, asOwn({ ...init, signal }));
    const text = await readText(response);
    if (response.status === 429 || !response.ok) throw statusFault(response);
    const reply = parseObject(text);
    const question = parseObject(typeof init?.body === 'string' ? init.body : '');
    if (reply === undefined) throw new Fault('invalid', 'it is not a JSON object');
    if (reply['error'] !== undefined && reply['error'] !== null) throw errorFault(reply['error']);
    if (reply['id'] !== question?.['id']) throw new Fault('invalid', 'it answers another question');
    return new Response(text);
  };
}

async function request(
  given: typeof fetch | undefined,
  input: RequestInfo | URL,
  init: RequestInit,
): Promise<Response> {
  try {
    // Looked up for each call: it may be set later, or replaced in tests.
    return await (given === undefined ? globalThis.fetch(input, init) : given(input, init));
  } catch (cause) {
    throw new Fault('unavailable', 'the connection failed', { cause });
  }
}

/**
 * Far more than any swap's accounts or any wallet's tokens: a foreign transaction may name a
 * hundred accounts of 10 MB each.
 */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Reads a body that is not wanted too, so that the socket can be used again; unless it is larger
 * than any honest answer.
 */
async function readText(response: Response): Promise<string> {
  const reader = await unbroken(() => response.body?.getReader());
  if (reader === undefined) return unbroken(() => response.text());
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await unbroken(() => reader.read());
    if (done) return parts.join('') + decoder.decode();
    length += value.length;
    if (length > MAX_BODY_BYTES) {
      reader.cancel().catch(() => undefined);
      // No other node has a shorter one.
      throw new Fault('refused', `its answer is longer than ${MAX_BODY_BYTES} bytes`);
    }
    parts.push(decoder.decode(value, { stream: true }));
  }
}

async function unbroken<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new Fault('unavailable', 'the connection broke off', { cause });
  }
}

function statusFault({ status, headers }: Response): Fault {
  const retryAfterMs = readRetryAfter(headers.get('retry-after'));
  const kind = status === 429 ? 'rate_limited' : 'unavailable';
  return new Fault(kind, `it answered with status ${status}`, { retryAfterMs });
}

function errorFault(error: unknown): Fault {
  const { code, message } = isRecord(error) ? error : {};
  if (typeof code !== 'number' || !Number.isSafeInteger(code))
    return new Fault('invalid', 'it is an error without a code');
  return jsonRpcFault(code, typeof message === 'string' ? message : undefined);
}

/** Seconds or a date. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^[0-9]{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
