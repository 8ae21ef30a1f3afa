import type { ClientConfig } from '../config/options.js';
import { isExactChangeError } from '../errors.js';
import { askedWait, MAX_WAIT_MS, withJitter } from '../internal/backoff.js';
import { dropBody } from '../internal/drop-body.js';
import { isObject } from '../internal/record.js';
import type { Call } from '../internal/request.js';

const FIRST_WAIT_MS = 250;

/**
 * Sends a call as its caller made it. Sends a GET or HEAD without a payment header again after a
 * 503 or a lost connection: nothing has left that could be spent twice. An abort that is not the
 * caller's counts as a lost connection. A 503 that asks for a wait over `MAX_WAIT_MS` is returned.
 */
export async function sendUnpaid(
  call: Call,
  { retries, runtime }: Pick<ClientConfig, 'retries' | 'runtime'>,
): Promise<Response> {
  const isSafe = !call.paysItself && (call.method === 'GET' || call.method === 'HEAD');
  const maxRetries = isSafe ? retries : 0;
  for (let tries = 0; tries < maxRetries; tries += 1) {
    const response = await call.sendUnpaid().catch((error: unknown) => {
      if (call.signal?.aborted === true || !isLost(error) || call.isRefused()) throw error;
      return undefined;
    });
    if (response !== undefined && response.status !== 503) return response;
    const wait = response === undefined ? undefined : askedWait(response.headers, runtime.now());
    if (response !== undefined && (wait ?? 0) > MAX_WAIT_MS) return response;
    dropBody(response);
    await runtime.sleep(
      withJitter(wait ?? Math.min(FIRST_WAIT_MS * 2 ** tries, MAX_WAIT_MS), runtime),
      call.signal,
    );
  }
  return call.sendUnpaid();
}

/**
 * Whether a fetch failed because its connection was lost. In Node, the cause of a lost connection
 * has a code. The cause has no code if Node refuses to make the request. Browsers give no cause.
 */
function isLost(error: unknown): boolean {
  // The fetch may be another client that pays: it has asked a person or has paid, so do not repeat.
  if (isExactChangeError(error)) return false;
  // Check the structure, not the class: a test environment or a frame has classes of its own.
  const cause: unknown = isObject(error) && 'cause' in error ? error.cause : undefined;
  if (!isObject(cause)) return true;
  // Headers that time out are no lost connection: the seller has had five minutes to answer.
  return 'code' in cause && cause.code !== 'UND_ERR_HEADERS_TIMEOUT';
}
