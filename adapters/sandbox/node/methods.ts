import type { SandboxChain } from '../chain/chain.js';
import type { Json } from '../chain/json.js';
import { accountMethods } from './accounts.js';
import { clusterMethods } from './cluster.js';
import { historyMethods } from './past.js';
import type { Params } from './params.js';
import { transactionMethods } from './transactions.js';

export interface CallContext {
  readonly chain: SandboxChain;
  /** False: what is sent is answered and forgotten. */
  readonly lands: boolean;
}

export type Method = (context: CallContext, params: Params) => Json;

/** Every HTTP method of the node, by name. */
export const METHODS: ReadonlyMap<string, Method> = new Map(
  Object.entries({ ...clusterMethods, ...accountMethods, ...transactionMethods, ...historyMethods }),
);
