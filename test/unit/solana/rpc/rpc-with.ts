import type { Rpc } from '../../../../src/solana/rpc/rpc.js';

/** A connection that answers only the calls of `part`. */
export function rpcWith(part: Partial<Rpc>): Rpc {
  const unused = () => Promise.reject(new Error('not to be called'));
  return {
    accounts: unused,
    tokenAccounts: unused,
    latestBlockhash: unused,
    tip: unused,
    isBlockhashValid: unused,
    firstSlot: unused,
    perNode: () => [],
    rent: unused,
    priorityFees: unused,
    simulate: unused,
    send: unused,
    statuses: unused,
    transaction: unused,
    signaturesFor: unused,
    genesisHash: unused,
    onSignature: () => () => undefined,
    onAccount: () => ({ subscription: () => undefined, end: () => undefined }),
    close: () => undefined,
    ...part,
  };
}
