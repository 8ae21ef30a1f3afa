import type { Connection } from '@solana/web3.js';
import { bounded } from '../../internal/abort.js';
import { isStream } from '../../internal/kept-body.js';
import { readUpTo } from '../../internal/read-up-to.js';
import { loadOnce } from '../../internal/load-once.js';
import { refuse } from '../../internal/options.js';
import { parseJson } from '../../internal/parse.js';
import { markOwnRequest, uncached } from '../../internal/own-request.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import { hideAddress } from '../../internal/redact.js';
import { isAddress } from '../address.js';
import type { Node, Request } from './failover.js';
import { Fault, jsonRpcFault, shownHost } from './fault.js';
import { asFields } from './reply.js';

export function httpNode(url: string, customFetch: typeof fetch | undefined): Node {
  let requests = 0;
  return {
    host: shownHost(url),
    async request(method, params, signal) {
      const id = (requests += 1);
      const response = await send(customFetch, url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
        ...uncached(),
        signal,
      });
      const text = await readText(response);
      if (!response.ok) throw statusFault(response);
      const reply = parseJson(text);
      if (!isRecord(reply)) throw new Fault('invalid', 'it is not a JSON object');
      const result = resultOf(reply);
      if (reply['id'] !== id) throw new Fault('invalid', 'it answers another question');
      return result;
    },
  };
}

/** Creates a node over the caller's Connection, which has its own fetch and errors. */
export function connectionNode(connection: Connection): Node {
  const { rpcEndpoint } = connection;
  hideAddress(rpcEndpoint);
  // The public methods of a Connection convert the answer, so the raw request is used.
  const ask: unknown = Reflect.get(connection, '_rpcRequest');
  if (typeof ask !== 'function')
    throw refuse('connection', 'must be a Connection of @solana/web3.js 1.');
  return {
    host: shownHost(rpcEndpoint),
    async request(method, params) {
      let reply: unknown;
      try {
        reply = await Reflect.apply(ask, connection, [method, params]);
      } catch (cause) {
        if (cause instanceof Error && cause.message.startsWith('429 '))
          throw new Fault('rate_limited', 'it answered with status 429');
        throw new Fault('unavailable', 'the connection failed', { cause });
      }
      return resultOf(asFields(reply));
    },
  };
}

async function send(
  customFetch: typeof fetch | undefined,
  url: string,
  init: RequestInit,
): Promise<Response> {
  try {
    // The global fetch is looked up for each call, because it may be set later, or replaced in
    // tests.
    return await (customFetch === undefined
      ? globalThis.fetch(url, markOwnRequest(init))
      : customFetch(url, markOwnRequest(init)));
  } catch (cause) {
    throw new Fault('unavailable', 'the connection failed', { cause });
  }
}

/**
 * Longest body: far more than any swap's accounts or any wallet's tokens need. A foreign
 * transaction may name a hundred accounts of 10 MB each.
 */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Reads the body of any response, also of an error, so that the socket can be reused. It stops at a
 * body that is larger than any honest answer.
 */
async function readText(response: Response): Promise<string> {
  const text = await unbroken(async () => {
    if (!isStream(response.body)) return response.text();
    const body = await readUpTo({ size: MAX_BODY_BYTES }, response.body.getReader());
    return body && new TextDecoder().decode(body);
  });
  // The other nodes would send the same long answer.
  if (text === undefined)
    throw new Fault('refused', `its answer is longer than ${MAX_BODY_BYTES} bytes`);
  return text;
}

async function unbroken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new Fault('unavailable', 'the connection broke off', { cause });
  }
}

function statusFault({ status, headers }: Response): Fault {
  const retryAfterMs = readRetryAfter(headers.get('retry-after'));
  const kind = status === 429 ? 'rate_limited' : 'unavailable';
  return new Fault(kind, `it answered with status ${status}`, { retryAfterMs });
}

/** Reads the header's seconds or date as milliseconds. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^[0-9]{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

/** Returns the result of an answer. Throws the fault for a JSON-RPC error. */
function resultOf({ result, error }: UnknownRecord): unknown {
  if (error === undefined || error === null) return result;
  const { code, message } = isRecord(error) ? error : {};
  if (typeof code !== 'number' || !Number.isSafeInteger(code))
    throw new Fault('invalid', 'it is an error without a code');
  throw jsonRpcFault(code, typeof message === 'string' ? message : undefined);
}

/** A finished call of an RPC node. */
export interface NodeCall {
  /** The JSON-RPC method. */
  readonly method: string;
  /** The node's host as it may be shown. */
  readonly host?: string;
  readonly ms: number;
  /** The kind of fault in one word; absent if the call succeeded. */
  readonly failed?: string;
}

export interface CallTimer {
  now(): number;
  onCall(call: NodeCall): void;
}

/** Wraps a node so that `timer` gets the duration of each call, and the kind of its fault. */
export function timedNode(node: Node, timer: CallTimer): Node {
  const { host } = node;
  return {
    ...node,
    async request(method, params, signal) {
      const startedAt = timer.now();
      const report = (failed?: string) =>
        timer.onCall({
          method,
          ...(host === undefined ? {} : { host }),
          ms: Math.max(0, timer.now() - startedAt),
          ...(failed === undefined ? {} : { failed }),
        });
      try {
        const result = await node.request(method, params, signal);
        report();
        return result;
      } catch (error) {
        report(error instanceof Fault ? error.kind : 'unavailable');
        throw error;
      }
    },
  };
}

export async function askGenesis(request: Request): Promise<string> {
  const hash = await request('getGenesisHash', []);
  if (!isAddress(hash)) throw new Fault('invalid', 'the genesis hash is not one');
  return hash;
}

/** Returns the CAIP-2 id of the network with this genesis hash. */
export function networkOf(genesisHash: string): string {
  return `solana:${genesisHash.slice(0, 32)}`;
}

/**
 * Wraps a node so that its answers count only after it has shown its network: with several nodes,
 * a wrong url is more likely. Waiting calls share one request for the genesis hash. After a failure
 * the next call asks again.
 */
export function checkedNode(
  node: Node,
  network: string,
  timeoutMs: number,
  closed: AbortSignal,
): Node {
  const timeoutFault = () => new Fault('timeout', 'it did not answer in time');
  const genesis = loadOnce(() =>
    bounded(timeoutMs, timeoutFault, [closed], (signal) =>
      askGenesis((method, params) => node.request(method, params, signal)),
    ),
  );
  return {
    ...node,
    genesis,
    async checkNetwork() {
      const actual = networkOf(await genesis());
      if (actual !== network)
        throw new Fault('foreign', 'it serves another network', {
          networks: { expected: network, actual },
        });
    },
  };
}
