import { Connection } from '@solana/web3.js';

/** Hears of signatures over the node's WebSocket. Silent where there is none: whoever listens polls as well. */
export interface SignatureSocket {
  subscribe(signature: string, listener: (error: string | null) => void): () => void;
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
  readonly listeners: Set<(error: string | null) => void>;
  /** The node's number for it, once it has answered. */
  subscription: number | undefined;
}

/**
 * Opens a socket with the first subscription and closes it with the last. A socket that fails is not opened again for
 * the subscriptions it had.
 *
 * web3.js offers its WebSocket through `Connection.onSignature`, which prints each error, asks again without a pause
 * when the node refuses, and reconnects for ever. There is no public way around that, so the socket is taken out of an
 * unused Connection and given our own handlers; should a later web3.js hide it, we only poll.
 */
export function createSignatureSocket(endpoint: string | undefined, wsUrl: string | undefined): SignatureSocket {
  const waits = new Map<string, Wait>();
  let socket: RpcSocket | undefined;
  let isOpen = false;

  const shut = () => {
    const old = socket;
    socket = undefined;
    isOpen = false;
    // Another socket counts anew.
    for (const wait of waits.values()) wait.subscription = undefined;
    if (old !== undefined) release(old);
  };

  const announce = (signature: string, wait: Wait) => {
    socket?.call('signatureSubscribe', [signature, { commitment: 'confirmed' }]).then(
      (subscription) => {
        if (typeof subscription === 'number') wait.subscription = subscription;
      },
      // Refused, or cut off: polling finds out.
      () => undefined,
    );
  };

  const notify = (params: unknown) => {
    const { subscription, value } = readNotification(params) ?? {};
    for (const [signature, wait] of waits) {
      if (subscription === undefined || wait.subscription !== subscription) continue;
      waits.delete(signature);
      for (const listener of wait.listeners) listener(value ?? null);
    }
    if (waits.size === 0) shut();
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
      waits.forEach((wait, signature) => announce(signature, wait));
    });
    const lose = () => {
      if (socket === fresh) shut();
    };
    fresh.on('error', lose);
    fresh.on('close', lose);
    fresh.on('signatureNotification', (params) => {
      if (socket === fresh) notify(params);
    });
    try {
      fresh.connect();
    } catch {
      // No WebSocket in this runtime, or not for this page.
      shut();
    }
  };

  return {
    subscribe(signature, listener) {
      const wait: Wait = waits.get(signature) ?? { listeners: new Set(), subscription: undefined };
      const isNew = !waits.has(signature);
      waits.set(signature, wait);
      wait.listeners.add(listener);
      if (socket === undefined) open();
      else if (isNew && isOpen) announce(signature, wait);
      return () => {
        if (!wait.listeners.delete(listener) || wait.listeners.size > 0 || waits.get(signature) !== wait) return;
        waits.delete(signature);
        if (waits.size === 0) shut();
        else if (wait.subscription !== undefined) socket?.call('signatureUnsubscribe', [wait.subscription]).catch(() => undefined);
      };
    },
    close() {
      waits.clear();
      shut();
    },
  };
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

/** Closes for good: a node that does not answer the closing handshake would keep the process alive for half a minute. */
function release(socket: RpcSocket): void {
  socket.removeAllListeners();
  const underlying: unknown = Reflect.get(socket, 'underlyingSocket');
  try {
    socket.close();
    if (typeof underlying === 'object' && underlying !== null && 'terminate' in underlying && typeof underlying.terminate === 'function') {
      Reflect.apply(underlying.terminate, underlying, []);
    }
  } catch {
    // Already closed.
  }
}

/** Lets through what we expect and no more: the socket's own reader throws, out of anybody's reach, on `null` or on an odd id. */
function decode(text: unknown): unknown {
  const message: unknown = JSON.parse(String(text));
  if (!isRecord(message)) throw new TypeError('Not a JSON-RPC message.');
  const { id, method, params, result, error } = message;
  if (method === 'signatureNotification') return { method, params };
  if (typeof id !== 'number') throw new TypeError('Not an answer to a question of ours.');
  return error === undefined ? { id, result } : { id, error };
}

function readNotification(params: unknown): { subscription: number; value: string | null } | undefined {
  if (!isRecord(params) || typeof params['subscription'] !== 'number' || !isRecord(params['result'])) return undefined;
  const value = params['result']['value'];
  const error = isRecord(value) ? value['err'] : null;
  return { subscription: params['subscription'], value: error === null || error === undefined ? null : JSON.stringify(error) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
