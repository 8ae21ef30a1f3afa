import * as v from 'valibot';
import type { Transport } from '../transport.js';
import { balanceRequest, balanceResponse } from './balance.js';
import { autoPayRequest, parsedPayment, paymentParts, paymentResult } from './payment.js';
import { buildRequest, quoteRequest, swapQuote, swapTransaction } from './swap.js';

/**
 * An operation of the REST interface. Its request is its query, if it has one, or its JSON body.
 */
export interface Operation<Q = unknown, A = unknown> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** Fields of the query that may repeat, and fields that are numbers. */
  readonly query?: { readonly lists: readonly string[]; readonly numbers: readonly string[] };
  readonly request: v.GenericSchema<unknown, Q>;
  readonly response: v.GenericSchema<unknown, A>;
}

export const operation = <Q, A>(definition: Operation<Q, A>): Operation<Q, A> => definition;

const health = v.object({ status: v.literal('ok') });

/**
 * Operations by id. The service serves them; `remote` and the OpenAPI document are made from them.
 */
export const operations = {
  quote: operation({
    method: 'GET',
    path: '/api/quote',
    query: { lists: [], numbers: ['slippageBps', 'maxAccounts'] },
    request: quoteRequest,
    response: swapQuote,
  }),
  buildSwap: operation({
    method: 'POST',
    path: '/api/swap/build',
    request: buildRequest,
    response: swapTransaction,
  }),
  balance: operation({
    method: 'GET',
    path: '/api/balance',
    query: { lists: ['mint'], numbers: [] },
    request: balanceRequest,
    response: balanceResponse,
  }),
  parsePayment: operation({
    method: 'POST',
    path: '/api/x402/parse-payment',
    request: paymentParts,
    response: parsedPayment,
  }),
  autoPay: operation({
    method: 'POST',
    path: '/api/x402/auto-pay',
    request: autoPayRequest,
    response: paymentResult,
  }),
} satisfies { readonly [O in Exclude<keyof Transport, 'swapInstruction' | 'distant'>]: Operation };

export type OperationId = keyof typeof operations;

/** Pages about the service: its health, its interface and its metrics. None needs a transport. */
export const pages = {
  health: { method: 'GET', path: '/api/health', response: health },
  openapi: { method: 'GET', path: '/openapi.json' },
  metrics: operation({
    method: 'GET',
    path: '/metrics',
    query: { lists: [], numbers: [] },
    request: v.object({}),
    response: v.string(),
  }),
} as const;
