import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';
import { answer, readCall, refuse } from './dispatch.js';
import { RpcError } from './faults.js';
import { callerOf } from './http.js';
import type { NodeState } from './http.js';
import { Subscriptions } from './subscriptions.js';

export interface WebSocketDoor {
  attach(server: Server): void;
  /** Ends every connection. */
  cut(): void;
}

/** Serves subscriptions to clients that upgrade on one of the attached servers. */
export function webSocketDoor(state: NodeState): WebSocketDoor {
  const sockets = new WebSocketServer({ noServer: true });
  let lastId = 0;
  const nextId = () => (lastId += 1);

  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    if (state.controls.webSocket === 'off') {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => serve(client, callerOf(request)));
  };

  const serve = (client: WebSocket, caller: string): void => {
    const send = (text: string): void => {
      if (client.readyState === client.OPEN) client.send(text);
    };
    const subscriptions = new Subscriptions(state.chain, nextId, (text) => {
      if (state.controls.webSocket === 'on') send(text);
    });
    client.on('error', () => client.terminate());
    client.on('close', () => subscriptions.close());
    client.on('message', (data) => receive(textOf(data), client, caller, subscriptions, send));
  };

  const receive = (
    text: string,
    client: WebSocket,
    caller: string,
    subscriptions: Subscriptions,
    send: (text: string) => void,
  ): void => {
    const call = parse(text);
    if (!call) return send(refuse(null, new RpcError(-32700, 'Parse error')));
    const { id, method, params } = call;
    if (id === undefined) return; // Keep-alive notifications of web3.js and kit have no id.
    state.calls.add(method, caller);
    const fault = state.faults.take(method, caller);
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'garbage') return send(fault.body ?? 'upstream connect error');
    if (fault?.kind === 'error')
      return send(refuse(id, new RpcError(fault.code, fault.message, fault.data)));
    if (fault) return client.terminate();
    try {
      const { result, afterwards } = subscriptions.call(method, params);
      send(answer(id, result));
      afterwards?.();
    } catch (error) {
      send(refuse(id, error));
    }
  };

  return {
    attach: (server) => void server.on('upgrade', upgrade),
    cut: () => {
      for (const client of sockets.clients) client.terminate();
    },
  };
}

function textOf(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString('utf8');
}

function parse(text: string) {
  try {
    return readCall(JSON.parse(text));
  } catch {
    return undefined;
  }
}
