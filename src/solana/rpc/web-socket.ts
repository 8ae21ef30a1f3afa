import { parseJson } from '../../internal/parse.js';
import { isObject, isRecord } from '../../internal/record.js';

/** A JSON-RPC connection over one WebSocket, until it is lost or ended. */
export interface Line {
  /**
   * @param answered - Gets the result; undefined if the node refuses the call. Called before the
   * next message is read, which may be about the result. Not called after `end` or a loss.
   */
  call(method: string, params: readonly unknown[], answered?: (result: unknown) => void): void;
  end(): void;
}

/** Callbacks of a line. None is called after `end`. */
export interface LineEvents {
  opened(): void;
  notified(method: string, params: unknown): void;
  /** Called if the socket closes or cannot open: the runtime or the page may have no WebSocket. */
  lost(): void;
}

/** The part of a WebSocket that this file uses; it fits any implementation. */
interface Socket {
  addEventListener(type: 'open' | 'error' | 'close', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  send(text: string): void;
  close(): void;
}

/**
 * Opens a WebSocket that does not keep the process alive. Code that waits for its messages has
 * timers of its own, which do.
 */
export function openLine(address: string, events: LineEvents): Line {
  const pending = new Map<number, ((result: unknown) => void) | undefined>();
  let socket: Socket | undefined;
  let isOver = false;
  let count = 0;

  const lose = () => {
    if (isOver) return;
    isOver = true;
    events.lost();
  };
  const hear = ({ data }: { readonly data: unknown }) => {
    if (isOver) return;
    const message = parseJson(String(data));
    if (!isRecord(message)) return;
    const { id, method, params, result } = message;
    if (typeof method === 'string') return events.notified(method, params);
    if (typeof id !== 'number') return;
    pending.get(id)?.(result);
    pending.delete(id);
  };
  const dial = async () => {
    const Opener = await socketClass();
    if (isOver) return;
    const dialled = new Opener(address);
    socket = dialled;
    stepAside(dialled);
    dialled.addEventListener('open', () => {
      stepAside(dialled);
      if (!isOver) events.opened();
    });
    dialled.addEventListener('message', hear);
    dialled.addEventListener('error', lose);
    dialled.addEventListener('close', lose);
  };
  dial().catch(lose);

  return {
    call(method, params, answered) {
      const id = (count += 1);
      pending.set(id, answered);
      socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    },
    end() {
      isOver = true;
      if (socket !== undefined) release(socket);
    },
  };
}

/** Returns the address that web3.js assumes for a node's WebSocket: the HTTP port plus 1. */
export function webSocketAddress(endpoint: string): string {
  const url = new URL(endpoint);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (url.port !== '') url.port = String(Number(url.port) + 1);
  return url.href;
}

/**
 * Returns the WebSocket class. In Node it is the class of `ws`: only its sockets let the process
 * end.
 */
async function socketClass(): Promise<new (address: string) => Socket> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return WebSocket;
  return (await import('ws')).default;
}

/** Lets the process end while the socket is opening or open. */
function stepAside(socket: object): void {
  // Unref the connection. Before it exists, unref the socket of the request that opens it.
  unref(Reflect.get(socket, '_socket'));
  const request: unknown = Reflect.get(socket, '_req');
  if (!isObject(request)) return;
  unref(Reflect.get(request, 'socket'));
  const once: unknown = Reflect.get(request, 'once');
  if (typeof once === 'function') Reflect.apply(once, request, ['socket', unref]);
}

function unref(connection: unknown): void {
  if (isObject(connection) && 'unref' in connection && typeof connection.unref === 'function')
    Reflect.apply(connection.unref, connection, []);
}

/**
 * Closes without a handshake if it can: a node that does not answer the closing handshake would
 * keep the process alive for half a minute.
 */
function release(socket: Socket): void {
  if ('terminate' in socket && typeof socket.terminate === 'function')
    Reflect.apply(socket.terminate, socket, []);
  else socket.close();
}
