import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { startDeadline, untilAborted } from '../../src/internal/abort.js';
import { readAddress, whyNotPublic } from './addresses.js';
import type { Message } from './message.js';
import type { Resolve } from './resolve.js';
import { literalOf, readTarget, type TargetRules } from './target.js';

/** How an endpoint answered. */
export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/**
 * Tells an endpoint something. Rejects if there is no answer: the connection failed, took too
 * long, or is not allowed.
 */
export type Deliver = (message: Message, signal: AbortSignal) => Promise<Answer>;

export interface DeliverParts {
  readonly rules: TargetRules;
  readonly resolve: Resolve;
  /** For one delivery, from the question for its name to the answer. */
  readonly timeoutMs: number;
}

/**
 * What an answer says besides its status is read, so that its sender sees it taken, and dropped.
 */
const MAX_ANSWER_BYTES = 16_384;
export const DRAIN_MS = 1_000;

/**
 * Delivers over connections of its own: no proxy of the environment, no redirect, and no address
 * that was not checked for this delivery.
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
        : addresses.find((one) => whyNotPublic(one) !== undefined);
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

function post(
  url: URL,
  addresses: readonly string[],
  { headers, body }: Message,
  signal: AbortSignal,
): Promise<Answer> {
  const options: RequestOptions & { readonly rejectUnauthorized: boolean } = {
    method: 'POST',
    headers: { ...headers, 'content-length': new TextEncoder().encode(body).length },
    // A connection for this delivery alone. Those of a pool were checked for another.
    agent: false,
    lookup: pinnedTo(addresses),
    // Also if the environment turns it off.
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
      // Said with its head: what becomes of the rest changes nothing.
      const said = {
        status: incoming.statusCode ?? 0,
        retryAfter: incoming.headers['retry-after'],
      };
      answer = said;
      void drained(incoming).then(() => {
        outgoing.destroy();
        resolve(said);
      });
    });
    outgoing.end(body);
  });
}

/** Waits for the end of an answer, but not for more than is sensible of one that is not read. */
function drained(incoming: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, DRAIN_MS);
    const done = () => {
      clearTimeout(late);
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
 * Names lead to what was checked, whatever they lead to by now. IPv4 first: before Node 20 only one
 * is tried.
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
