import type { Address } from '@solana/kit';
import { toBase58, toBase64 } from '../chain/bytes.js';
import type { Balances, Landed } from '../chain/history.js';
import type { Json } from '../chain/json.js';
import type { InnerInstructions } from '../chain/vm.js';
import { isStaticWritable } from '../chain/wire.js';
import type { WireInstruction } from '../chain/wire.js';
import { uiTokenAmount } from './encode.js';
import { invalidParams } from './faults.js';
import { parseInstruction } from './parse.js';

/** Returns a landed transaction in the form of `getTransaction`. */
export function presentTransaction(landed: Landed, encoding: string, withVersion: boolean): Json {
  return {
    slot: landed.slot,
    blockTime: landed.time,
    transaction: body(landed, encoding),
    meta: metaOf(landed, encoding),
    version: withVersion ? landed.transaction.version : undefined,
  };
}

function body(landed: Landed, encoding: string): Json {
  const { transaction } = landed;
  if (encoding === 'base64') return [toBase64(transaction.bytes), 'base64'];
  if (encoding === 'base58') return [toBase58(transaction.bytes), 'base58'];
  if (encoding !== 'json' && encoding !== 'jsonParsed')
    throw invalidParams(`Invalid params: unknown variant \`${encoding}\``);
  const parsed = encoding === 'jsonParsed';
  const { header, keys, blockhash, instructions, lookups, version } = transaction;
  return {
    signatures: transaction.signatures.map(toBase58),
    message: {
      header: parsed
        ? undefined
        : {
            numRequiredSignatures: header.signers,
            numReadonlySignedAccounts: header.readonlySigners,
            numReadonlyUnsignedAccounts: header.readonlyOthers,
          },
      accountKeys: parsed ? parsedKeys(landed) : keys,
      recentBlockhash: blockhash,
      instructions: instructions.map((instruction) =>
        presentInstruction(instruction, 1, parsed ? landed.keys : undefined),
      ),
      addressTableLookups:
        version === 0
          ? lookups.map(({ table, writable, readonly }) => ({
              accountKey: table,
              writableIndexes: [...writable],
              readonlyIndexes: [...readonly],
            }))
          : undefined,
    },
  };
}

/**
 * Returns the inner instructions by top-level instruction. With `keys`, they have the form of
 * `jsonParsed`, which simulations use.
 */
export function presentInner(
  inner: readonly InnerInstructions[],
  keys?: readonly Address[],
  parses = true,
): Json {
  return inner.map(({ index, instructions }) => ({
    index,
    instructions: instructions.map((instruction) =>
      presentInstruction(instruction, instruction.stackHeight, keys, parses),
    ),
  }));
}

/**
 * Returns an instruction as a node shows it. With `keys`, accounts are addresses, and known
 * instructions are parsed; else accounts are indexes.
 */
function presentInstruction(
  { programIndex, accounts, data }: WireInstruction,
  stackHeight: number,
  keys?: readonly Address[],
  parses = true,
): Json {
  if (!keys)
    return {
      programIdIndex: programIndex,
      accounts: [...accounts],
      data: toBase58(data),
      stackHeight,
    };
  const programId = keyAt(keys, programIndex);
  const named = [...accounts].map((index) => keyAt(keys, index));
  const parsed = parses ? parseInstruction(programId, named, data) : undefined;
  return { ...(parsed ?? { programId, accounts: named, data: toBase58(data) }), stackHeight };
}

function keyAt(keys: readonly Address[], index: number): Address {
  const key = keys[index];
  if (key === undefined) throw new RangeError(`The transaction has no account ${index}.`);
  return key;
}

function parsedKeys({ transaction, keys, loaded }: Landed): Json {
  return keys.map((pubkey, index) => {
    const isStatic = index < transaction.keys.length;
    return {
      pubkey,
      signer: index < transaction.header.signers,
      writable: isStatic
        ? isStaticWritable(transaction, index)
        : index < transaction.keys.length + loaded.writable.length,
      source: isStatic ? 'transaction' : 'lookupTable',
    };
  });
}

function metaOf({ outcome, before, after, loaded, keys }: Landed, encoding: string): Json {
  const { failure, fee, inner, logs, unitsConsumed, returnData } = outcome;
  const err = failure ?? null;
  return {
    err,
    status: err === null ? { Ok: null } : { Err: err },
    fee,
    preBalances: before.lamports,
    postBalances: after.lamports,
    preTokenBalances: tokenBalances(before),
    postTokenBalances: tokenBalances(after),
    innerInstructions: presentInner(inner, encoding === 'jsonParsed' ? keys : undefined),
    logMessages: logs,
    rewards: [],
    loadedAddresses:
      encoding === 'jsonParsed'
        ? undefined
        : { writable: loaded.writable, readonly: loaded.readonly },
    returnData: returnData && {
      programId: returnData.program,
      data: [toBase64(returnData.data), 'base64'],
    },
    computeUnitsConsumed: unitsConsumed,
  };
}

function tokenBalances({ tokens }: Balances): Json {
  return tokens.map(({ accountIndex, mint, owner, programId, amount, decimals }) => ({
    accountIndex,
    mint,
    owner,
    programId,
    uiTokenAmount: uiTokenAmount(amount, decimals),
  }));
}
