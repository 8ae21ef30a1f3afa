import { isRecord } from '../../internal/record.js';

/** JSON-RPC over one WebSocket, until it is lost or ended. */
export interface Line {
  /** The result of a call; undefined if the node refuses it. Never settles once it is lost. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  end(): void;
}

/** What is heard on it; nothing after it was ended. */
export interface LineEvents {
  opened(): void;
  notified(method: string, params: unknown): void;
  /** Also if it could not be opened: there may be no WebSocket in this runtime or for this page. */
  lost(): void;
}

/** What is used of a WebSocket, of whichever make. */
interface Socket {
  addEventListener(type: 'open' | 'error' | 'close', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  send(text: string): void;
  close(): void;
}

/**
 * Opens a WebSocket. It keeps no process alive: what waits for what it tells has timers for that.
 */
export function openLine(address: string, events: LineEvents): Line {
  const asked = new Map<number, (result: unknown) => void>();
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
    const message = parse(data);
    if (!isRecord(message)) return;
    const { id, method, params, result } = message;
    if (typeof method === 'string') return events.notified(method, params);
    if (typeof id !== 'number') return;
    asked.get(id)?.(result);
    asked.delete(id);
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
    call: (method, params) =>
      new Promise((resolve) => {
        const id = (count += 1);
        asked.set(id, resolve);
        socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      }),
    end() {
      isOver = true;
      if (socket !== undefined) release(socket);
    },
  };
}

/** Where web3.js supposes the WebSocket of a node: a port of its own, after that for HTTP. */
export function webSocketAddress(endpoint: string): string {
  const url = new URL(endpoint);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (url.port !== '') url.port = String(Number(url.port) + 1);
  return url.href;
}

/** In Node that of the package ws, also if there is a global one: only its sockets can step aside. */
async function socketClass(): Promise<new (address: string) => Socket> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return WebSocket;
  return (await import('ws')).default;
}

/** Lets the process end while the socket is open, or opens. */
function stepAside(socket: object): void {
  // The connection, and until there is one the request for it.
  unref(Reflect.get(socket, '_socket'));
  const request: unknown = Reflect.get(socket, '_req');
  if (typeof request !== 'object' || request === null) return;
  unref(Reflect.get(request, 'socket'));
  const once: unknown = Reflect.get(request, 'once');
  if (typeof once === 'function') Reflect.apply(once, request, ['socket', unref]);
}

function unref(connection: unknown): void {
  if (typeof connection !== 'object' || connection === null || !('unref' in connection)) return;
  if (typeof connection.unref === 'function') Reflect.apply(connection.unref, connection, []);
}

/**
 * Closes for good: a node that does not answer the closing handshake would keep the process alive
 * for half a minute.
 */
function release(socket: Socket): void {
  if ('terminate' in socket && typeof socket.terminate === 'function')
    Reflect.apply(socket.terminate, socket, []);
  else socket.close();
}

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
