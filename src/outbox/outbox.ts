import type { ErrorCode } from '../errors.js';
import type { SwapResult } from '../receipt.js';
import type { WebhookEventName } from '../wire/webhook-events.js';

export { webhookEvents } from '../wire/webhook-events.js';
export type { WebhookEventName } from '../wire/webhook-events.js';

interface About {
  /** Id of the attempt. A second payment of a call has another id. */
  readonly id: string;
  /** The payer, base58. */
  readonly wallet: string;
  /** CAIP-2. */
  readonly network: string;
  /** Address of the paid request, without its query, which may hold secrets. */
  readonly url: string;
  readonly method: string;
}

/**
 * Details of each event. JSON-safe; amounts are decimal strings of base units. No detail is a claim
 * of a seller or a service.
 */
export interface WebhookDetails {
  'swap.confirmed': About & Omit<SwapResult, 'relayFee'>;
  /**
   * The swap landed and failed, or can never land; with `code` `swap_uncertain`, no node remembers
   * it, and it may have landed.
   */
  'swap.failed': About &
    Pick<SwapResult, 'signature' | 'inputMint' | 'outputMint' | 'provider'> & {
      readonly code: ErrorCode;
    };
  /** Our own node shows the payment on chain. */
  'payment.settled': About &
    Price & { readonly payerSignature: string; readonly signature: string };
  /**
   * Nothing was paid, and nothing can be paid any more: no payment was signed, or the signed
   * payment can never land.
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
 * An event: the body of a webhook, and the `id` of its message, which is the same at each delivery.
 */
export type WebhookEvent<N extends WebhookEventName = WebhookEventName> = {
  [Name in N]: {
    readonly id: string;
    readonly type: Name;
    /** When the event was put on record, ISO 8601. */
    readonly timestamp: string;
    readonly data: WebhookDetails[Name];
  };
}[N];

/** An event to deliver: to one endpoint, or to every endpoint that wants it. */
export interface OutboxJob {
  /** Id of the job; one event may cause several jobs. */
  readonly id: string;
  readonly event: WebhookEvent;
  /** Id of the endpoint. Absent: the event must still be split into a job for each endpoint. */
  readonly endpoint?: string;
  /** The `caller` of the endpoint. Callers take turns. */
  readonly caller?: string;
  /** Number of failed deliveries. */
  readonly failures: number;
  /** The earliest time of the delivery; milliseconds since the epoch. */
  readonly dueAt: number;
}

/** A job to add to an outbox, which gives it an id. */
export type NextJob = Omit<OutboxJob, 'id'>;

/** A secret that signs deliveries to an endpoint. */
export interface EndpointSecret {
  /** `whsec_` and base64, as Standard Webhooks have it. */
  readonly secret: string;
  /**
   * The secret signs until this time, beside the secret that replaced it. Milliseconds since the
   * epoch; absent: it is the current secret.
   */
  readonly until?: number;
}

/** A receiver of events. It holds secrets: an outbox keeps it, and nothing shows it. */
export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventName[];
  /** Only events of these wallets; absent: events of any wallet. */
  readonly wallets?: readonly string[];
  /** The caller that registered the endpoint; empty if the service does not know its callers. */
  readonly caller: string;
  readonly secrets: readonly EndpointSecret[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /**
   * When the endpoint last accepted a delivery, recorded at most once an hour. Milliseconds since
   * the epoch.
   */
  readonly acceptedAt?: number;
  /**
   * When deliveries ended: the endpoint said that it is gone, or accepted nothing in three days.
   * Milliseconds since the epoch.
   */
  readonly disabledAt?: number;
}

export interface TakeOptions {
  readonly limit: number;
  /** Milliseconds for which no other process gets the jobs. */
  readonly leaseMs: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The most jobs for one endpoint, and for all endpoints of a caller. */
  readonly perEndpoint?: number;
  readonly perCaller?: number;
  /** Callers and endpoints that get no jobs now. */
  readonly without?: {
    /** Callers, with all of their endpoints except the endpoints in `but`. */
    readonly callers?: readonly string[];
    readonly but?: readonly string[];
    readonly endpoints?: readonly string[];
  };
}

/**
 * The most jobs that an outbox keeps. `ofOne`: jobs for the endpoints of one caller, or events of
 * one wallet that are not split yet. `inAll`: all jobs. Beyond that, the oldest jobs are dropped:
 * of the caller or wallet with too many jobs, or with the most.
 */
export const MOST_JOBS = { ofOne: 10_000, inAll: 50_000 } as const;

/**
 * Longer than any pause before a delivery. A job that is due later than this got its due time
 * before the clock was set back, and is due now.
 */
export const LONGEST_PAUSE_MS = 48 * 3_600_000;

/**
 * Jobs that wait for delivery, and the endpoints. The journal writes an event in one step with the
 * attempt that it is about. A write has happened, durably if the journal is durable, when its
 * promise resolves.
 */
export interface Outbox {
  /**
   * Resolves to jobs that are due. Callers take turns, and of each caller the jobs that have waited
   * longest come first. No other process gets the jobs for `leaseMs`, or until this process ends; a
   * job that is not finished by then is given again.
   */
  take(options: TakeOptions): Promise<OutboxJob[]>;
  /**
   * Ends a job that was taken and adds the `next` jobs, in one step. Does nothing if the job has
   * ended meanwhile.
   */
  finish(job: OutboxJob, next: readonly NextJob[]): Promise<void>;
  /** Resolves to all jobs, taken or not, for inspection. Absent: jobs cannot be listed. */
  waiting?(): Promise<OutboxJob[]>;
  /** Resolves to all endpoints, in the order in which they were made. */
  endpoints(): Promise<Endpoint[]>;
  /**
   * Adds an endpoint, in one step. Resolves to false if its caller has `most` endpoints already, or
   * if an endpoint with its id exists.
   */
  addEndpoint(endpoint: Endpoint, most: number): Promise<boolean>;
  /**
   * Changes an endpoint in one step: no other write comes between the endpoint that `change` gets
   * and the endpoint that it returns. `change` may be called again, so it does nothing else; if it
   * returns undefined, the endpoint stays as it is. Resolves to the changed endpoint; undefined if
   * it stayed, or if no endpoint has the id. The id never changes.
   */
  changeEndpoint(
    id: string,
    change: (endpoint: Endpoint) => Endpoint | undefined,
  ): Promise<Endpoint | undefined>;
  /** Resolves to whether there was an endpoint. Jobs for it stay until they are taken. */
  removeEndpoint(id: string): Promise<boolean>;
  /**
   * Calls the listener when this process may have added a job, so that the delivery takes jobs
   * again. Only `take` finds jobs of other processes. Returns a function that stops listening.
   */
  onAdded(listener: () => void): () => void;
  /**
   * Calls the listener with the number of jobs that this process dropped, because there were too
   * many. Returns a function that stops listening.
   */
  onDropped(listener: (count: number) => void): () => void;
}
