import {
  context,
  createContextKey,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { isExactChangeError } from '../../src/errors.js';
import type { ClientEvent } from '../../src/events.js';
import {
  callAttributes,
  errorAttributes,
  journalAttributes,
  methodOf,
  receiptAttributes,
  rpcAttributes,
} from './attributes.js';

/** The open spans of one call of the client. */
interface Call {
  id?: string;
  payment?: Span | undefined;
  swap?: Span | undefined;
  /** The request with the payment. */
  request?: Span | undefined;
  method?: string;
  /** When the wait for the chain began. Milliseconds since the epoch. */
  confirmingSince?: number;
}

export interface Spans {
  /** Runs a call of the client, so that spans of RPC and journal calls become its children. */
  within<T>(work: () => Promise<T>): Promise<T>;
  step(event: ClientEvent): void;
  rpc(event: ClientEvent<'rpc.called'>): void;
  journal(event: ClientEvent<'journal.called'>): void;
}

const CALL = createContextKey('exact-change call');
/** The most calls in memory. Calls that a closed client left open must not pile up. */
const MOST_CALLS = 4_096;

/** Returns spans of a client's events. */
export function createSpans(tracer: Tracer): Spans {
  /** Calls by id; all events of a call have its id. */
  const calls = new Map<string, Call>();

  const start = (
    name: string,
    at: number,
    parent: Span | undefined,
    { attributes, kind = SpanKind.INTERNAL }: { attributes: Attributes; kind?: SpanKind },
  ): Span => {
    const active = context.active();
    return tracer.startSpan(
      name,
      { startTime: new Date(at), attributes, kind },
      parent === undefined ? active : trace.setSpan(active, parent),
    );
  };
  const callOf = ({ id }: ClientEvent): Call => {
    const known = calls.get(id);
    if (known !== undefined) return known;
    const active = activeCall();
    // A call whose payment has settled may still ask its seller again.
    const call = active !== undefined && (active.id ?? id) === id ? active : {};
    call.id = id;
    calls.set(id, call);
    const [oldest] = calls.keys();
    if (calls.size > MOST_CALLS && oldest !== undefined) calls.delete(oldest);
    return call;
  };
  const paymentOf = (call: Call, { id, at }: ClientEvent): Span =>
    (call.payment ??= start('exact_change.payment', at, undefined, {
      attributes: { 'exact_change.payment.id': id },
    }));
  /** Ends the open spans of a call, and forgets the call unless it waits for the chain. */
  const endCall = (call: Call, at: number, failed?: string): void => {
    for (const part of ['request', 'swap', 'payment'] as const) end(call[part], at, failed);
    [call.request, call.swap] = [undefined, undefined];
    if (call.confirmingSince === undefined && call.id !== undefined) calls.delete(call.id);
  };

  const step = (event: ClientEvent): void => {
    const { at, id } = event;
    if (isEnd(event) && !calls.has(id)) return;
    const call = callOf(event);
    switch (event.type) {
      case 'payment.required':
        call.method = event.method;
        paymentOf(call, event).setAttributes(callAttributes(event));
        return;
      case 'payment.chosen':
        paymentOf(call, event).setAttributes({
          'exact_change.payment.network': event.network,
          'exact_change.payment.mint': event.mint,
          'exact_change.payment.amount': event.amount,
          'exact_change.payment.pay_to': event.payTo,
        });
        return;
      case 'swap.quoted': {
        const attributes = {
          'exact_change.swap.input_mint': event.inputMint,
          'exact_change.swap.output_mint': event.outputMint,
          'exact_change.swap.max_in_amount': event.maxInAmount,
          'exact_change.swap.min_out_amount': event.minOutAmount,
          'exact_change.swap.provider': event.provider,
        };
        call.swap ??= start('exact_change.swap', at, call.payment, { attributes });
        call.swap.setAttributes(attributes);
        return;
      }
      case 'swap.confirmed':
        call.swap?.setAttributes({
          'exact_change.swap.in_amount': event.inAmount,
          'exact_change.swap.out_amount': event.outAmount,
          'exact_change.swap.fee_lamports': event.feeLamports,
        });
        return endSwap(call, event);
      case 'swap.failed':
        return endSwap(call, event, event.code);
      case 'swap.signed':
        call.swap?.addEvent(
          event.type,
          { 'exact_change.signature': event.signature },
          new Date(at),
        );
        return;
      case 'payment.signed':
        paymentOf(call, event).addEvent(
          event.type,
          { 'exact_change.signature': event.payerSignature },
          new Date(at),
        );
        return;
      case 'payment.sent':
        call.request = start(methodOf(event.method), at, paymentOf(call, event), {
          attributes: callAttributes(event),
          kind: SpanKind.CLIENT,
        });
        return;
      case 'payment.answered': {
        const { status, receipt } = event;
        const failed = status >= 400 ? `${status}` : undefined;
        call.request?.setAttribute('http.response.status_code', status);
        end(call.request, at, failed);
        call.request = undefined;
        call.payment?.setAttributes({
          'http.response.status_code': status,
          ...receiptAttributes(receipt),
        });
        // The chain decides after the answer, if the payment can settle at all.
        call.confirmingSince = at;
        return endCall(call, at);
      }
      case 'payment.uncertain':
        call.confirmingSince = at;
        call.payment?.setAttribute('exact_change.payment.state', 'uncertain');
        return endCall(call, at, event.code);
      case 'payment.failed':
        paymentOf(call, event).setAttribute('exact_change.payment.funds', event.funds);
        return endCall(call, at, event.code);
      case 'payment.settled':
      case 'payment.unsettled': {
        const attributes = receiptAttributes(event.receipt);
        const since = call.confirmingSince ?? at;
        end(start('exact_change.confirmation', since, call.payment, { attributes }), at);
        // A payment that the caller presents has no answer event, so it ends here.
        delete call.confirmingSince;
        return endCall(call, at);
      }
      case 'balance.checked':
      case 'warning':
        return;
    }
  };
  const endSwap = (call: Call, { at, id }: ClientEvent, failed?: string): void => {
    end(call.swap, at, failed);
    call.swap = undefined;
    if (call.payment === undefined) calls.delete(id);
  };
  /** Makes the span of an ended RPC or journal call, as a child of the active swap or payment. */
  const called = (
    name: string,
    { at, ms, failed }: { readonly at: number; readonly ms: number; readonly failed?: string },
    options: { attributes: Attributes; kind?: SpanKind },
  ): void => {
    const call = activeCall();
    end(start(name, at - ms, call?.swap ?? call?.payment, options), at, failed);
  };

  return {
    step,
    within(work) {
      const call: Call = {};
      const done = () => endCall(call, Date.now());
      const running = context.with(context.active().setValue(CALL, call), work);
      // An error of a span processor would end the process here.
      running
        .then(done, (error: unknown) =>
          endCall(call, Date.now(), isExactChangeError(error) ? error.code : 'unknown'),
        )
        .catch(() => undefined);
      return running;
    },
    rpc: (event) =>
      called(event.method, event, { attributes: rpcAttributes(event), kind: SpanKind.CLIENT }),
    journal: (event) =>
      called(`journal ${event.step}`, event, { attributes: journalAttributes(event) }),
  };
}

/** Returns the running call, if a context manager keeps the context over `await`. */
function activeCall(): Call | undefined {
  // Only this module has the key, so the value is a `Call`.
  return context.active().getValue(CALL) as Call | undefined;
}

/** Whether an event only ends a span: for a call of an earlier process there is no span to end. */
function isEnd({ type }: ClientEvent): boolean {
  return /^(?:swap\.(?:confirmed|failed)|payment\.(?:settled|unsettled)|warning)$/.test(type);
}

/** Ends a span, unless it has ended. */
function end(span: Span | undefined, at: number, failed?: string): void {
  if (span?.isRecording() !== true) return;
  if (failed !== undefined) {
    span.setAttributes(errorAttributes(failed));
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(new Date(at));
}
