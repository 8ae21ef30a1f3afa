import type { Connection } from '@solana/web3.js';
import { untilAborted } from '../../internal/abort.js';
import { loadOnce, lazyPart } from '../../internal/load-once.js';
import type { Runtime } from '../../internal/runtime.js';
import { askNodes, inTurn, type Node, type Request } from './failover.js';
import { Fault } from './fault.js';
import {
  askGenesis,
  checkedNode,
  connectionNode,
  httpNode,
  timedNode,
  type CallTimer,
} from './nodes.js';
import { checked, readBlockhash, readTip, settings, tipAt } from './tip.js';
import { asAnswers, asFlag, orNull, readAccount, readContext, readStatus } from './reply.js';
import type { CallOptions, Rpc, Tip } from './rpc.js';
import type { AccountWatch, SignatureSocket } from './signature-socket.js';

export type { Connection } from '@solana/web3.js';

export interface ConnectOptions {
  /** Checked addresses: the first node is the primary, and the others take over if it fails. */
  readonly urls: readonly string[];
  /** WebSocket for signatures; by default the address that web3.js assumes for the primary. */
  readonly wsUrl?: string | undefined;
  /** Default: `globalThis.fetch`, looked up for each call. */
  readonly fetch?: typeof fetch | undefined;
  /** Milliseconds for each call, all attempts together. */
  readonly timeoutMs: number;
  /**
   * The caller's own connection, used instead of `urls`. Its WebSocket is not used, because web3.js
   * prints the WebSocket's errors.
   */
  readonly connection?: Connection | undefined;
  /** CAIP-2 id. Answers of a node on another network do not count. Default: all answers count. */
  readonly network?: string;
  readonly timer?: CallTimer | undefined;
  /** Clock of the cache of `kept-answers.ts`. Default: no cache. */
  readonly clock?: Pick<Runtime, 'now'> | undefined;
}

/** Loads the code that a payment does not need if it settles as its seller says. */
const rareCalls = /* @__PURE__ */ lazyPart(() => import('./rare-calls.js'));

/** Connects to RPC nodes. It opens no connection before the first call. */
export function connectRpc(options: ConnectOptions): Rpc {
  const { urls, wsUrl, timeoutMs, connection, network, timer } = options;
  const closing = new AbortController();
  const plain =
    connection === undefined
      ? urls.map((url) => httpNode(url, options.fetch))
      : [connectionNode(connection)];
  const timed = timer === undefined ? plain : plain.map((node) => timedNode(node, timer));
  const nodes =
    network === undefined
      ? timed
      : timed.map((node) => checkedNode(node, network, timeoutMs, closing.signal));
  const socket = socketWhenNeeded(
    connection === undefined ? urls[0] : wsUrl === undefined ? undefined : connection.rpcEndpoint,
    wsUrl,
  );
  return rpcOver({ nodes, timeoutMs, closing, socket, clock: options.clock });
}

interface Nodes {
  readonly nodes: readonly Node[];
  readonly timeoutMs: number;
  readonly closing: AbortController;
  readonly socket: SignatureSocket;
  readonly clock: ConnectOptions['clock'];
}

