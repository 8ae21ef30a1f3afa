import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SandboxChain } from '../chain/chain.js';
import type { Timers } from '../chain/timers.js';
import type { Calls } from './calls.js';
import type { NodeControls } from './controls.js';
import { dispatch, invalidRequest, readCall, refuse } from './dispatch.js';
import { RpcError } from './faults.js';
import type { Faults, NodeFault } from './faults.js';
import { openToBrowsers, readBody } from './server.js';

/** State that the node's HTTP and WebSocket servers share. */
export interface NodeState {
  readonly chain: SandboxChain;
  readonly calls: Calls;
  readonly faults: Faults;
  readonly controls: NodeControls;
  readonly timers: Timers;
}

/** Returns the name that the caller sends: `?caller=` (also for WebSocket) or `x-caller`. */
export function callerOf(request: IncomingMessage): string {
  const header = request.headers['x-caller'];
  const query = new URLSearchParams(/\?(.*)$/.exec(request.url ?? '')?.[1]).get('caller');
  return query ?? (typeof header === 'string' ? header : '');
}

export async function handleHttp(
  state: NodeState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  openToBrowsers(request, response);
  if (request.method === 'OPTIONS') return reply(response, 204, '');
  if (request.method === 'GET' && request.url?.startsWith('/health'))
    return reply(response, 200, 'ok', 'text/plain');
  if (request.method !== 'POST')
    return reply(
      response,
      405,
      'Used HTTP Method is not allowed. POST or OPTIONS is required\n',
      'text/plain',
    );
  const body = await readBody(request);
  if (body === undefined) return reply(response, 413, 'The request is too large.\n', 'text/plain');
  const parsed = parse(body);
  if (parsed === undefined)
    return reply(response, 200, refuse(null, new RpcError(-32700, 'Parse error')));
  const isBatch = Array.isArray(parsed);
  const requests: readonly unknown[] = isBatch ? parsed : [parsed];
  if (requests.length === 0) return reply(response, 200, refuse(null, invalidRequest()));

  const caller = callerOf(request);
  const planned = requests.map((value) => {
    const call = readCall(value);
    if (call) state.calls.add(call.method, caller);
    return { call, fault: call && state.faults.take(call.method, caller) };
  });
  const broken = planned.map(({ fault }) => fault).find(isOfConnection);

  const { latencyMs, callerLatencyMs } = state.controls;
  const half = (callerLatencyMs.get(caller) ?? latencyMs) / 2;
  await pause(state, half);
  if (broken && broken.kind !== 'dropAfter') return breakOff(broken, request, response);
  const answers: string[] = [];
  for (const { call, fault } of planned) {
    const text = call ? await dispatch(state, call, fault, caller) : refuse(null, invalidRequest());
    if (call?.id !== undefined || !call) answers.push(text);
  }
  if (broken) return breakOff(broken, request, response);
  await pause(state, half);
  reply(response, 200, isBatch ? `[${answers.join(',')}]` : (answers[0] ?? ''));
}

/** Kinds of faults that {@link dispatch} applies. */
type OfAnswers = 'error' | 'neverLands' | 'offBy';
type ConnectionFault = Exclude<NodeFault, { readonly kind: OfAnswers }>;

function isOfConnection(fault: NodeFault | undefined): fault is ConnectionFault {
  return (
    fault !== undefined &&
    fault.kind !== 'error' &&
    fault.kind !== 'neverLands' &&
    fault.kind !== 'offBy'
  );
}

function breakOff(
  fault: ConnectionFault,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  switch (fault.kind) {
    case 'hang':
      return; // The request stays open until the client aborts or the node closes.
    case 'dropBefore':
    case 'dropAfter':
      request.socket.destroy();
      return;
    case 'garbage':
      return reply(response, 200, fault.body ?? '<html>upstream connect error</html>', 'text/html');
    case 'rateLimited': {
      if (fault.retryAfter !== undefined)
        response.setHeader('retry-after', String(fault.retryAfter));
      return reply(
        response,
        429,
        refuse(null, new RpcError(429, 'Too many requests for a specific RPC call')),
      );
    }
    case 'status': {
      for (const [name, value] of Object.entries(fault.headers ?? {}))
        response.setHeader(name, value);
      return reply(
        response,
        fault.status ?? 500,
        fault.body ?? 'Internal Server Error',
        'text/plain',
      );
    }
  }
}

function reply(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'application/json',
): void {
  if (response.destroyed) return;
  response.statusCode = status;
  if (body && !response.hasHeader('content-type')) response.setHeader('content-type', type);
  response.end(body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pause({ timers }: NodeState, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}
