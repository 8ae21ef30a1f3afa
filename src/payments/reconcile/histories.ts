import type { Runtime } from '../../internal/runtime.js';
import { batchStatuses, type StatusOf } from '../../solana/rpc/batch-statuses.js';
import type { Rpc } from '../../solana/rpc/rpc.js';
import { recovery } from '../on-demand.js';
import type { AccountHistory, KeptHistory, Source } from './account-history.js';

export interface Witness {
  /** Returns a transaction's status by its id; requests for all sources share batches. */
  readonly statusOf: StatusOf;
  /** Loads the code for the source's history: mostly the status suffices. */
  history(): Promise<AccountHistory>;
}

export interface Histories {
  /** Returns each node's view of a source; nodes that failed lately come last. */
  of(source: Source): readonly Witness[];
  /** Drops cached answers about a source, because the caller has heard of newer changes. */
  outdate(source: Source): void;
}

interface KeptNode {
  readonly known: Map<string, KeptHistory>;
  readonly statusOf: StatusOf;
}

export function createHistories(
  rpc: Pick<Rpc, 'perNode'>,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
): Histories {
  const keptNodes = new Map<Rpc, KeptNode>();
  const keptOf = (node: Rpc): KeptNode => {
    const kept = keptNodes.get(node) ?? {
      known: new Map(),
      statusOf: batchStatuses(node, runtime),
    };
    keptNodes.set(node, kept);
    return kept;
  };
  return {
    of: (source) =>
      rpc.perNode().map((node) => {
        const { known, statusOf } = keptOf(node);
        const history = async () =>
          (await recovery()).historyOf(known, cacheKeyOf(source), { rpc: node, source, runtime });
        return { statusOf, history };
      }),
    outdate(source) {
      for (const { known } of keptNodes.values()) known.get(cacheKeyOf(source))?.outdate();
    },
  };
}

function cacheKeyOf({ unit, account }: Source): string {
  return `${unit} ${account}`;
}