function rpcOver(options: Nodes): Rpc {
  const { nodes, timeoutMs, closing, socket, clock } = options;
  /** Waits for code, but no longer than for the call: a file may never arrive. */
  const wanted = <T>(code: Promise<T>, call: CallOptions | undefined): Promise<T> =>
    untilAborted(closing.signal.aborted ? code : untilAborted(code, closing.signal), call?.signal);
  const askBy = <T>(
    method: string,
    call: CallOptions | undefined,
    ask: (request: Request, node: Node) => Promise<T>,
    unchecked = false,
  ): Promise<T> =>
    askNodes(nodes, timeoutMs, closing.signal, { signal: call?.signal, ask, unchecked }).catch(
      async (error: unknown) => {
        if (!(error instanceof Fault) || error === call?.signal?.reason) throw error;
        const { toTransportError } = await wanted(rareCalls(), call);
        throw toTransportError(error, method, timeoutMs);
      },
    );
  const ask = <T>(
    method: string,
    params: readonly unknown[],
    call: CallOptions | undefined,
    read: (result: unknown) => T,
  ): Promise<T> => askBy(method, call, async (request) => read(await request(method, params)));

  // Load this before a node is asked: a file that cannot load is not the node's fault.
  const loadRare = loadOnce(async () => {
    const { cacheAnswers, rareMethods } = await rareCalls();
    return clock === undefined ? rareMethods(ask) : cacheAnswers(rareMethods(ask), clock);
  });
  const rare = (call: CallOptions | undefined) => wanted(loadRare(), call);

  /** The tip of each node by its last blockhash. */
  const tips = new Map<Node, Tip>();
  let single: ReadonlyMap<Node, Rpc> | undefined;
  const singles = () =>
    (single ??= new Map(
      nodes.map((node) => [
        node,
        nodes.length === 1 ? rpc : rpcOver({ ...options, nodes: [node] }),
      ]),
    ));

  const rpc: Rpc = {
    accounts: async (addresses, call) => {
      const config = { ...settings(call, call?.commitment), encoding: 'base64' };
      return ask('getMultipleAccounts', [checked(addresses), config], call, (result) => {
        const { slot, value } = readContext(result, call);
        const accounts = asAnswers(value, addresses, 'accounts');
        return { slot, accounts: accounts.map((account) => orNull(account, readAccount)) };
      });
    },

    latestBlockhash: (call) =>
      askBy('getLatestBlockhash', call, async (request, node) => {
        const latest = await readBlockhash(request, tips.get(node), call);
        tips.set(node, tipAt(latest));
        return latest;
      }),

    tip: (commitment, call) =>
      askBy('getEpochInfo', call, (request) => readTip(request, commitment, call)),

    isBlockhashValid: (blockhash, call) =>
      ask('isBlockhashValid', [blockhash, settings(call, call?.commitment)], call, (result) => {
        const { slot, value } = readContext(result, call);
        return { slot, valid: asFlag(value) };
      }),

    tokenAccounts: async (owner, call) => (await rare(call)).tokenAccounts(owner, call),
    firstSlot: async (call) => (await rare(call)).firstSlot(call),
    rent: async (bytes, call) => (await rare(call)).rent(bytes, call),
    priorityFees: async (accounts, call) => (await rare(call)).priorityFees(accounts, call),
    send: async (transaction, call) => (await rare(call)).send(transaction, call),
    signaturesFor: async (address, call) => (await rare(call)).signaturesFor(address, call),

    simulate: async (transaction, watch, call) => {
      const { simulate } = await wanted(rareCalls(), call);
      return askBy('simulateTransaction', call, (request) =>
        simulate(request, transaction, watch, call),
      );
    },

    statuses: (signatures, call) => {
      const config = { searchTransactionHistory: call?.history === true };
      return ask('getSignatureStatuses', [signatures, config], call, (result) =>
        asAnswers(readContext(result, call).value, signatures, 'statuses').map((status) =>
          orNull(status, readStatus),
        ),
      );
    },

    transaction: async (signature, call) => {
      const { readTransaction } = await wanted(rareCalls(), call);
      return askBy('getTransaction', call, (request) => readTransaction(request, signature));
    },

    genesisHash: (call) =>
      askBy(
        'getGenesisHash',
        call,
        (request, node) => node.genesis?.() ?? askGenesis(request),
        true,
      ),

    onSignature: (signature, listener) => socket.subscribe(signature, listener),

    onAccount: (address, listener) => socket.watchAccount(address, listener),

    perNode: () => inTurn(nodes).flatMap((node) => singles().get(node) ?? []),

    close(reason = new Fault('unavailable', 'the connection was closed')) {
      closing.abort(reason);
      socket.close();
    },
  };
  return rpc;
}

/** Returns a socket that loads its code with its first listener. */
function socketWhenNeeded(
  endpoint: string | undefined,
  wsUrl: string | undefined,
): SignatureSocket {
  let loading: Promise<SignatureSocket> | undefined;
  let closed = false;
  const start = loadOnce(async () => (await rareCalls()).createSignatureSocket(endpoint, wsUrl));
  const load = () => (loading = start());
  // A failed load needs no report, because each listener polls as well.
  const silent = () => undefined;
  const watch = (begin: (socket: SignatureSocket) => AccountWatch): AccountWatch => {
    let watched: AccountWatch | undefined;
    let ended = false;
    load().then((socket) => {
      if (!ended && !closed) watched = begin(socket);
    }, silent);
    return {
      subscription: () => watched?.subscription(),
      end() {
        ended = true;
        watched?.end();
      },
    };
  };
  return {
    subscribe: (signature, listener) =>
      watch((socket) => ({
        subscription: silent,
        end: socket.subscribe(signature, listener),
      })).end,
    watchAccount: (address, listener) => watch((socket) => socket.watchAccount(address, listener)),
    close() {
      closed = true;
      loading?.then((socket) => socket.close(), silent);
    },
  };
}
