import type { Address } from '@solana/kit';
import type { Block, Blocks } from '../chain/blocks.js';
import type { SandboxChain } from '../chain/chain.js';
import type { History } from '../chain/history.js';

/** The chain as the node's methods see it: the current chain, or the chain of some slots ago. */
export interface Seen extends Pick<
  SandboxChain,
  'slot' | 'account' | 'ownedBy' | 'rent' | 'simulate' | 'submit' | 'airdrop'
> {
  readonly blocks: Pick<Blocks, 'tip' | 'at' | 'isValid'>;
  readonly history: Pick<History, 'size' | 'get' | 'of' | 'since'>;
}

/**
 * The methods that can lag: methods about blocks and history. The sandbox keeps only the current
 * accounts, so methods about accounts cannot lag.
 */
export type LaggingMethod =
  | 'getSlot'
  | 'getBlockHeight'
  | 'getEpochInfo'
  | 'getLatestBlockhash'
  | 'isBlockhashValid'
  | 'getTransactionCount'
  | 'getSignaturesForAddress'
  | 'getSignatureStatuses'
  | 'getTransaction';

/** Number of slots by which each method is behind; methods that are left out are at the tip. */
export type Lags = Readonly<Partial<Record<LaggingMethod, number>>>;

/** Returns the chain with the blocks and the history of some slots ago. */
export function behind(chain: SandboxChain, slots: bigint): Seen {
  const { blocks, history } = chain;
  const tip = blocks.at(slots);
  const isOld = ({ slot }: { readonly slot: bigint }): boolean => slot <= tip.slot;
  return {
    slot: tip.slot,
    account: (address) => chain.account(address),
    ownedBy: (program, matches) => chain.ownedBy(program, matches),
    rent: (bytes) => chain.rent(bytes),
    simulate: (transaction, options) => chain.simulate(transaction, options),
    submit: (transaction) => chain.submit(transaction),
    airdrop: (to, lamports) => chain.airdrop(to, lamports),
    blocks: {
      tip,
      at: (depth) => blocks.at(depth + slots),
      isValid: (hash: string, block?: Block) => blocks.isValid(hash, block ?? tip),
    },
    history: {
      get size() {
        return history.size - history.since(tip.slot).length;
      },
      get: (signature) =>
        [history.get(signature)].find((landed) => landed !== undefined && isOld(landed)),
      of: (address: Address) => history.of(address).filter(isOld),
      since: (slot) => history.since(slot).filter(isOld),
    },
  };
}
