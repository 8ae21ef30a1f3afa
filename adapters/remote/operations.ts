import { bounded } from '../../src/internal/abort.js';
import { createHttp } from '../../src/internal/http.js';
import { refuse } from '../../src/internal/options.js';
import {
  signedIn,
  type PaymentResult,
  type Transport,
  type TransportOptions,
} from '../../src/transport.js';
import { operations, type Operation } from '../../src/wire/operations.js';
import { PROBLEM_TYPE, unusable } from '../../src/wire/problem.js';
import { writeQuery } from '../../src/wire/query.js';
import { readRequest } from '../../src/wire/read.js';
import { checkOrder, checkWallet } from '../check-order.js';
import { answerOf } from './answer.js';
import type { RemoteSettings } from './lazily.js';
import { servicePeer } from './peer.js';

const ACCEPTED = `application/json, ${PROBLEM_TYPE}`;

/** States of a payment that the caller has signed. By any other state it would sign another. */
const AFTER_PAYMENT: readonly PaymentResult['state'][] = [
  'ready_to_present',
  'submitted',
  'settled',
  'failed',
];

/** @internal Returns the operations of the remote transport. Loaded with ky by the first call. */
export function createRemote(settings: RemoteSettings): Transport {
  const call = createCall(settings);
  return {
    quote: (request, options) => call(operations.quote, request, options),
    async buildSwap({ wallet, quote }, options) {
      checkOrder(wallet, quote);
      return call(operations.buildSwap, { wallet, quote }, options);
    },
    async balance({ wallet, mint }, options) {
      checkWallet(wallet);
      const mints = typeof mint === 'string' ? [mint] : mint;
      // A query without mints would ask for all balances.
      if (mints?.length === 0) return [];
      const answer = await call(operations.balance, { wallet, mint: mints }, options);
      const balances = Array.isArray(answer) ? answer : [answer];
      if (mints !== undefined && balances.length !== mints.length)
        throw unusable('it has not one balance for each mint');
      return balances;
    },
    parsePayment: (parts, options) => call(operations.parsePayment, parts, options),
    async autoPay(request, options) {
      const result = await call(operations.autoPay, request, options);
      if (signedIn(request) === 'payment' && !AFTER_PAYMENT.includes(result.state))
        throw unusable('it plans another payment beside the signed one', 'payment');
      return result;
    },
  };
}

type RemoteCall = <Q, A>(
  operation: Operation<Q, A>,
  request: object,
  options: TransportOptions | undefined,
) => Promise<A>;

function createCall({
  baseUrl,
  fetch,
  headers,
  timeoutMs,
  maxBodyBytes,
  runtime,
}: RemoteSettings): RemoteCall {
  return async (operation, request, options) => {
    const body = asArriving(request);
    const sent = signedIn(body);
    readRequest(operation, body);
    const { url, init } = requestOf(operation, baseUrl, body);
    const peer = servicePeer(sent);
    // Send signed transactions only once: the chain shows if they arrived, another try does not.
    const once = sent === undefined ? {} : { attempts: 1 };
    const http = createHttp({ fetch, timeoutMs, maxBodyBytes, runtime, peer, ...once });
    const timeoutError = () => peer.late(timeoutMs, 1);
    return bounded(timeoutMs, timeoutError, [options?.signal], async (signal) => {
      const response = await http(url, {
        ...init,
        headers: { ...headers, accept: ACCEPTED, ...init.headers },
        signal,
      });
      return answerOf(operation, response, sent);
    });
  };
}

/** Returns a request as the service will parse it: without bigints and undefined fields. */
function asArriving(request: object): object {
  try {
    const text = JSON.stringify(request, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    // Requests are plain objects, so their JSON is an object too.
    return JSON.parse(text) as object;
  } catch {
    throw refuse('request', 'must be what JSON can hold.');
  }
}

function requestOf({ method, path }: Operation, baseUrl: string, body: object) {
  if (method === 'GET')
    return {
      url: `${baseUrl}${path}?${writeQuery(body).toString()}`,
      init: { method, headers: {} },
    };
  return {
    url: baseUrl + path,
    init: { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  };
}
