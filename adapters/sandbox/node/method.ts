import type { Json } from '../chain/json.js';
import type { Seen } from './behind.js';
import type { Params } from './params.js';

export interface CallContext {
  /** The chain as the method sees it, which may be the chain of some slots ago. */
  readonly chain: Seen;
  /** The newest slot, even if the method lags. */
  readonly tip: bigint;
  /** False if `sendTransaction` answers and drops the transaction. */
  readonly lands: boolean;
  /** False if a simulation shows all inner instructions as bytes. */
  readonly parses: boolean;
}

export type Method = (context: CallContext, params: Params) => Json;
