import { Agent, request, type OutgoingHttpHeaders } from 'node:http';
import type { Shot } from './mix.js';

/** An answer from the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

export interface Timed {
  readonly name: string;
  /** Status of the answer; 0 without an answer. */
  readonly status: number;
  /** Milliseconds since the time at which the request was due, even if the sender was late. */
  readonly ms: number;
}

const MAX_SOCKETS = 512;
const TIMEOUT_MS = 40_000;

/**
 * Sends each request at a fixed time, even if earlier requests are unanswered. Resolves when all
 * requests have an answer.
 */
export async function openLoop(
  url: string,
  shots: readonly Shot[],
  perSecond: number,
): Promise<Timed[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  const startAt = performance.now() + 100;
  const dueAt = (index: number) => startAt + (index * 1_000) / perSecond;
  const timed: Promise<Timed>[] = [];
  await new Promise<void>((resolve) => {
    const sendDue = () => {
      while (timed.length < shots.length && dueAt(timed.length) <= performance.now())
        timed.push(timedShot(url, shots[timed.length]!, agent, dueAt(timed.length)));
      if (timed.length < shots.length) setTimeout(sendDue, 1);
      else resolve();
    };
    sendDue();
  });
  const results = await Promise.all(timed);
  agent.destroy();
  return results;
}

async function timedShot(url: string, shot: Shot, agent: Agent, dueAt: number): Promise<Timed> {
  const status = await send(url, shot, agent).then(
    (answer) => answer.status,
    () => 0,
  );
  return { name: shot.name, status, ms: performance.now() - dueAt };
}

/** Sends a request and reads its whole answer. */
export function send(
  url: string,
  { method, path, headers, body }: Shot,
  agent: Agent,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}${path}`,
      { method, headers, agent, timeout: TIMEOUT_MS },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        incoming.once('error', reject);
        incoming.once('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text }),
        );
      },
    );
    outgoing.once('error', reject).once('timeout', () => outgoing.destroy());
    outgoing.end(body);
  });
}

/** Returns the value that a share of the values, such as 0.99, does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Returns the number of answers with each status, as text. */
export function statuses(timed: readonly Timed[]): string {
  const counts = new Map<number, number>();
  for (const { status } of timed) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status === 0 ? 'no answer' : status}: ${count}`)
    .join(', ');
}
