import type { Runtime } from '../../internal/runtime.js';
import { batchStatuses, type StatusOf } from '../../solana/rpc/batch-statuses.js';
import type { Rpc } from '../../solana/rpc/rpc.js';
import { recovery } from '../on-demand.js';
import type { AccountHistory, KeptHistory, Source } from './account-history.js';

/** What one node shows of a source. */
export interface Witness {
  /** The status of a transaction by its id, asked for together with those of other sources. */
  readonly statusOf: StatusOf;
  /** All else: mostly the status says enough, and no more code has to be loaded. */
  history(): Promise<AccountHistory>;
}

/** The histories of sources. */
export interface Histories {
  /** At each node by itself, those that failed lately last. */
  of(source: Source): readonly Witness[];
  /** What is kept of a source is older than what its caller has heard: the next look asks anew. */
  outdate(source: Source): void;
}

interface KeptNode {
  readonly known: Map<string, KeptHistory>;
  readonly statusOf: StatusOf;
}

export function createHistories(
  rpc: Pick<Rpc, 'alone'>,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
): Histories {
  const all = new Map<Rpc, KeptNode>();
  const keptOf = (node: Rpc): KeptNode => {
    const kept = all.get(node) ?? { known: new Map(), statusOf: batchStatuses(node, runtime) };
    all.set(node, kept);
    return kept;
  };
  return {
    of: (source) =>
      rpc.alone().map((node) => {
        const { known, statusOf } = keptOf(node);
        const history = async () =>
          (await recovery()).historyOf(known, nameOf(source), { rpc: node, source, runtime });
        return { statusOf, history };
      }),
    outdate(source) {
      for (const { known } of all.values()) known.get(nameOf(source))?.outdate();
    },
  };
}

/** What a source is kept by. */
function nameOf({ unit, account }: Source): string {
  return `${unit} ${account}`;
}
