import { parseJson } from '../../../src/internal/parse.js';
import { isRecord } from '../../../src/internal/record.js';
import { cleanLine } from '../clean.js';

const TIMEOUT_MS = 10_000;

/** A node's answer, its duration, and the difference of the clocks. */
export interface NodeAnswer {
  readonly status: number;
  readonly result: unknown;
  readonly tookMs: number;
  /** Milliseconds by which the node's clock is ahead; undefined without a `date` header. */
  readonly aheadMs: number | undefined;
}

/**
 * Makes one JSON-RPC call, without the retries of the client, because they would hide the node's
 * rate limits. Rejects if the answer is not JSON.
 */
export async function askNode(
  url: string,
  method: string,
  ...params: unknown[]
): Promise<NodeAnswer> {
  const startedAt = Date.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  const tookMs = Date.now() - startedAt;
  const date = Date.parse(response.headers.get('date') ?? '');
  return {
    status: response.status,
    result: resultOf(text, response.status),
    tookMs,
    aheadMs: Number.isNaN(date) ? undefined : date - (startedAt + tookMs / 2),
  };
}

function resultOf(text: string, status: number): unknown {
  if (status === 429) return undefined;
  const parsed = parseJson(text);
  if (!isRecord(parsed)) throw new Error(`it answers ${status} with no JSON`);
  const { error, result } = parsed;
  if (isRecord(error)) {
    const { message } = error;
    const reason = typeof message === 'string' ? `: ${cleanLine(message)}` : ' no reason';
    throw new Error(`it says${reason}`);
  }
  return result;
}
