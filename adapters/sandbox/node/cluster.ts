import { FINALITY, MAX_AGE, SLOTS_PER_EPOCH } from '../chain/blocks.js';
import type { Block } from '../chain/blocks.js';
import { fromBase58, fromBase64 } from '../chain/bytes.js';
import { feeOf, unitPrice } from '../chain/fees.js';
import type { Commitment } from '../chain/history.js';
import type { Seen } from './behind.js';
import { invalidParams } from './faults.js';
import type { Method } from './method.js';
import { API_VERSION, slotFor, toAddress, withContext } from './params.js';
import type { Config } from './params.js';
import { decodeTransaction } from './transactions.js';

// Mainnet's genesis hash, because clients check that the network fits the mints.
const MAINNET_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const MOST_LOCKED = 128;

function blockAt(chain: Seen, commitment: Commitment): Block {
  return chain.blocks.at(commitment === 'finalized' ? FINALITY : 0n);
}

function blockFor(chain: Seen, config: Config): Block {
  slotFor(chain, config);
  return blockAt(chain, config.commitment());
}

export const clusterMethods = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'feature-set': 3_640_012_085, 'solana-core': API_VERSION }),
  getGenesisHash: () => MAINNET_GENESIS,
  getSlot: ({ chain }, params) => blockFor(chain, params.config(0)).slot,
  /** The sandbox never drops a block. */
  getFirstAvailableBlock: () => 0,
  minimumLedgerSlot: () => 0,
  getBlockHeight: ({ chain }, params) => blockFor(chain, params.config(0)).height,
  getTransactionCount: ({ chain }, params) => {
    slotFor(chain, params.config(0));
    return chain.history.size;
  },

  getEpochInfo: ({ chain }, params) => {
    const block = blockFor(chain, params.config(0));
    return {
      absoluteSlot: block.slot,
      blockHeight: block.height,
      epoch: block.slot / SLOTS_PER_EPOCH,
      slotIndex: block.slot % SLOTS_PER_EPOCH,
      slotsInEpoch: SLOTS_PER_EPOCH,
      transactionCount: chain.history.size,
    };
  },

  getLatestBlockhash: ({ chain }, params) => {
    const config = params.config(0);
    const block = blockFor(chain, config);
    return withContext(slotFor(chain, config), {
      blockhash: block.hash,
      lastValidBlockHeight: block.height + MAX_AGE,
    });
  },

  isBlockhashValid: ({ chain }, params) => {
    const hash = params.string(0);
    if (fromBase58(hash)?.length !== 32) throw invalidParams('Invalid param: WrongSize');
    const config = params.config(1);
    return withContext(
      slotFor(chain, config),
      chain.blocks.isValid(hash, blockAt(chain, config.commitment())),
    );
  },

  getMinimumBalanceForRentExemption: ({ chain }, params) => chain.rent(BigInt(params.integer(0))),

  getFeeForMessage: ({ chain }, params) => {
    const message = fromBase64(params.string(0));
    if (!message) throw invalidParams('invalid base64 encoding');
    const signers = (message[0] === 0x80 ? message[1] : message[0]) ?? 0;
    if (signers > 127) throw invalidParams('failed to deserialize VersionedMessage');
    const unsigned = new Uint8Array(1 + 64 * signers + message.length);
    unsigned.set([signers], 0);
    unsigned.set(message, 1 + 64 * signers);
    const transaction = decodeTransaction(unsigned);
    return withContext(
      slotFor(chain, params.config(1)),
      chain.blocks.isValid(transaction.blockhash) ? feeOf(transaction) : null,
    );
  },

  getRecentPrioritizationFees: ({ chain }, params) => {
    const locked = params.has(0) ? params.list(0, MOST_LOCKED).map(toAddress) : [];
    const first = chain.slot - MAX_AGE;
    const fees = new Map<bigint, bigint>();
    for (const landed of chain.history.since(first)) {
      if (!locked.every((address) => landed.writable.includes(address))) continue;
      const price = unitPrice(landed.transaction);
      const least = fees.get(landed.slot);
      if (least === undefined || price < least) fees.set(landed.slot, price);
    }
    return Array.from({ length: Number(MAX_AGE) }, (_, index) => {
      const slot = first + 1n + BigInt(index);
      return { slot, prioritizationFee: fees.get(slot) ?? 0n };
    });
  },
} satisfies Record<string, Method>;
