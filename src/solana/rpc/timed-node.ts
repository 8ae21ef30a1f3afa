import type { Node } from './failover.js';
import { Fault } from './fault.js';

/** A call of an RPC node that has ended. */
export interface NodeCall {
  /** The JSON-RPC method. */
  readonly method: string;
  /** Of the node, as far as it may be shown. */
  readonly host?: string;
  readonly ms: number;
  /** Why it failed, in a word of ours; absent if it did not. */
  readonly failed?: string;
}

/** Hears of calls that have ended, and has the clock for them. */
export interface CallTimer {
  now(): number;
  onCall(call: NodeCall): void;
}

/** A node that says how long each of its calls took, and why it failed if it did. */
export function timedNode(node: Node, timer: CallTimer): Node {
  const { host } = node;
  return {
    ...node,
    async request(method, params, signal) {
      const startedAt = timer.now();
      const told = (failed?: string) =>
        timer.onCall({
          method,
          ...(host === undefined ? {} : { host }),
          ms: Math.max(0, timer.now() - startedAt),
          ...(failed === undefined ? {} : { failed }),
        });
      try {
        const result = await node.request(method, params, signal);
        told();
        return result;
      } catch (error) {
        told(error instanceof Fault ? error.kind : 'unavailable');
        throw error;
      }
    },
  };
}
