import type { ErrorCode, Funds, OfferRefusal } from './errors.js';
import type { Receipt, RelayFee } from './receipt.js';
import type { NodeCall } from './solana/rpc/nodes.js';

/**
 * What each step of the work tells its listeners. JSON-safe; amounts are decimal strings of base
 * units.
 */
export interface EventDetails {
  /** A 402 with payment terms came in. */
  'payment.required': { readonly url: string; readonly method: string; readonly offers: number };
  /** One entry of `accepts` was chosen; the others' reasons are in `refused`. */
  'payment.chosen': {
    readonly url: string;
    readonly network: string;
    readonly mint: string;
    readonly amount: string;
    readonly decimals: number;
    readonly payTo: string;
    readonly refused: readonly OfferRefusal[];
  };
  /** What the wallet can spend of the mint, and what it lacks. */
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
  'swap.confirmed': {
    readonly signature: string;
    readonly inputMint: string;
    readonly inAmount: string;
    readonly outputMint: string;
    readonly outAmount: string;
    readonly provider: string;
    readonly feeLamports: string;
    readonly relayFee?: RelayFee;
    /**
     * What caps count of it. Absent for `client.swap()`, which counts against none, and for a swap
     * of an earlier call.
     */
    readonly cost?: Receipt['cost'];
  };
  /** `cost`: what caps count of it, if the chain has decided; absent as with `swap.confirmed`. */
  'swap.failed': {
    readonly signature: string;
    readonly code: ErrorCode;
    readonly cost?: Receipt['cost'];
  };
  /** Signed and journaled; nothing has left yet. */
  'payment.signed': { readonly payerSignature: string; readonly lastValidBlockHeight: string };
  'payment.sent': { readonly url: string; readonly method: string };
  /** The seller answered the paid request. */
  'payment.answered': { readonly status: number; readonly receipt: Receipt };
  /** Our own RPC shows the payment. */
  'payment.settled': { readonly receipt: Receipt };
  /** Proved: the payment can never land. */
  'payment.unsettled': { readonly receipt: Receipt };
  /** The answer was lost, or the seller refused a signed payment; the chain decides. */
  'payment.uncertain': {
    readonly payerSignature: string;
    readonly lastValidBlockHeight: string;
    readonly code: ErrorCode;
  };
  /** The call failed before anything was signed, or after a swap. */
  'payment.failed': { readonly code: ErrorCode; readonly funds: Funds; readonly message: string };
  /** Something works less well than it could. */
  warning: { readonly message: string };
  /** A call of an RPC node has ended, at the node that was asked. */
  'rpc.called': NodeCall;
  /**
   * A step of the journal that the client was given has ended: `reserve`, `put`, `raise`, `release`,
   * `similar` or `used`. `failed` says why, if it did.
   */
  'journal.called': { readonly step: string; readonly ms: number; readonly failed?: ErrorCode };
}

export type EventName = keyof EventDetails;

/**
 * Calls come by the dozen for each step, and one may serve several payments: they are told to
 * listeners of their name alone, and not to those of `'*'`.
 */
export type CallName = 'rpc.called' | 'journal.called';

/** What `'*'` hears: the steps of payments and swaps. */
export type StepName = Exclude<EventName, CallName>;

/**
 * An event as listeners get it: `id` is the attempt's, the same on all events of one call, and
 * empty for a {@link CallName}.
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

/** What can be told lines of text, as `console` and most loggers can. */
export interface Logger {
  debug(message: string): void;
}

/** Sends what became of calls. */
export type EmitCall = <N extends CallName>(type: N, details: EventDetails[N]) => void;

export interface Events {
  on(type: '*', listener: Listener<StepName>): () => void;
  on<N extends EventName>(type: N, listener: Listener<N>): () => void;
  emitter(id: string): Emit;
  readonly emitCall: EmitCall;
}

/**
 * A registry of listeners. A listener that throws is a listener's problem: it must not stop a
 * payment half way.
 */
export function createEvents(now: () => number): Events {
  // Each set holds listeners of its own event type only; a Map cannot say so, hence the two casts
  // below.
  const listeners = new Map<string, Set<(event: never) => unknown>>();
  const call = (type: string, event: object) => {
    for (const listener of [...(listeners.get(type) ?? [])]) {
      try {
        const result = listener(event as never);
        // An async listener that fails would otherwise end the process, half way too.
        if (isPromise(result)) result.then(undefined, () => undefined);
      } catch {
        continue;
      }
    }
  };
  return {
    on(type: string, listener: (event: never) => unknown) {
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
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}
