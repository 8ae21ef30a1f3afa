import { FINALITY, type Block } from '../chain/blocks.js';
import { fromBase58, toBase58 } from '../chain/bytes.js';
import { reaches } from '../chain/history.js';
import type { Landed } from '../chain/history.js';
import type { Json } from '../chain/json.js';
import { invalidParams, RpcError } from './faults.js';
import type { Method } from './method.js';
import { slotFor, toSignature, withContext } from './params.js';
import type { Config } from './params.js';
import { presentTransaction } from './present.js';

const MOST_STATUSES = 256;
const MOST_SIGNATURES = 1000;
/** Slots for which a node keeps statuses without `searchTransactionHistory`. */
const RECENT = 300n;
const VOTE_PROGRAM = 'Vote111111111111111111111111111111111111111';

function statusOf(landed: Landed, tip: bigint): Json {
  const err = landed.outcome.failure ?? null;
  const age = tip - landed.slot;
  return {
    slot: landed.slot,
    confirmations: landed.level === 'finalized' ? null : age < FINALITY ? age : FINALITY - 1n,
    err,
    status: err === null ? { Ok: null } : { Err: err },
    confirmationStatus: landed.level,
  };
}

function atLeastConfirmed(config: Config) {
  const commitment = config.commitment();
  if (commitment === 'processed')
    throw invalidParams('Method does not support commitment below `confirmed`');
  return commitment;
}

export const historyMethods = {
  getSignatureStatuses: ({ chain, tip }, params) => {
    const config = params.config(1);
    const everything = config.flag('searchTransactionHistory');
    const statuses = params
      .list(0, MOST_STATUSES)
      .map(toSignature)
      .map((signature) => {
        const landed = chain.history.get(signature);
        return landed && (everything || tip - landed.slot <= RECENT) ? statusOf(landed, tip) : null;
      });
    return withContext(tip, statuses);
  },

  getTransaction: ({ chain }, params) => {
    const config = params.config(1);
    const commitment = atLeastConfirmed(config);
    const landed = chain.history.get(toSignature(params.get(0)));
    if (!landed || !reaches(landed.level, commitment)) return null;
    if (
      landed.transaction.version === 0 &&
      config.integer('maxSupportedTransactionVersion') === undefined
    ) {
      throw new RpcError(
        -32015,
        'Transaction version (0) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 0',
      );
    }
    return presentTransaction(
      landed,
      config.string('encoding') ?? 'json',
      config.has('maxSupportedTransactionVersion'),
    );
  },

  getSignaturesForAddress: ({ chain, tip }, params) => {
    const config = params.config(1);
    const commitment = atLeastConfirmed(config);
    slotFor({ slot: tip }, config);
    const limit = config.integer('limit') ?? MOST_SIGNATURES;
    if (limit < 1 || limit > MOST_SIGNATURES)
      throw invalidParams(`Invalid limit; max ${MOST_SIGNATURES}`);
    const address = params.address(0);
    if (address === VOTE_PROGRAM)
      return [presentVote(chain.blocks.at(commitment === 'finalized' ? FINALITY : 1n))];
    const newest = [...chain.history.of(address)].reverse();
    const before = config.has('before') ? toSignature(config.string('before')) : undefined;
    const until = config.has('until') ? toSignature(config.string('until')) : undefined;
    const from = before === undefined ? 0 : indexOf(newest, before) + 1;
    const to = until === undefined ? newest.length : indexOf(newest, until);
    return newest
      .slice(from, to)
      .filter((landed) => reaches(landed.level, commitment))
      .slice(0, limit)
      .map((landed) => ({
        signature: landed.transaction.signature,
        slot: landed.slot,
        err: landed.outcome.failure ?? null,
        memo: landed.memo,
        blockTime: landed.time,
        confirmationStatus: landed.level,
      }));
  },
} satisfies Record<string, Method>;

/**
 * Makes up a vote transaction for a block. A cluster has votes in each slot, but the sandbox has no
 * validators.
 */
function presentVote({ slot, hash }: Block): Json {
  const half = fromBase58(hash) ?? [];
  const signature = toBase58(Uint8Array.from([...half, ...half]));
  return {
    signature,
    slot,
    err: null,
    memo: null,
    blockTime: null,
    confirmationStatus: 'confirmed',
  };
}

/** Returns the index of a signature, or the length of the list if it is missing. */
function indexOf(list: readonly Landed[], signature: string): number {
  const index = list.findIndex(({ transaction }) => transaction.signature === signature);
  return index < 0 ? list.length : index;
}
