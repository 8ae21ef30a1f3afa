import { memoryJournal } from 'exact-change';
import { onTestFinished } from 'vitest';
import type { Answer, Deliver } from '../../../adapters/webhooks/deliver.js';
import { webhooksOver, type Webhooks } from '../../../adapters/webhooks/hub.js';
import type { Message } from '../../../adapters/webhooks/message.js';
import { parseWebhooksOptions, type WebhooksOptions } from '../../../adapters/webhooks/options.js';
import type { Outbox, WebhookEventName } from '../../../src/outbox/outbox.js';
import type { Attempt, Journal } from '../../../src/journal/types.js';
import { systemRuntime, type Runtime } from '../../../src/internal/runtime.js';
import { attemptOf } from '../../helpers/attempts.js';
import { WALLET } from './signed.js';

/** A clock that the test advances, with its sleepers. Random jitter is always in the middle. */
export interface Clock {
  readonly runtime: Runtime;
  now(): number;
  /**
   * Advances the clock sleeper by sleeper, and waits until the work of each is done. A long time is
   * skipped except for its last seconds.
   */
  pass(ms: number): Promise<void>;
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

const LONG_MS = 300_000;
const AWAKE_MS = 3_000;

export function createClock(): Clock {
  // The outbox dates its jobs by the real clock, which must not overtake this clock.
  let now = Date.now() + 3_600_000;
  const sleepers = new Set<Sleeper>();
  const wakeUntil = async (end: number): Promise<void> => {
    for (;;) {
      let next: Sleeper | undefined;
      for (const sleeper of sleepers)
        if (sleeper.at <= end && sleeper.at < (next?.at ?? Infinity)) next = sleeper;
      if (next === undefined) return;
      now = Math.max(now, next.at);
      sleepers.delete(next);
      next.wake();
      await settled();
    }
  };
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const sleeper = { at: now + ms, wake: resolve };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', () => {
        sleepers.delete(sleeper);
        reject(signal.reason);
      });
    });
  return {
    now: () => now,
    runtime: {
      ...systemRuntime,
      now: () => now,
      sleep,
      idle: sleep,
      randomBytes: (length) =>
        length === 2 ? Uint8Array.of(0x7f, 0xff) : systemRuntime.randomBytes(length),
    },
    async pass(ms) {
      const end = now + ms;
      await settled();
      if (ms > LONG_MS) now = end - AWAKE_MS;
      await wakeUntil(end);
      now = end;
      await settled();
    },
  };
}

/** Waits until all work has run that needs no timer and no I/O. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A delivery that the worker requested. */
export interface Delivery {
  readonly path: string;
  readonly id: string | undefined;
  readonly message: Message;
  readonly signal: AbortSignal;
  readonly at: number;
}

export interface Hub {
  readonly webhooks: Webhooks;
  readonly journal: Journal & { readonly outbox: Outbox };
  readonly clock: Clock;
  readonly deliveries: readonly Delivery[];
  readonly errors: readonly unknown[];
  /** Registers an endpoint at the path. */
  register(path: string, events?: readonly WebhookEventName[]): ReturnType<Webhooks['register']>;
  /** Reserves and releases an attempt, which causes one event: `payment.failed`. */
  fail(over?: Partial<Attempt>): Promise<string>;
}

export const ok: Answer = { status: 200, retryAfter: undefined };
export const answered = (status: number, retryAfter?: string): Answer => ({ status, retryAfter });

/**
 * Makes webhooks on a journal in memory and a fake clock, and closes them after the test; `answer`
 * plays the receivers.
 */
export function hubOf(
  answer: (path: string, delivery: Delivery) => Promise<Answer> | Answer,
  options: Partial<WebhooksOptions> = {},
  clock = createClock(),
): Hub {
  const journal = withOutbox(options.journal ?? memoryJournal({ outbox: true }));
  const deliveries: Delivery[] = [];
  const errors: unknown[] = [];
  const deliver: Deliver = async (message, signal) => {
    const { pathname: path } = new URL(message.url);
    const id = message.headers['webhook-id'];
    const delivery = { path, id, message, signal, at: clock.now() };
    deliveries.push(delivery);
    return answer(path, delivery);
  };
  const settings = parseWebhooksOptions({
    onError: (error) => errors.push(error),
    ...options,
    journal,
  });
  const webhooks = webhooksOver(settings, { runtime: clock.runtime, deliver });
  onTestFinished(async () => {
    const closed = webhooks.close();
    await clock.pass(60_000);
    await closed;
  });
  return {
    ...{ webhooks, journal, clock, deliveries, errors },
    register: (path, events = ['payment.failed']) =>
      webhooks.register({ url: `https://hooks.example.com${path}`, events }),
    async fail(over = {}) {
      const attempt = attemptOf({ wallet: WALLET, ...over });
      await journal.reserve(attempt, []);
      await journal.release(attempt.id);
      return attempt.id;
    },
  };
}

export function withOutbox(journal: Journal): Journal & { readonly outbox: Outbox } {
  const { outbox } = journal;
  if (outbox === undefined) throw new Error('It keeps no outbox.');
  return Object.assign(journal, { outbox });
}
