import type { Json } from '../chain/json.js';
import type { Seen } from './behind.js';
import type { Params } from './params.js';

export interface CallContext {
  /** As the method sees it, which may be that of some slots ago. */
  readonly chain: Seen;
  /** The newest slot of all, which an index that is behind does not know of. */
  readonly tip: bigint;
  /** False: what is sent is answered and forgotten. */
  readonly lands: boolean;
  /** False: a simulation shows the calls inside as bytes, also those that a node can parse. */
  readonly parses: boolean;
}

export type Method = (context: CallContext, params: Params) => Json;
