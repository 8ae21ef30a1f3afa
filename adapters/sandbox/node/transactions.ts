import type { Address } from '@solana/kit';
import { MAX_AGE } from '../chain/blocks.js';
import { fromBase58, fromBase64, toBase64 } from '../chain/bytes.js';
import { describeFailure } from '../chain/failure.js';
import type { Json } from '../chain/json.js';
import { allKeys, loadKeys } from '../chain/tables.js';
import type { Simulated } from '../chain/vm.js';
import { MalformedTransaction, MAX_TRANSACTION_BYTES, parseTransaction } from '../chain/wire.js';
import type { WireTransaction } from '../chain/wire.js';
import type { Seen } from './behind.js';
import { encodeAccount } from './encode.js';
import { invalidParams, RpcError } from './faults.js';
import type { CallContext, Method } from './method.js';
import { slotFor, toAddress, withContext } from './params.js';
import type { Config, Params } from './params.js';
import { presentInner } from './present.js';

const TYPE = 'solana_transaction::versioned::VersionedTransaction';
const MOST_ENCODED: Readonly<Record<string, number>> = { base58: 1683, base64: 1644 };

/** Decodes a transaction. Throws the node's error if the bytes are malformed. */
export function decodeTransaction(bytes: Uint8Array): WireTransaction {
  try {
    return parseTransaction(bytes);
  } catch (error) {
    if (!(error instanceof MalformedTransaction)) throw error;
    throw invalidParams(
      error.kind === 'sanitize' ? error.message : `failed to deserialize ${TYPE}: ${error.message}`,
    );
  }
}

function readTransaction(params: Params, config: Config): WireTransaction {
  const text = params.string(0);
  const encoding = config.string('encoding') ?? 'base58';
  const most = MOST_ENCODED[encoding];
  if (most === undefined)
    throw invalidParams(`unsupported encoding: ${encoding}. Supported encodings: base58, base64`);
  if (text.length > most) throw tooLarge(encoding, text.length, most);
  const bytes = encoding === 'base58' ? fromBase58(text) : fromBase64(text);
  if (!bytes) throw invalidParams(`invalid ${encoding} encoding: InvalidByte`);
  if (bytes.length > MAX_TRANSACTION_BYTES) throw tooLarge(encoding, bytes.length, most);
  return decodeTransaction(bytes);
}

function tooLarge(encoding: string, length: number, most: number): RpcError {
  return invalidParams(
    `${encoding} encoded ${TYPE} too large: ${length} bytes (max: encoded/raw ${most}/${MAX_TRANSACTION_BYTES})`,
  );
}

const unverified = () => new RpcError(-32003, 'Transaction signature verification failure');

function simulationResult(result: Simulated, accounts: Json, inner: Json, replacement: Json): Json {
  const { failure, logs, unitsConsumed, returnData } = result;
  return {
    err: failure ?? null,
    logs,
    accounts,
    unitsConsumed,
    loadedAccountsDataSize: 0,
    returnData: returnData
      ? { programId: returnData.program, data: [toBase64(returnData.data), 'base64'] }
      : null,
    innerInstructions: inner,
    replacementBlockhash: replacement,
  };
}

/**
 * Returns the inner instructions of a simulation. The list is empty if the transaction did not run
 * because a lookup does not resolve.
 */
function innerCalls(
  { chain, parses }: CallContext,
  transaction: WireTransaction,
  { inner }: Simulated,
): Json {
  const loaded = loadKeys(transaction, (address) => chain.account(address));
  return loaded === undefined ? [] : presentInner(inner, allKeys(transaction, loaded), parses);
}

/** Returns the requested accounts as they are after the simulation. */
function watched(chain: Seen, result: Simulated, config: Config | undefined, keys: number): Json {
  if (!config) return null;
  const encoding = config.string('encoding') ?? 'base64';
  if (encoding === 'base58' || encoding === 'binary')
    throw invalidParams('base58 encoding not supported');
  const addresses = (config.list('addresses') ?? []).map(toAddress);
  if (addresses.length > keys) throw invalidParams(`Too many accounts provided; max ${keys}`);
  if (result.failure !== undefined) return addresses.map(() => null);
  const read = (address: Address) => result.after.get(address) ?? chain.account(address);
  return addresses.map((address) => {
    const account = read(address);
    return account && account.lamports > 0n
      ? encodeAccount(account, config.with('encoding', encoding), read)
      : null;
  });
}

export const transactionMethods = {
  simulateTransaction: (context, params) => {
    const { chain } = context;
    const config = params.config(1);
    const transaction = readTransaction(params, config);
    const slot = slotFor(chain, config);
    const verifySignatures = config.flag('sigVerify');
    const replaceBlockhash = config.flag('replaceRecentBlockhash');
    if (verifySignatures && replaceBlockhash)
      throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
    const result = chain.simulate(transaction, { verifySignatures, replaceBlockhash });
    if (result.failure === 'SignatureFailure') throw unverified();
    const loaded = transaction.lookups.reduce(
      (sum, lookup) => sum + lookup.writable.length + lookup.readonly.length,
      0,
    );
    const accounts = watched(
      chain,
      result,
      config.object('accounts'),
      transaction.keys.length + loaded,
    );
    const inner = config.flag('innerInstructions')
      ? innerCalls(context, transaction, result)
      : null;
    const { hash, height } = chain.blocks.tip;
    const replacement = replaceBlockhash
      ? { blockhash: hash, lastValidBlockHeight: height + MAX_AGE }
      : null;
    return withContext(slot, simulationResult(result, accounts, inner, replacement));
  },

  sendTransaction: ({ chain, lands }, params) => {
    const config = params.config(1);
    const transaction = readTransaction(params, config);
    slotFor(chain, config, config.commitment('preflightCommitment'));
    if (!config.flag('skipPreflight')) {
      const result = chain.simulate(transaction, { verifySignatures: true });
      if (result.failure === 'SignatureFailure') throw unverified();
      if (result.failure !== undefined) {
        const sentence = `Transaction simulation failed: ${describeFailure(result.failure)}`;
        throw new RpcError(-32002, sentence, simulationResult(result, null, null, null));
      }
    }
    if (lands) chain.submit(transaction);
    return transaction.signature;
  },
} satisfies Record<string, Method>;
