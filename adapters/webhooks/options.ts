import { refuse, refuseUnknown } from '../../src/internal/options.js';
import type { Journal } from '../../src/journal/types.js';
import type { Outbox } from '../../src/outbox/outbox.js';
import { isRecord } from '../../src/internal/record.js';
import { readWhole } from '../read-whole.js';
import type { TargetRules } from './target.js';
import type { WebhookDelivery } from './types.js';

export interface WebhooksOptions {
  /**
   * The journal with the events to deliver. It must keep an outbox, such as
   * `fileJournal(path, { outbox: true })`, and be the journal of the clients.
   */
  readonly journal: Journal;
  /** Ports of endpoints; default `[443]`. */
  readonly ports?: readonly number[] | undefined;
  /**
   * For tests: allows loopback and private addresses, `http:` and every port. Never set it if other
   * parties may register endpoints. Default false.
   */
  readonly allowPrivateTargets?: boolean | undefined;
  /** Milliseconds for one delivery, from the DNS lookup to the answer; default 20000. */
  readonly timeoutMs?: number | undefined;
  /**
   * The most deliveries at once to the endpoints of one caller; default 16. Endpoints that take
   * longer than 2 s share half of these places; together with new endpoints, three quarters. Of all
   * callers, as many deliveries may have just begun, and eight times as many may run.
   */
  readonly concurrency?: number | undefined;
  /**
   * The most deliveries at once to one endpoint; default 4, or half of `concurrency` if that is
   * less.
   */
  readonly perEndpoint?: number | undefined;
  /**
   * Called with an error for each event or endpoint that is given up: `service_unavailable`, with
   * the last answer's status. Also called for an outbox that fails, or is full and drops jobs:
   * `journal_unavailable`. The error holds no secret, address or text of a receiver, except in
   * Node's error of a connection (`cause`).
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called for each delivery of this process, once its end is on record. */
  readonly onDelivery?: ((delivery: WebhookDelivery) => void) | undefined;
}

/** Options, checked and complete. */
export interface WebhooksSettings {
  readonly outbox: Outbox;
  readonly rules: TargetRules;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly perEndpoint: number;
  readonly onError: (error: unknown) => void;
  readonly onDelivery: (delivery: WebhookDelivery) => void;
}

const NAMES: readonly string[] = [
  'journal',
  'ports',
  'allowPrivateTargets',
  'timeoutMs',
  'concurrency',
  'perEndpoint',
  'onError',
  'onDelivery',
];

/** Checks options and fills in the defaults. Throws `ConfigError` (`invalid_option`). */
export function parseWebhooksOptions(options: WebhooksOptions): WebhooksSettings {
  if (!isRecord(options)) throw refuse('options', 'must be an object with a journal.');
  refuseUnknown(options, NAMES);
  const {
    journal,
    ports = [443],
    allowPrivateTargets = false,
    timeoutMs,
    concurrency: at = 16,
    perEndpoint,
    onError,
    onDelivery,
  } = options;
  if (typeof allowPrivateTargets !== 'boolean')
    throw refuse('allowPrivateTargets', 'must be true or false.');
  for (const [name, hook] of Object.entries({ onError, onDelivery }))
    if (hook !== undefined && typeof hook !== 'function') throw refuse(name, 'must be a function.');
  const concurrency = readWhole('concurrency', at, 1, 1_000);
  return {
    outbox: readOutbox(journal),
    rules: { allowPrivate: allowPrivateTargets, ports: readPorts(ports) },
    timeoutMs: readWhole('timeoutMs', timeoutMs ?? 20_000, 1, 120_000),
    concurrency,
    perEndpoint: readWhole(
      'perEndpoint',
      perEndpoint ?? Math.max(1, Math.min(4, Math.floor(concurrency / 2))),
      1,
      concurrency,
    ),
    onError: onError ?? (() => undefined),
    onDelivery: onDelivery ?? (() => undefined),
  };
}

function readOutbox(journal: unknown): Outbox {
  if (!isJournal(journal))
    throw refuse('journal', 'must be a journal, the one that the clients write to.');
  const { outbox } = journal;
  if (outbox === undefined)
    throw refuse(
      'journal',
      'must keep an outbox: make it with fileJournal(path, { outbox: true }), or another with the same option.',
    );
  return outbox;
}

function isJournal(value: unknown): value is Journal {
  return (
    isRecord(value) && typeof value['reserve'] === 'function' && typeof value['put'] === 'function'
  );
}

function readPorts(ports: unknown): readonly number[] {
  const isPort = (port: unknown): port is number =>
    typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;
  if (!Array.isArray(ports) || ports.length === 0 || !ports.every(isPort))
    throw refuse('ports', 'must be a list of port numbers.');
  return [...ports];
}
