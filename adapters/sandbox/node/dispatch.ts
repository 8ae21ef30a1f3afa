import type { SandboxChain } from '../chain/chain.js';
import { encodeJson, isList } from '../chain/json.js';
import type { Json } from '../chain/json.js';
import { behind } from './behind.js';
import type { NodeControls } from './controls.js';
import { RpcError } from './faults.js';
import type { Faults, NodeFault } from './faults.js';
import { METHODS } from './methods.js';
import { Params } from './params.js';

/** A JSON-RPC 2.0 call as it was received; a call without an id gets no answer. */
export interface Call {
  readonly id: Json | undefined;
  readonly method: string;
  readonly params: unknown;
}

/** Reads a JSON-RPC 2.0 request; returns undefined for any other value. */
export function readCall(value: unknown): Call | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const {
    jsonrpc,
    id,
    method,
    params,
  }: { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: unknown } = value;
  if (jsonrpc !== '2.0' || typeof method !== 'string') return undefined;
  return {
    method,
    params,
    id: typeof id === 'string' || typeof id === 'number' ? id : id === undefined ? undefined : null,
  };
}

export function answer(id: Json, result: Json): string {
  return encodeJson({ jsonrpc: '2.0', result, id });
}

export function refuse(id: Json, error: unknown): string {
  const { code, message, data } =
    error instanceof RpcError ? error : new RpcError(-32603, `Internal error: ${String(error)}`);
  return encodeJson({ jsonrpc: '2.0', error: { code, message, data }, id });
}

export const invalidRequest = () => new RpcError(-32600, 'Invalid request');

/** Handles a call and returns the text of its answer. Never throws. */
export async function dispatch(
  {
    chain,
    faults,
    controls,
  }: {
    readonly chain: SandboxChain;
    readonly faults: Faults;
    readonly controls: Pick<NodeControls, 'intercept' | 'parsesCalls'>;
  },
  call: Call,
  fault: NodeFault | undefined,
  caller: string,
): Promise<string> {
  const { intercept } = controls;
  const id = call.id ?? null;
  try {
    if (fault?.kind === 'error') throw new RpcError(fault.code, fault.message, fault.data);
    const run = (params: unknown): Json => {
      const method = METHODS.get(call.method);
      if (!method) throw new RpcError(-32601, 'Method not found');
      const slots = faults.slotsBehind(call.method, caller);
      const seen = slots === 0n ? chain : behind(chain, slots);
      const result = method(
        {
          chain: seen,
          tip: chain.slot,
          lands: fault?.kind !== 'neverLands',
          parses: controls.parsesCalls,
        },
        new Params(params),
      );
      return fault?.kind === 'offBy'
        ? offBy(result, fault.at === '' ? [] : fault.at.split('.'), fault.by)
        : result;
    };
    return answer(
      id,
      intercept
        ? await intercept(call.method, call.params, (params = call.params) => run(params))
        : run(call.params),
    );
  } catch (error) {
    return refuse(id, error);
  }
}

/** Returns the answer with the number at a path changed. */
function offBy(value: Json | undefined, [name, ...rest]: readonly string[], by: number): Json {
  if (name === undefined) {
    if (typeof value === 'bigint') return value + BigInt(by);
    if (typeof value === 'number') return value + by;
  } else if (value !== undefined && value !== null && typeof value === 'object' && !isList(value)) {
    return { ...value, [name]: offBy(value[name], rest, by) };
  }
  throw new Error('The answer has no number in this place.');
}
