import { Connection } from '@solana/web3.js';
import { isRecord } from '../../internal/record.js';

/** What an account's listeners have. */
export interface AccountWatch {
  /**
   * Which subscription tells of what happens from now on: never the same again once one was lost,
   * and what happened before it, or between two, may have been missed. Undefined if there is
   * none.
   */
  readonly subscription: () => number | undefined;
  end(): void;
}

/**
 * Hears of signatures and accounts over the node's WebSocket. Silent if there is none: each
 * listener polls as well.
 */
export interface SignatureSocket {
  subscribe(signature: string, listener: (error: string | null) => void): () => void;
  /** Calls at each change of an account at `confirmed`. */
  watchAccount(address: string, listener: () => void): AccountWatch;
  close(): void;
}

/** What we use of the socket inside a web3.js Connection. */
interface RpcSocket {
  dataPack: { encode(value: unknown): string; decode(text: unknown): unknown };
  connect(): void;
  close(): void;
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  on(event: string, listener: (value: unknown) => void): unknown;
  removeAllListeners(): unknown;
  setAutoReconnect(reconnect: boolean): void;
}

interface Wait {
  readonly kind: Kind;
  /** What is listened to: base58. */
  readonly name: string;
  readonly listeners: Set<(error: string | null) => void>;
  /**
   * The node's number for it, which counts anew with each socket, and ours, which does not; once it
   * has answered.
   */
  subscription: { readonly node: number; readonly own: number } | undefined;
}

/** A kind of subscription, by the names of its calls. */
interface Kind {
  readonly subscribe: string;
  readonly unsubscribe: string;
  readonly notification: string;
  readonly settings: object;
  /** The node ends it with its first notification. */
  readonly once: boolean;
}

const SIGNATURE: Kind = {
  subscribe: 'signatureSubscribe',
  unsubscribe: 'signatureUnsubscribe',
  notification: 'signatureNotification',
  settings: { commitment: 'confirmed' },
  once: true,
};
const ACCOUNT: Kind = {
  subscribe: 'accountSubscribe',
  unsubscribe: 'accountUnsubscribe',
  notification: 'accountNotification',
  settings: { commitment: 'confirmed', encoding: 'base64' },
  once: false,
};
const KINDS = [SIGNATURE, ACCOUNT];

/**
 * Opens a socket with the first subscription and closes it with the last. A socket that fails is
 * not opened again for the subscriptions it had. It keeps no process alive: what waits for what it
 * tells has timers for that.
 *
 * web3.js offers its WebSocket through `Connection.onSignature`, which prints each error, asks
 * again without a pause when the node refuses, and reconnects for ever. There is no public way
 * around that, so the socket is taken out of an unused Connection and given our own handlers;
 * should a later web3.js hide it, we only poll.
 */
export function createSignatureSocket(
  endpoint: string | undefined,
  wsUrl: string | undefined,
): SignatureSocket {
  const waits = new Map<string, Wait>();
  let socket: RpcSocket | undefined;
  let isOpen = false;
  let answered = 0;

  const shut = () => {
    const old = socket;
    socket = undefined;
    isOpen = false;
    // Another socket counts anew.
    for (const wait of waits.values()) wait.subscription = undefined;
    if (old !== undefined) release(old);
  };

  const announce = (wait: Wait) => {
    const { kind, name } = wait;
    const asked = socket;
    asked?.call(kind.subscribe, [name, kind.settings]).then(
      (node) => {
        if (typeof node !== 'number' || socket !== asked) return;
        // Given up before the node had answered.
        if (waits.get(keyOf(kind, name)) !== wait)
          void asked.call(kind.unsubscribe, [node]).catch(() => undefined);
        else wait.subscription = { node, own: (answered += 1) };
      },
      // Refused, or cut off: polling finds out.
      () => undefined,
    );
  };

  const notify = (kind: Kind, params: unknown) => {
    const { subscription, value } = readNotification(params) ?? {};
    for (const [key, wait] of waits) {
      if (
        wait.kind !== kind ||
        subscription === undefined ||
        wait.subscription?.node !== subscription
      )
        continue;
      if (kind.once) waits.delete(key);
      for (const listener of wait.listeners) listener(value ?? null);
    }
    if (waits.size === 0) shut();
  };

  const listen = (
    kind: Kind,
    name: string,
    listener: (error: string | null) => void,
  ): AccountWatch => {
    const key = keyOf(kind, name);
    const known = waits.get(key);
    const wait: Wait = known ?? { kind, name, listeners: new Set(), subscription: undefined };
    waits.set(key, wait);
    wait.listeners.add(listener);
    if (socket === undefined) open();
    else if (known === undefined && isOpen) announce(wait);
    return {
      subscription: () =>
        waits.get(key) === wait && wait.listeners.has(listener)
          ? wait.subscription?.own
          : undefined,
      end() {
        if (!wait.listeners.delete(listener) || wait.listeners.size > 0 || waits.get(key) !== wait)
          return;
        waits.delete(key);
        if (waits.size === 0) shut();
        else if (wait.subscription !== undefined)
          socket?.call(kind.unsubscribe, [wait.subscription.node]).catch(() => undefined);
      },
    };
  };

  const open = () => {
    const fresh = endpoint === undefined ? undefined : takeSocket(endpoint, wsUrl);
    if (fresh === undefined) return;
    socket = fresh;
    fresh.removeAllListeners();
    fresh.setAutoReconnect(false);
    fresh.dataPack = { encode: (value) => JSON.stringify(value), decode };
    fresh.on('open', () => {
      if (socket !== fresh || isOpen) return;
      isOpen = true;
      waits.forEach(announce);
      stepAside(fresh);
    });
    const lose = () => {
      if (socket === fresh) shut();
    };
    fresh.on('error', lose);
    fresh.on('close', lose);
    for (const kind of KINDS) {
      fresh.on(kind.notification, (params) => {
        if (socket === fresh) notify(kind, params);
      });
    }
    try {
      fresh.connect();
      stepAside(fresh);
    } catch {
      // No WebSocket in this runtime, or not for this page.
      shut();
    }
  };

  return {
    subscribe: (signature, listener) => listen(SIGNATURE, signature, listener).end,
    watchAccount: (address, listener) => listen(ACCOUNT, address, () => listener()),
    close() {
      waits.clear();
      shut();
    },
  };
}

