import type { Connection } from '@solana/web3.js';
import { untilAborted } from '../../internal/abort.js';
import { loadOnce, part } from '../../internal/load-once.js';
import type { Runtime } from '../../internal/runtime.js';
import { askNodes, inTurn, type Node, type Request } from './failover.js';
import { Fault } from './fault.js';
import {
  askGenesis,
  checkedNode,
  checkUrls,
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
  /** The first is the primary, the others take over when it fails. */
  readonly urls: readonly string[];
  /** Where signatures are announced; by default where web3.js supposes it for the primary. */
  readonly wsUrl?: string;
  /** Default: `globalThis.fetch`, looked up for each call. */
  readonly fetch?: typeof fetch | undefined;
  /** For each call, all attempts together. */
  readonly timeoutMs: number;
  /**
   * The caller's own, asked instead of `urls`. Its WebSocket is not touched: web3.js prints the
   * errors of it.
   */
  readonly connection?: Connection;
  /** CAIP-2 id: answers of a node that serves another do not count. Default: they all do. */
  readonly network?: string;
  /** Hears of each call of a node. */
  readonly timer?: CallTimer;
  /** Answers that hold for a while are kept by it: see `kept-answers.ts`. Default: none is. */
  readonly clock?: Pick<Runtime, 'now'> | undefined;
}

/** What a payment does without that settles as its seller says. */
const rareCalls = /* @__PURE__ */ part(() => import('./rare-calls.js'));

/** Connects to one or several RPC nodes. Opens nothing until it is asked something. */
export function connectRpc(options: ConnectOptions): Rpc {
  const { urls, wsUrl, timeoutMs, connection, network, timer } = options;
  if (connection === undefined) checkUrls('rpcUrl', urls, /^https?:$/);
  if (wsUrl !== undefined) checkUrls('wsUrl', [wsUrl], /^wss?:$/);
  const closing = new AbortController();
  const plain =
    connection === undefined
      ? urls.map((url) => httpNode(url, options.fetch))
      : [connectionNode(connection)];
  const given = timer === undefined ? plain : plain.map((node) => timedNode(node, timer));
  const nodes =
    network === undefined
      ? given
      : given.map((node) => checkedNode(node, network, timeoutMs, closing.signal));
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

function rpcOver(all: Nodes): Rpc {
  const { nodes, timeoutMs, closing, socket, clock } = all;
  /** Files may never come: they are waited for no longer than what is asked for them. */
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

  // Loaded before a node is asked: that it could not be is no fault of a node.
  const loadRare = loadOnce(async () => {
    const { keepAnswers, rareMethods } = await rareCalls();
    return clock === undefined ? rareMethods(ask) : keepAnswers(rareMethods(ask), clock);
  });
  const rare = (call: CallOptions | undefined) => wanted(loadRare(), call);

  /** What each node's last blockhash told of its height. */
  const tips = new Map<Node, Tip>();
  let single: ReadonlyMap<Node, Rpc> | undefined;
  const singles = () =>
    (single ??= new Map(
      nodes.map((node) => [node, nodes.length === 1 ? rpc : rpcOver({ ...all, nodes: [node] })]),
    ));

  const rpc: Rpc = {
    accounts: async (addresses, call) => {
      const config = { ...settings(call, call?.commitment), encoding: 'base64' };
      return ask('getMultipleAccounts', [checked(addresses), config], call, (result) => {
        const { slot, value } = readContext(result, call);
        const accounts = asAnswers(value, addresses, 'accounts');
        return { slot, accounts: accounts.map((one) => orNull(one, readAccount)) };
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
        asAnswers(readContext(result, call).value, signatures, 'statuses').map((one) =>
          orNull(one, readStatus),
        ),
      );
    },

    transaction: async (signature, call) => {
      const { readTransaction } = await rareCalls();
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

    alone: () => inTurn(nodes).flatMap((node) => singles().get(node) ?? []),

    close(reason = new Fault('unavailable', 'the connection was closed')) {
      closing.abort(reason);
      socket.close();
    },
  };
  return rpc;
}

/** A socket whose code is loaded with its first listener. */
function socketWhenNeeded(
  endpoint: string | undefined,
  wsUrl: string | undefined,
): SignatureSocket {
  let loading: Promise<SignatureSocket> | undefined;
  let closed = false;
  const start = loadOnce(async () => (await rareCalls()).createSignatureSocket(endpoint, wsUrl));
  const load = () => (loading = start());
  // Each listener polls as well.
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
