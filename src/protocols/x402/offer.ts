import { parseAmount } from '../../amount.js';
import { sellersNetwork } from '../../network.js';
import { isAddress } from '../../solana/address.js';
import { isReservedAddress } from '../../solana/reserved-addresses.js';
import type { Address } from '../../solana/types.js';
import type {
  JsonValue,
  Offer,
  PaymentRequired,
  PaymentRequirements,
  X402Version,
} from '../types.js';
import { fieldsOf } from './json.js';

/** Why an entry cannot be paid: `offers.ts` has the sentences. */
export type Flaw =
  | 'shadowed'
  | 'other network'
  | 'no scheme'
  | 'other scheme'
  | 'no network'
  | 'amount'
  | 'amount of 0'
  | 'asset'
  | 'system asset'
  | 'payTo'
  | 'system payTo'
  | 'mint as payTo'
  | 'self as payTo'
  | 'flow'
  | 'feePayer'
  | 'dumb feePayer'
  | 'self as feePayer'
  | 'memo'
  | 'long memo'
  | 'unclean memo';

export const MEMO_LIMIT_BYTES = 256;
/**
 * Fields of `extra` that only facilitators younger than version 1 write. They take a memo, and
 * faremeter's facilitator demands it (x402.md 2.4).
 */
const YOUNGER: readonly string[] = ['recentBlockhash', 'tokenProgram', 'features'];
const TIMEOUT_SECONDS = { default: 60, least: 5, most: 300 };
/**
 * Judges an entry of `accepts` by security.md 2.2. An offer that it returns is safe to look up on
 * the chain.
 *
 * @param network - CAIP-2 id of the cluster that the wallet pays on.
 * @param self - The paying wallet.
 */
export function readOffer(
  { accepts, x402Version }: PaymentRequired,
  index: number,
  network: string,
  self: Address,
): Offer | Flaw {
  const entry = accepts[index] ?? {};
  if (isShadowed(accepts, index, x402Version)) return 'shadowed';
  const { scheme, network: name, asset: mint, payTo, extra, ...rest } = fieldsOf(entry);
  if (typeof scheme !== 'string') return 'no scheme';
  if (scheme.trim().toLowerCase() !== 'exact') return 'other scheme';
  if (typeof name !== 'string') return 'no network';
  if (sellersNetwork(name) !== network) return 'other network';

  const amount = readAmount(x402Version === 1 ? rest['maxAmountRequired'] : rest['amount']);
  if (amount === undefined) return 'amount';
  if (amount === 0n) return 'amount of 0';

  if (!isAddress(mint)) return 'asset';
  if (isReservedAddress(mint)) return 'system asset';
  if (!isAddress(payTo)) return 'payTo';
  if (isReservedAddress(payTo)) return 'system payTo';
  if (payTo === mint) return 'mint as payTo';
  if (payTo === self) return 'self as payTo';

  const read = readExtra(extra, x402Version, mint, self);
  if (typeof read === 'string') return read;
  // Version 1 has its own names of networks, so a CAIP-2 name shows a younger seller.
  const takesMemo = x402Version === 2 || name.includes(':') || isYounger(extra);
  return Object.freeze({
    index,
    x402Version,
    scheme: 'exact',
    network,
    amount,
    mint,
    payTo,
    ...read,
    takesMemo,
    maxTimeoutSeconds: readTimeout(rest['maxTimeoutSeconds']),
    raw: entry,
  });
}

function readExtra(
  value: JsonValue | undefined,
  x402Version: X402Version,
  mint: Address,
  self: Address,
): Pick<Offer, 'feePayer' | 'memo' | 'recentBlockhash' | 'claimedDecimals'> | Flaw {
  const { feePayer, decimals, recentBlockhash, ...extra } = fieldsOf(value);
  const flow = extra['paymentFlow'] ?? 'authorization';
  if (flow !== 'authorization') return 'flow';
  if (!isAddress(feePayer)) return 'feePayer';
  if (isReservedAddress(feePayer) || feePayer === mint) return 'dumb feePayer';
  if (feePayer === self) return 'self as feePayer';
  // An empty memo is no memo to the reference facilitator.
  const memo = extra['memo'] ?? '';
  if (typeof memo !== 'string') return 'memo';
  if (new TextEncoder().encode(memo).length > MEMO_LIMIT_BYTES) return 'long memo';
  if (!isCleanMemo(memo)) return 'unclean memo';
  return {
    feePayer,
    ...(memo === '' ? {} : { memo }),
    ...(decimals === undefined || decimals === null ? {} : { claimedDecimals: decimals }),
    // A blockhash has the form of an address. A wrong blockhash costs only a lookup of a new one.
    ...(x402Version === 2 && isAddress(recentBlockhash) ? { recentBlockhash } : {}),
  };
}

function isYounger(extra: JsonValue | undefined): boolean {
  const fields = fieldsOf(extra);
  return YOUNGER.some((key) => (fields[key] ?? null) !== null);
}

/**
 * Whether a v1 seller would match an earlier entry: it compares scheme and network (x402.md
 * 1.5).
 */
function isShadowed(
  accepts: readonly PaymentRequirements[],
  index: number,
  x402Version: X402Version,
): boolean {
  const entry = accepts[index];
  if (x402Version !== 1 || entry === undefined) return false;
  const { scheme, network } = fieldsOf(entry);
  const matches = (other: PaymentRequirements) => {
    const fields = fieldsOf(other);
    return fields['scheme'] === scheme && fields['network'] === network;
  };
  return accepts.slice(0, index).some(matches);
}

/** Reads strict decimal text, or a number that is exact (security.md P1). */
function readAmount(value: JsonValue | undefined): bigint | undefined {
  return parseAmount(
    typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value,
  );
}

function readTimeout(value: JsonValue | undefined): number {
  if (typeof value !== 'number') return TIMEOUT_SECONDS.default;
  return Math.min(TIMEOUT_SECONDS.most, Math.max(TIMEOUT_SECONDS.least, Math.floor(value)));
}

/** Rejects C0 and C1 control characters, and half surrogates, which UTF-8 cannot carry. */
function isCleanMemo(memo: string): boolean {
  return Array.from(memo).every((character) => {
    const point = character.codePointAt(0) ?? 0;
    const isControl = point < 0x20 || (point >= 0x7f && point < 0xa0);
    const isHalfSurrogate = point >= 0xd800 && point < 0xe000;
    return !isControl && !isHalfSurrogate;
  });
}
