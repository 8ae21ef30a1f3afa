import { accountMethods } from './accounts.js';
import { clusterMethods } from './cluster.js';
import type { Method } from './method.js';
import { historyMethods } from './past.js';
import { transactionMethods } from './transactions.js';

/** Every HTTP method of the node, by name. */
export const METHODS: ReadonlyMap<string, Method> = new Map(
  Object.entries({
    ...clusterMethods,
    ...accountMethods,
    ...transactionMethods,
    ...historyMethods,
  }),
);
