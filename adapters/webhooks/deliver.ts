import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction, TcpSocketConnectOpts } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { startDeadline, untilAborted } from '../../src/internal/abort.js';
import { readAddress, whyNotPublic } from './addresses.js';
import type { Message } from './message.js';
import type { Resolve } from './resolve.js';
import { literalOf, readTarget, type TargetRules } from './target.js';

/** The status and the `Retry-After` header of an endpoint's answer. */
export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/**
 * Sends a message to an endpoint. Rejects if there is no answer: the connection failed, took too
 * long, or is not allowed.
 */
export type Deliver = (message: Message, signal: AbortSignal) => Promise<Answer>;

export interface DeliverParts {
  readonly rules: TargetRules;
  readonly resolve: Resolve;
  /** Milliseconds for one delivery, from the DNS lookup to the answer. */
  readonly timeoutMs: number;
}

/**
 * Bytes of an answer's body that are read and dropped, so that the endpoint sees its answer taken.
 */
const MAX_ANSWER_BYTES = 16_384;
export const DRAIN_MS = 1_000;

/**
 * Milliseconds for the connection to one of several addresses. Node's default of 250 gives up a far
 * endpoint whose other address leads nowhere.
 */
const CONNECT_MS = 4_000;

/**
 * Returns a function that delivers over its own connections. It uses no proxy of the environment,
 * follows no redirect, and connects only to addresses that it checked for this delivery.
 */
export function deliverOver({ rules, resolve, timeoutMs }: DeliverParts): Deliver {
  return async (message, signal) => {
    const deadline = startDeadline(timeoutMs, signal);
    try {
      const url = readTarget(message.url, rules);
      const addresses = await untilAborted(
        addressesOf(url, resolve, deadline.signal),
        deadline.signal,
      );
      const refused = rules.allowPrivate
        ? undefined
        : addresses.find((address) => whyNotPublic(address) !== undefined);
      if (addresses.length === 0 || refused !== undefined)
        throw new Error('The name of the endpoint does not lead outside, or nowhere.');
      return await post(url, addresses, message, deadline.signal);
    } finally {
      deadline.end();
    }
  };
}

async function addressesOf(
  url: URL,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const literal = literalOf(url);
  return literal === undefined ? resolve(url.hostname, signal) : [literal];
}

type PostOptions = Pick<ConnectionOptions, 'rejectUnauthorized'> &
  Pick<TcpSocketConnectOpts, 'autoSelectFamilyAttemptTimeout'>;

function post(
  url: URL,
  addresses: readonly string[],
  { headers, body }: Message,
  signal: AbortSignal,
): Promise<Answer> {
  const options: RequestOptions & PostOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': new TextEncoder().encode(body).length },
    // A new connection for each delivery: a pooled connection was checked for another delivery.
    agent: false,
    lookup: pinnedTo(addresses),
    autoSelectFamilyAttemptTimeout: CONNECT_MS,
    // Set it here, because the environment may turn it off.
    rejectUnauthorized: true,
    signal,
  };
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options);
    let answer: Answer | undefined;
    const lost = (error: Error) => (answer === undefined ? reject(error) : resolve(answer));
    outgoing.on('error', lost);
    outgoing.on('close', () =>
      lost(new Error('The connection was closed before there was an answer.')),
    );
    outgoing.on('response', (incoming) => {
      // Only the head of the answer counts, so an error in its body changes nothing.
      const head = {
        status: incoming.statusCode ?? 0,
        retryAfter: incoming.headers['retry-after'],
      };
      answer = head;
      void drained(incoming).then(() => {
        outgoing.destroy();
        resolve(head);
      });
    });
    outgoing.end(body);
  });
}

/** Resolves at the end of an answer, or after `DRAIN_MS` or `MAX_ANSWER_BYTES`. */
function drained(incoming: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, DRAIN_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    let left = MAX_ANSWER_BYTES;
    incoming.on('data', (chunk: Uint8Array) => {
      left -= chunk.length;
      if (left < 0) done();
    });
    for (const end of ['end', 'error', 'close']) incoming.on(end, done);
  });
}

/**
 * Returns a lookup that always gives the checked addresses, whatever DNS says by now. IPv4 comes
 * first, because Node before 20 tries only one address.
 */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const entries = addresses
    .map((address) => ({ address, family: readAddress(address)?.version ?? 0 }))
    .sort((a, b) => a.family - b.family);
  return (_, { all }, callback) => {
    const [first] = entries;
    if (all === true || first === undefined) callback(null, entries);
    else callback(null, first.address, first.family);
  };
}
