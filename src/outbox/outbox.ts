import type { ErrorCode } from '../errors.js';
import type { WebhookEventName } from '../wire/webhook-events.js';

export { webhookEvents } from '../wire/webhook-events.js';
export type { WebhookEventName } from '../wire/webhook-events.js';

/** Whose attempt an event is of. */
interface About {
  /** The attempt's id: the same on all events of one purchase. */
  readonly id: string;
  /** Base58: the payer. */
  readonly wallet: string;
  /** CAIP-2. */
  readonly network: string;
  /** What was bought: an address without its query, which may hold secrets. */
  readonly url: string;
  readonly method: string;
}

/**
 * What each event says. JSON-safe; amounts are decimal strings of base units. Nothing in it is a
 * seller's or a service's word.
 */
export interface WebhookDetails {
  'swap.confirmed': About & {
    readonly signature: string;
    readonly inputMint: string;
    readonly inAmount: string;
    readonly outputMint: string;
    readonly outAmount: string;
    readonly provider: string;
    readonly feeLamports: string;
  };
  /** It landed and failed, or never can land. */
  'swap.failed': About & {
    readonly signature: string;
    readonly inputMint: string;
    readonly outputMint: string;
    readonly provider: string;
    readonly code: ErrorCode;
  };
  /** Our own node shows the payment on chain. */
  'payment.settled': About &
    Price & { readonly payerSignature: string; readonly signature: string };
  /**
   * Nothing was paid, and nothing can be any more: no payment was signed, or the one that was can
   * never land.
   */
  'payment.failed': About & Price & { readonly payerSignature?: string };
  /**
   * The answer was lost, or the seller refused a signed payment; `payment.settled` or
   * `payment.failed` follows when the chain has decided.
   */
  'payment.uncertain': About &
    Price & {
      readonly payerSignature: string;
      readonly lastValidBlockHeight: string;
      readonly code: ErrorCode;
    };
}

interface Price {
  readonly mint: string;
  readonly amount: string;
  readonly payTo: string;
}

/**
 * One event: the body of a webhook, and the `id` of its message, which is the same each time it is
 * told.
 */
export type WebhookEvent<N extends WebhookEventName = WebhookEventName> = {
  [Name in N]: {
    readonly id: string;
    readonly type: Name;
    /** When it was put on record, ISO 8601. */
    readonly timestamp: string;
    readonly data: WebhookDetails[Name];
  };
}[N];

/** Something to be told: an event to every endpoint that wants it, or to one. */
export interface OutboxJob {
  /** Of the job, not of the event. */
  readonly id: string;
  readonly event: WebhookEvent;
  /**
   * The endpoint's id. Without: the event is yet to be handed to the endpoints, each by a job of
   * its own.
   */
  readonly endpoint?: string;
  /** Whose endpoint it is, as the endpoint says. Callers take turns. */
  readonly caller?: string;
  /** Deliveries that failed. */
  readonly failures: number;
  /** Not before; milliseconds since the epoch. */
  readonly dueAt: number;
}

/** A job to be put into an outbox, which names it. */
export type NextJob = Omit<OutboxJob, 'id'>;

/** A secret that signs what an endpoint is told. */
export interface EndpointSecret {
  /** `whsec_` and base64, as Standard Webhooks have it. */
  readonly secret: string;
  /**
   * Signs until then, beside the one that took its place. Milliseconds since the epoch; absent: it
   * is the one in use.
   */
  readonly until?: number;
}

/** Where events are told. It holds secrets: an outbox keeps it, nothing shows it. */
export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventName[];
  /** Only events of these wallets; absent: of any. */
  readonly wallets?: readonly string[];
  /** The caller that registered it, as the service knows its callers; empty if it does not. */
  readonly caller: string;
  readonly secrets: readonly EndpointSecret[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /**
   * When it last accepted something, written down at most once an hour. Milliseconds since the
   * epoch.
   */
  readonly acceptedAt?: number;
  /**
   * Told nothing more: it said that it is gone, or accepted nothing for as long as is tried.
   * Milliseconds since the epoch.
   */
  readonly disabledAt?: number;
}

/** A question for jobs. */
export interface TakeOptions {
  readonly limit: number;
  /** Milliseconds for which no other process is given them. */
  readonly leaseMs: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The most for one endpoint, and for all of a caller's. */
  readonly perEndpoint?: number;
  readonly perCaller?: number;
  /** The callers for which none are wanted now. */
  readonly without?: {
    /** Callers, with all of their endpoints `but` those. */
    readonly callers?: readonly string[];
    readonly but?: readonly string[];
    readonly endpoints?: readonly string[];
  };
}

/**
 * How many jobs an outbox keeps: those for the endpoints of one caller, those that tell of one
 * wallet and are yet to be handed out, and all together. Beyond, those go that were put there
 * first: of the caller or wallet with too many, or with the most.
 */
export const MOST_JOBS = { ofOne: 10_000, inAll: 50_000 } as const;

/**
 * What waits to be told, and to which endpoint. Its events are written by the journal, in one step
 * with the attempt that they are about. A write has happened, durably if the journal is durable,
 * when its promise resolves.
 */
export interface Outbox {
  /**
   * Jobs that are due: one of each caller in turn, of each those that have waited longest first. No
   * other process is given them for `leaseMs`, or until this process ends; one that is not finished
   * by then is given again.
   */
  take(options: TakeOptions): Promise<OutboxJob[]>;
  /**
   * Ends a job that was taken and puts others in its place, in one step. Nothing if it has been
   * ended meanwhile.
   */
  finish(job: OutboxJob, next: readonly NextJob[]): Promise<void>;
  /** What waits in it now, taken or not: to be looked at. Absent: it cannot be listed. */
  waiting?(): Promise<OutboxJob[]>;
  /** All of them, in the order in which they were made. */
  endpoints(): Promise<Endpoint[]>;
  /**
   * Adds an endpoint, in one step. Whether it did: not if its caller has as many as `most`, or
   * one of its id is there.
   */
  addEndpoint(endpoint: Endpoint, most: number): Promise<boolean>;
  /**
   * Changes an endpoint in one step: what `change` is given is on record until what it returns is.
   * It does nothing else, and may be called again; its undefined leaves the endpoint as it is.
   * Resolves to the endpoint as changed, undefined if it was left or there is none of that id,
   * which stays.
   */
  changeEndpoint(
    id: string,
    change: (endpoint: Endpoint) => Endpoint | undefined,
  ): Promise<Endpoint | undefined>;
  /** Whether there was one. Jobs for it stay until they are taken. */
  removeEndpoint(id: string): Promise<boolean>;
  /**
   * Calls when this process may have added a job; the delivery asks again then. What others add is
   * found by asking. Returns how to stop.
   */
  onAdded(listener: () => void): () => void;
  /**
   * Calls if this process has dropped jobs, as it held more than it may, with their number.
   * Returns how to stop.
   */
  onDropped(listener: (count: number) => void): () => void;
}
