import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { fileURLToPath } from 'node:url';

export const API_KEY = 'bench-service-api-key';

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/** What a process is for. */
export type Role =
  | { readonly kind: 'chain' }
  | {
      readonly kind: 'service';
      readonly rpcUrl: string;
      readonly jupiterUrl: string;
      readonly cached: boolean;
    }
  | { readonly kind: 'bare'; readonly answers: readonly (readonly [string, Answer])[] };

export interface Chain {
  readonly rpcUrl: string;
  readonly jupiterUrl: string;
  /** Base58; each holds SOL, BONK and PYUSD. */
  readonly wallets: readonly string[];
  readonly paymentRequired: object;
}

/** Of a process, so far: bytes, and milliseconds of one core. */
export interface Figures {
  readonly rss: number;
  readonly peak: number;
  readonly cpuMs: number;
}

export interface Part<T> {
  readonly facts: T;
  figures(): Promise<Figures>;
  end(): void;
}

/** Starts a process for a role; resolves with what it says of itself once it is ready. */
export async function startPart<T extends object>(role: Role): Promise<Part<T>> {
  const child = fork(fileURLToPath(new URL('child.ts', import.meta.url)));
  child.send(role);
  const facts = (await answerOf(child)) as T; // What a process of this role says.
  return {
    facts,
    figures: async () => {
      const answer = answerOf(child);
      child.send('figures');
      return (await answer) as Figures;
    },
    end: () => child.disconnect(),
  };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error('a process of the run ended')),
  );
  const [answer] = (await Promise.race([once(child, 'message'), ended])) as unknown[];
  return answer;
}
