import type { Attributes, Meter } from '@opentelemetry/api';
import { parseUiAmount } from '../../src/amount.js';
import type { ClientEvent } from '../../src/events.js';
import { errorAttributes, journalAttributes, rpcAttributes } from './attributes.js';

export interface Instruments {
  step(event: ClientEvent): void;
  rpc(event: ClientEvent<'rpc.called'>): void;
  journal(event: ClientEvent<'journal.called'>): void;
}

const USD_DECIMALS = 6;
/** Buckets of the conventions for calls, in seconds, plus 30 and 60: payments take longer. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The most begun payments and swaps that are remembered. */
const MOST_BEGUN = 4_096;

/**
 * Returns metrics of a client's events. Label values come from a small fixed set: no host of a
 * seller, amount or signature is a label.
 */
export function createInstruments(meter: Meter): Instruments {
  const duration = (name: string, description: string) => {
    const histogram = meter.createHistogram(name, {
      ...{ description, unit: 's' },
      advice: { explicitBucketBoundaries: BUCKETS },
    });
    return (ms: number, attributes: Attributes) => histogram.record(ms / 1000, attributes);
  };
  const payment = duration('exact_change.payment.duration', 'From the terms to the answer.');
  const swap = duration('exact_change.swap.duration', 'From the quote to the confirmation.');
  const rpc = duration('rpc.client.call.duration', 'Calls of RPC nodes.');
  const journal = duration('db.client.operation.duration', 'Steps of the journal.');
  const decided = meter.createCounter('exact_change.payment.decided', {
    ...{ description: 'Payments that the chain has decided on.', unit: '{payment}' },
  });
  const cost = meter.createCounter('exact_change.payment.cost', {
    ...{ description: 'What settled payments with a price cost, all in.', unit: 'u{USD}' },
  });
  const begun = new Map<string, number>();
  const begin = (name: string, at: number) => {
    if (begun.has(name)) return;
    begun.set(name, at);
    // A call that the caller gives up has no end event, so drop the oldest entry.
    const [oldest] = begun.keys();
    if (begun.size > MOST_BEGUN && oldest !== undefined) begun.delete(oldest);
  };
  const finish = (name: string, at: number): number | undefined => {
    const startedAt = begun.get(name);
    begun.delete(name);
    return startedAt === undefined ? undefined : Math.max(0, at - startedAt);
  };
  const paid = ({ id, at }: ClientEvent, outcome: string, failed?: string): void => {
    const ms = finish(`payment ${id}`, at);
    const attributes = { 'exact_change.outcome': outcome, ...errorAttributes(failed) };
    if (ms !== undefined) payment(ms, attributes);
  };
  const swapped = ({ id, at }: ClientEvent, outcome: string, failed?: string): void => {
    const ms = finish(`swap ${id}`, at);
    const attributes = { 'exact_change.outcome': outcome, ...errorAttributes(failed) };
    if (ms !== undefined) swap(ms, attributes);
  };
  return {
    step(event) {
      const { type, id, at } = event;
      switch (type) {
        case 'payment.required':
        case 'payment.chosen':
          return begin(`payment ${id}`, at);
        case 'swap.quoted':
          return begin(`swap ${id}`, at);
        case 'swap.confirmed':
          return swapped(event, 'confirmed');
        case 'swap.failed':
          return swapped(event, 'failed', event.code);
        case 'payment.answered':
          return paid(event, 'answered');
        case 'payment.uncertain':
          return paid(event, 'uncertain', event.code);
        case 'payment.failed':
          finish(`swap ${id}`, at);
          return paid(event, 'failed', event.code);
        case 'payment.settled':
        case 'payment.unsettled': {
          finish(`payment ${id}`, at);
          const { receipt } = event;
          decided.add(1, { 'exact_change.payment.state': receipt.state });
          // Micro-dollars are whole numbers, which a double holds exactly.
          if (type === 'payment.settled')
            cost.add(Number(parseUiAmount(receipt.cost.usd ?? '0', USD_DECIMALS) ?? 0n));
          return;
        }
        default:
          return;
      }
    },
    rpc: (event) => rpc(event.ms, rpcAttributes(event)),
    journal: (event) => journal(event.ms, journalAttributes(event)),
  };
}
