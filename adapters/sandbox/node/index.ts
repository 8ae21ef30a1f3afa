import { SandboxChain } from '../chain/chain.js';
import { Timers } from '../chain/timers.js';
import { Calls } from './calls.js';
import type { NodeControls } from './controls.js';
import { Faults } from './faults.js';
import { handleHttp } from './http.js';
import { closeServer, listenOnPair, newServer } from './server.js';
import { webSocketDoor } from './websocket.js';

export type { LaggingMethod, Lags } from './behind.js';
export type { CallFilter } from './calls.js';
export type { Intercept, NodeControls } from './controls.js';
export { RpcError } from './faults.js';
export type { NodeFault } from './faults.js';

export interface NodeOptions {
  /**
   * Port of HTTP and WebSocket. The next port also serves WebSocket, because web3.js expects it
   * there. 0, the default, picks a free pair.
   */
  readonly port?: number;
  /**
   * Milliseconds for each slot; 0 stops time, so that only `warp` moves it. Default 100 (mainnet:
   * about 400).
   */
  readonly slotMs?: number;
  /** Milliseconds from `sendTransaction` to `confirmed`; 0 makes it immediate. Default 200. */
  readonly confirmationMs?: number;
  /** Milliseconds added to every HTTP call. Default 0. */
  readonly latencyMs?: number;
}

export interface SandboxNode {
  /** JSON-RPC over HTTP. */
  readonly url: string;
  /** JSON-RPC subscriptions, on the same port; the next port serves them too. */
  readonly wsUrl: string;
  readonly chain: SandboxChain;
  readonly controls: NodeControls;
  /** Frees every port, socket and timer. */
  close(): Promise<void>;
}

/** Starts a Solana node: the real runtime behind JSON-RPC and WebSocket, on 127.0.0.1 only. */
export async function startNode(options: NodeOptions = {}): Promise<SandboxNode> {
  const chain = new SandboxChain(options);
  const timers = new Timers();
  const calls = new Calls();
  const faults = new Faults();
  let webSocket: NodeControls['webSocket'] = 'on';
  const controls: NodeControls = {
    latencyMs: options.latencyMs ?? 0,
    callerLatencyMs: new Map(),
    parsesCalls: true,
    intercept: undefined,
    get slotMs() {
      return chain.slotMs;
    },
    set slotMs(ms) {
      chain.slotMs = ms;
    },
    get confirmationMs() {
      return chain.confirmationMs;
    },
    set confirmationMs(ms) {
      chain.confirmationMs = ms;
    },
    get webSocket() {
      return webSocket;
    },
    set webSocket(mode) {
      webSocket = mode;
      if (mode === 'off') door.cut();
    },
    calls: (filter) => calls.count(filter),
    callsByMethod: (caller) => calls.byMethod(caller),
    resetCalls: () => calls.reset(),
    fault: (method, fault, caller) => faults.add(method, fault, caller),
    lag: (slots, caller) => faults.lag(slots, caller),
    clearFaults: () => faults.clear(),
    warp: (slots) => chain.warp(slots),
  };
  const state = { chain, calls, faults, controls, timers };
  const door = webSocketDoor(state);

  const listening = listenOnPair(options.port ?? 0, () => {
    const server = newServer((request, response) => {
      // This fails if the caller has disconnected.
      handleHttp(state, request, response).catch(() => request.socket.destroy());
    });
    door.attach(server);
    return server;
  });
  const { port, servers } = await listening.catch((error: unknown) => {
    chain.close();
    throw error;
  });

  return {
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    chain,
    controls,
    close: async () => {
      chain.close();
      timers.close();
      door.cut();
      await Promise.all(servers.map(closeServer));
    },
  };
}
