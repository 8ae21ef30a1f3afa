import { base64 } from '@scure/base';
import type { AccountInfo } from '@solana/web3.js';
import { redact } from '../../internal/redact.js';
import { isAddress } from '../address.js';
import { Fault } from './fault.js';
import type { Account, Commitment, SignatureStatus } from './rpc.js';

/**
 * A count, slot or amount of lamports. web3.js reads JSON numbers, which are wrong above 2^53: such
 * an answer is refused instead of rounded.
 */
export function safeInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Fault('invalid', 'a number in it is not within 0 and 2^53');
}

/** More than any error of a transaction has: a node may answer with megabytes. */
const LONGEST_ERROR = 1_000;

/** Why a transaction failed, as the node words it: what is shown of it. */
export function errorText(error: unknown): string | null {
  return isNone(error) ? null : redact(JSON.stringify(error)).slice(0, LONGEST_ERROR);
}

/** The same to be judged: a secret of ours may be a part of its words. */
export function rawErrorText(error: unknown): string | null {
  return isNone(error) ? null : JSON.stringify(error).slice(0, LONGEST_ERROR);
}

function isNone(error: unknown): error is null | undefined {
  return error === null || error === undefined;
}

export function readAccount({
  owner,
  lamports,
  data,
  executable,
}: AccountInfo<Uint8Array>): Account {
  return {
    owner: owner.toBase58(),
    lamports: BigInt(safeInteger(lamports)),
    data: Uint8Array.from(data),
    executable,
  };
}

export function readSimulatedAccount(
  account: {
    readonly owner: string;
    readonly lamports: number;
    readonly data: readonly string[];
    readonly executable: boolean;
  } | null,
): Account | null {
  if (account === null) return null;
  const { owner, lamports, data, executable } = account;
  if (!isAddress(owner) || data[1] !== 'base64')
    throw new Fault('invalid', 'an account in it cannot be read');
  return {
    owner,
    lamports: BigInt(safeInteger(lamports)),
    data: base64.decode(data[0] ?? ''),
    executable,
  };
}

export function readStatus(status: {
  slot: number;
  confirmations: number | null;
  err: unknown;
  confirmationStatus?: Commitment;
}): SignatureStatus {
  const { slot, confirmations, err, confirmationStatus } = status;
  // Old nodes do not name the commitment; they count confirmations, and stop once it is final.
  return {
    slot: safeInteger(slot),
    commitment: confirmationStatus ?? (confirmations === null ? 'finalized' : 'processed'),
    error: errorText(err),
  };
}