function keyOf({ subscribe }: Kind, name: string): string {
  return `${subscribe} ${name}`;
}

/**
 * Lets the process end while the socket is open, or opens. In a browser there is nothing to be done
 * for that.
 */
function stepAside(socket: RpcSocket): void {
  const underlying: unknown = Reflect.get(socket, 'underlyingSocket');
  if (typeof underlying !== 'object' || underlying === null) return;
  // Of the package ws: the connection, and until there is one the request for it.
  unref(Reflect.get(underlying, '_socket'));
  const request: unknown = Reflect.get(underlying, '_req');
  if (
    typeof request !== 'object' ||
    request === null ||
    !('once' in request) ||
    typeof request.once !== 'function'
  )
    return;
  unref(Reflect.get(request, 'socket'));
  Reflect.apply(request.once, request, ['socket', unref]);
}

function unref(connection: unknown): void {
  if (typeof connection !== 'object' || connection === null || !('unref' in connection)) return;
  if (typeof connection.unref === 'function') Reflect.apply(connection.unref, connection, []);
}

function takeSocket(endpoint: string, wsUrl: string | undefined): RpcSocket | undefined {
  const connection = new Connection(endpoint, wsUrl === undefined ? {} : { wsEndpoint: wsUrl });
  const socket: unknown = Reflect.get(connection, '_rpcWebSocket');
  return isRpcSocket(socket) ? socket : undefined;
}

function isRpcSocket(value: unknown): value is RpcSocket {
  if (typeof value !== 'object' || value === null || !('dataPack' in value)) return false;
  const methods = ['connect', 'close', 'call', 'on', 'removeAllListeners', 'setAutoReconnect'];
  return methods.every((name) => typeof Reflect.get(value, name) === 'function');
}

/**
 * Closes for good: a node that does not answer the closing handshake would keep the process alive
 * for half a minute.
 */
function release(socket: RpcSocket): void {
  socket.removeAllListeners();
  const underlying: unknown = Reflect.get(socket, 'underlyingSocket');
  try {
    socket.close();
    if (
      typeof underlying === 'object' &&
      underlying !== null &&
      'terminate' in underlying &&
      typeof underlying.terminate === 'function'
    ) {
      Reflect.apply(underlying.terminate, underlying, []);
    }
  } catch {
    // Already closed.
  }
}

/**
 * Lets through what we expect and no more: the socket's own reader throws, out of every caller's
 * reach, on `null` or on an odd id.
 */
function decode(text: unknown): unknown {
  const message: unknown = JSON.parse(String(text));
  if (!isRecord(message)) throw new TypeError('Not a JSON-RPC message.');
  const { id, method, params, result, error } = message;
  if (KINDS.some(({ notification }) => notification === method)) return { method, params };
  if (typeof id !== 'number') throw new TypeError('Not an answer to a question of ours.');
  return error === undefined ? { id, result } : { id, error };
}

function readNotification(
  params: unknown,
): { subscription: number; value: string | null } | undefined {
  if (
    !isRecord(params) ||
    typeof params['subscription'] !== 'number' ||
    !isRecord(params['result'])
  )
    return undefined;
  const value = params['result']['value'];
  const error = isRecord(value) ? value['err'] : null;
  return {
    subscription: params['subscription'],
    value: error === null || error === undefined ? null : JSON.stringify(error),
  };
}
