import type { InferOutput } from 'valibot';
import type { Client } from '../../src/client.js';
import { isExactChangeError, type Funds } from '../../src/errors.js';
import { parseUrl } from '../../src/internal/parse.js';
import { receiptOf } from '../../src/receipt.js';
import {
  EARLIER_TEXT,
  earlierPayment,
  fundsOf,
  settledSoon,
  type Earlier,
} from '../receipts/outcome.js';
import { readAddress, whyNotPublic } from '../webhooks/addresses.js';
import { receiptData } from './data.js';
import { fenced } from './fence.js';
import { NO_ANSWER, refusal, type ToolError, type ToolResult } from './result.js';
import type { paidFetchInput, planInput } from './schemas.js';

/** Limits on the calls of a model, besides the policy of the client. */
export interface CallLimits {
  /** Characters of an answer that a model gets. */
  readonly maxAnswer: number;
  /** Whether hosts of this machine and of private networks may be called. */
  readonly privateHosts: boolean;
}

type Request = InferOutput<typeof planInput>;

/** Bytes of an answer that are read; the rest is left unread. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Milliseconds until the rest of a body is left unread: a seller may never end it. */
const MAX_BODY_MS = 120_000;

/**
 * Returns the refusal of a request that a model may not make, or that no fetch sends; undefined if
 * it may. Names are not looked up: it is the task of a firewall to stop a name that leads to a
 * private network.
 */
export function refusedRequest(input: Request, limits: CallLimits): ToolResult | undefined {
  const refused = refusedUrl(input.url, limits);
  if (refused !== undefined) return refused;
  try {
    void new globalThis.Request(input.url, requestOf(input));
  } catch {
    return refusal(
      'invalid_input',
      'method, headers and body make no request: GET and HEAD take no body, and a header takes no line break.',
    );
  }
  return undefined;
}

function refusedUrl(text: string, { privateHosts }: CallLimits): ToolResult | undefined {
  const url = parseUrl(text);
  if (url === undefined || !['https:', 'http:'].includes(url.protocol))
    return refusal('invalid_input', 'url must be an address such as https://api.example.com/.');
  if (url.username !== '' || url.password !== '')
    return refusal('invalid_input', 'url must hold no user and no password.');
  if (privateHosts || !isPrivate(url.hostname)) return undefined;
  return refusal(
    'address_refused',
    'Addresses of this machine and of private networks are not called. The person that set up these tools may allow them.',
  );
}

function isPrivate(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (readAddress(host) !== undefined) return whyNotPublic(host) !== undefined;
  return /(^|\.)(localhost|local|internal|home\.arpa|lan)$/i.test(host) || !host.includes('.');
}

/** Returns the request of a model. It follows no redirect, because a seller chose that address. */
export function requestOf({ method, headers, body }: Request) {
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    redirect: 'manual' as const,
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
  };
}

/** Calls an address, and pays for it. Rejects with the errors of `client.fetch`. */
export async function paidFetch(
  client: Pick<Client, 'fetch' | 'receipts'>,
  input: InferOutput<typeof paidFetchInput>,
  limits: CallLimits,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const { idempotencyKey } = input;
  const request = requestOf(input);
  const findEarlier = () => earlierPayment(client, input.url, request.method);
  let response: Response;
  try {
    response = await client.fetch(input.url, {
      ...request,
      ...(signal === undefined ? {} : { signal }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
  } catch (error) {
    if (signal?.aborted === true || isExactChangeError(error)) throw error;
    const earlier = await findEarlier();
    if (earlier === undefined) throw error;
    return { ok: false, funds: earlier, error: failedAfter(earlier, NO_ANSWER, input) };
  }
  // Wait before the body is read: from then on the answer counts as delivered, and the model may
  // ask for it again, and pay again, if the wait is cut off.
  await settledSoon(response, signal);
  const body = await readBody(response, limits.maxAnswer);
  const receipt = receiptOf(response);
  const { host } = new URL(input.url);
  const location = response.headers.get('location');
  const reason =
    body.end === 'whole'
      ? `The seller answered with status ${response.status}.`
      : `The answer of the seller ${body.end}.`;
  const ok = response.ok && body.end === 'whole';
  const earlier = ok || receipt !== undefined ? undefined : await findEarlier();
  const funds = earlier ?? fundsOf(receipt);
  const error =
    earlier === undefined ? requestFailed(reason, funds) : failedAfter(earlier, reason, input);
  return {
    ok,
    funds,
    data: {
      ...{ status: response.status, host, bodyBytes: body.bytes },
      ...(receipt === undefined ? {} : { receipt: receiptData(receipt) }),
    },
    ...(ok ? {} : { error }),
    untrusted: fenced(
      host,
      `${location === null ? '' : `location: ${location}\n`}${body.text}`,
      limits.maxAnswer,
    ),
    ...(receipt === undefined ? {} : { receipt }),
  };
}

const WHAT_LEFT: Readonly<Record<Funds, string>> = {
  untouched: 'Nothing was paid.',
  swapped: 'Tokens were swapped, and nothing was paid.',
  uncertain: 'What was signed for it may still land.',
  spent: 'It was paid.',
};

/** @param reason - A sentence that says why the answer is no success. */
function requestFailed(reason: string, funds: Funds): ToolError {
  return { code: 'request_failed', message: `${reason} ${WHAT_LEFT[funds]}`, retry: 'never' };
}

/** As {@link requestFailed}, for a call after an {@link Earlier} call to the same address. */
function failedAfter(earlier: Earlier, reason: string, { body }: Request): ToolError {
  const message = `${reason} ${EARLIER_TEXT[earlier]} See receipts before you buy elsewhere.`;
  // With a body, the earlier call may have been another purchase, and this one may be wrong.
  return { code: 'request_failed', message, retry: body === undefined ? 'same' : 'never' };
}

/** The beginning of a body. */
interface BodyRead {
  readonly text: string;
  /** Number of bytes that were read. */
  readonly bytes: number;
  readonly end: 'whole' | 'broke off' | 'is too long to be read to its end';
}

/** Reads a body to its end, so that it counts as delivered, and keeps its beginning. */
async function readBody({ body, headers }: Response, limit: number): Promise<BodyRead> {
  const kept: Uint8Array[] = [];
  let [bytes, keptBytes, isCut] = [0, 0, false];
  const reader = body?.getReader();
  const cut = () => {
    isCut = true;
    reader?.cancel().catch(() => undefined);
  };
  const timer = setTimeout(cut, MAX_BODY_MS);
  const read = async (): Promise<void> => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      bytes += part.value.length;
      if (bytes > MAX_BYTES) return cut();
      // A character of UTF-8 has at most four bytes.
      if (keptBytes <= 4 * limit) kept.push(part.value);
      keptBytes += part.value.length;
    }
  };
  // Do not reject if the body breaks off, because the payment has left all the same.
  const end = await read().then(
    () => (isCut ? 'is too long to be read to its end' : 'whole'),
    () => 'broke off' as const,
  );
  clearTimeout(timer);
  const isText = /^(text\/|application\/([\w.+-]*\+)?(json|xml|x-www-form-urlencoded|javascript))/i;
  const type = headers.get('content-type') ?? 'text/plain';
  if (!isText.test(type)) return { text: `[${bytes} bytes that are no text]`, bytes, end };
  return { text: await new Blob(kept as BlobPart[]).text(), bytes, end };
}
