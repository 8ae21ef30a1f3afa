import { isObject } from './internal/record.js';
import type { ErrorCode, Funds, OfferRefusal } from './errors.js';
import { nearest, refuse, ruleOfNames } from './internal/options.js';
import type { Receipt, SwapResult } from './receipt.js';
import type { NodeCall } from './solana/rpc/nodes.js';

/**
 * Details of each event, by the event's name. JSON-safe; amounts are decimal strings of base units.
 */
export interface EventDetails {
  /** A 402 with payment terms came in, or `presign` uses the terms of an earlier call. */
  'payment.required': { readonly url: string; readonly method: string; readonly offers: number };
  /** An entry of `accepts` was chosen; `refused` says why the other entries were not. */
  'payment.chosen': {
    readonly url: string;
    readonly network: string;
    readonly mint: string;
    readonly amount: string;
    readonly decimals: number;
    readonly payTo: string;
    readonly refused: readonly OfferRefusal[];
  };
  /** Amounts of the mint: what the wallet can spend, what the payment needs, what is missing. */
  'balance.checked': {
    readonly mint: string;
    readonly available: string;
    readonly required: string;
    readonly missing: string;
  };
  'swap.quoted': {
    readonly inputMint: string;
    readonly inAmount: string;
    readonly maxInAmount: string;
    readonly outputMint: string;
    readonly outAmount: string;
    readonly minOutAmount: string;
    readonly provider: string;
  };
  'swap.signed': { readonly signature: string; readonly lastValidBlockHeight: string };
  'swap.confirmed': SwapResult & {
    /**
     * Cost of the swap, as caps count it. Absent for a swap that no cap counts, such as a plain
     * `client.swap()`, and for a swap of an earlier call.
     */
    readonly cost?: Receipt['cost'];
  };
  /**
   * `cost`: cost of the swap, as caps count it. Absent if the chain has not decided, or if the
   * event `swap.confirmed` has none.
   */
  'swap.failed': {
    readonly signature: string;
    readonly code: ErrorCode;
    readonly cost?: Receipt['cost'];
  };
  /** The payment is signed and journaled; it has not left this process yet. */
  'payment.signed': { readonly payerSignature: string; readonly lastValidBlockHeight: string };
  'payment.sent': { readonly url: string; readonly method: string };
  /** The seller answered the paid request. */
  'payment.answered': { readonly status: number; readonly receipt: Receipt };
  /** Our own RPC shows the payment. */
  'payment.settled': { readonly receipt: Receipt };
  /** The chain proves that the payment can never land. */
  'payment.unsettled': { readonly receipt: Receipt };
  /** The answer was lost, or the seller refused a signed payment; the chain decides. */
  'payment.uncertain': {
    readonly payerSignature: string;
    readonly lastValidBlockHeight: string;
    readonly code: ErrorCode;
  };
  /** The call failed; `funds` says what landed, or may still land. */
  'payment.failed': { readonly code: ErrorCode; readonly funds: Funds; readonly message: string };
  /** The client works, but less well than it could; `message` says why. */
  warning: { readonly message: string };
  /** A call to an RPC node has ended; `NodeCall` names the node. */
  'rpc.called': NodeCall;
  /**
   * A step of the journal from the client's options has ended: `reserve`, `put`, `raise`,
   * `release`, `similar` or `used`. If the step failed, `failed` says why.
   */
  'journal.called': { readonly step: string; readonly ms: number; readonly failed?: ErrorCode };
}

export type EventName = keyof EventDetails;

/** Every name that a listener may name. */
const NAMES: readonly string[] = Object.keys({
  '*': true,
  'payment.required': true,
  'payment.chosen': true,
  'balance.checked': true,
  'swap.quoted': true,
  'swap.signed': true,
  'swap.confirmed': true,
  'swap.failed': true,
  'payment.signed': true,
  'payment.sent': true,
  'payment.answered': true,
  'payment.settled': true,
  'payment.unsettled': true,
  'payment.uncertain': true,
  'payment.failed': true,
  warning: true,
  'rpc.called': true,
  'journal.called': true,
} satisfies Readonly<Record<EventName | '*', true>>);

/**
 * Events of calls to nodes and to the journal. A step makes dozens of calls, and a call may serve
 * several payments. So only listeners of the event's own name get them, not listeners of `'*'`.
 */
export type CallName = 'rpc.called' | 'journal.called';

/** Events that listeners of `'*'` get: the steps of payments and swaps. */
export type StepName = Exclude<EventName, CallName>;

/**
 * An event as listeners get it. `id` is the same on all events of one call, and empty for a
 * {@link CallName}. It is the id of the first attempt that the call makes. `receipt.id` names the
 * attempt that an event is about: perhaps a second payment, or an earlier one that the call found.
 */
export type ClientEvent<N extends EventName = StepName> = {
  [Name in N]: {
    readonly type: Name;
    readonly id: string;
    readonly at: number;
  } & EventDetails[Name];
}[N];

export type Listener<N extends EventName> = (event: ClientEvent<N>) => void;

/** Sends events of one attempt. */
export type Emit = <N extends StepName>(type: N, details: EventDetails[N]) => void;

/** Takes lines of text, as `console` and most loggers do. */
export interface Logger {
  debug(message: string): void;
}

/** Sends events of calls to nodes and to the journal. */
export type EmitCall = <N extends CallName>(type: N, details: EventDetails[N]) => void;

export interface Events {
  on(type: '*', listener: Listener<StepName>): () => void;
  on<N extends EventName>(type: N, listener: Listener<N>): () => void;
  emitter(id: string): Emit;
  readonly emitCall: EmitCall;
}

/**
 * Creates a registry of listeners. It ignores errors that listeners throw, because a listener must
 * not stop a payment half way.
 */
export function createEvents(now: () => number): Events {
  // Each set holds listeners of its own event type only; the type of a Map cannot say so, hence the
  // two casts below.
  const listeners = new Map<string, Set<(event: never) => unknown>>();
  const call = (type: string, event: object) => {
    for (const listener of [...(listeners.get(type) ?? [])]) {
      try {
        const result = listener(event as never);
        // Handle the rejection of an async listener, because it would end the process.
        if (isPromise(result)) result.then(undefined, () => undefined);
      } catch {
        continue;
      }
    }
  };
  return {
    on(type: string, listener: (event: never) => unknown) {
      if (!NAMES.includes(type))
        throw refuse(type, ruleOfNames(NAMES, nearest(type, NAMES)), 'Event');
      const set = listeners.get(type) ?? new Set();
      listeners.set(type, set.add(listener));
      return () => void set.delete(listener);
    },
    emitCall(type, details) {
      if (listeners.has(type)) call(type, Object.freeze({ type, id: '', at: now(), ...details }));
    },
    emitter: (id) => (type, details) => {
      if (listeners.size === 0) return;
      const event = Object.freeze({ type, id, at: now(), ...details });
      call(type, event);
      call('*', event);
    },
  };
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return isObject(value) && 'then' in value && typeof value.then === 'function';
}
