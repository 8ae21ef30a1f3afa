import type { ClientConfig } from '../config/options.js';
import { isExactChangeError } from '../errors.js';
import { askedWait, MAX_WAIT_MS, withJitter } from '../internal/backoff.js';
import type { Call } from '../internal/request.js';

const FIRST_WAIT_MS = 250;

/**
 * Sends a call as its caller made it. A GET or HEAD without a payment header is sent again after a
 * 503 or a lost connection: nothing has left that could be spent twice; an abort that is not the
 * caller's is a lost connection. A 503 that asks for a longer wait than ours is returned as it is.
 */
export async function sendUnpaid(
  call: Call,
  { retries, runtime }: Pick<ClientConfig, 'retries' | 'runtime'>,
): Promise<Response> {
  const isSafe = !call.paysItself && (call.method === 'GET' || call.method === 'HEAD');
  const most = isSafe ? retries : 0;
  for (let tries = 0; tries < most; tries += 1) {
    const response = await call.sendUnpaid().catch((error: unknown) => {
      if (call.signal?.aborted === true || !isLost(error) || call.isRefused()) throw error;
      return undefined;
    });
    if (response !== undefined && response.status !== 503) return response;
    const wait = response === undefined ? undefined : askedWait(response.headers, runtime.now());
    if (response !== undefined && (wait ?? 0) > MAX_WAIT_MS) return response;
    // Unread, it would keep its connection.
    response?.body?.cancel().catch(() => undefined);
    await runtime.sleep(
      withJitter(wait ?? Math.min(FIRST_WAIT_MS * 2 ** tries, MAX_WAIT_MS), runtime),
      call.signal,
    );
  }
  return call.sendUnpaid();
}

/**
 * Node names the cause of a connection that failed by a code, and that of a request that it will
 * not make by none; browsers name neither.
 */
function isLost(error: unknown): boolean {
  // Of another client that pays below: it has asked a person, or has paid.
  if (isExactChangeError(error)) return false;
  // By its structure: the fetch of a test environment or a frame has errors of another realm.
  const cause: unknown =
    typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined;
  if (typeof cause !== 'object' || cause === null) return true;
  // The seller has had five minutes.
  return 'code' in cause && cause.code !== 'UND_ERR_HEADERS_TIMEOUT';
}
