import { parseAmount } from '../../amount.js';
import { cleanText, ProtocolError } from '../../errors.js';
import { toNetwork } from '../../network.js';
import { isAddress, isReservedAddress } from '../../solana/address.js';
import type { Address } from '../../solana/types.js';
import type { JudgedOffers, OfferReading } from '../protocol.js';
import type {
  JsonValue,
  Offer,
  PaymentRequired,
  PaymentRequirements,
  X402Version,
} from '../types.js';
import { fieldsOf } from './json.js';
import { otherNetwork } from './network-names.js';

type RefusalCode = 'malformed_payment_required' | 'unsupported_offer' | 'unsupported_network';
/** Why an entry is not payable; `why` completes the sentence "Offer n ...". */
interface Refused {
  readonly code: RefusalCode;
  readonly why: string;
  /** What to do about it: a sentence. */
  readonly next: string;
}

const MEMO_LIMIT_BYTES = 256;
/**
 * What only facilitators write that are younger than version 1: they take a memo, and faremeter's
 * demands one (x402.md 2.4).
 */
const YOUNGER: readonly string[] = ['recentBlockhash', 'tokenProgram', 'features'];
const TIMEOUT_SECONDS = { default: 60, least: 5, most: 300 };
/** The seller's strings that help a reader of a refusal. */
const SHOWN: readonly string[] = [
  'scheme',
  'network',
  'asset',
  'payTo',
  'amount',
  'maxAmountRequired',
];

/**
 * Judges every entry of `accepts`, in the seller's order, by security.md 2.2: what survives is safe
 * to look up on chain, and everything else says why.
 *
 * @param network - The cluster that we pay on, CAIP-2.
 * @param self - The paying wallet.
 */
export function readOffers(
  paymentRequired: PaymentRequired,
  network: string,
  self: Address,
): OfferReading[] {
  const { accepts, x402Version } = paymentRequired;
  return accepts.map((entry, index) => {
    const read = isShadowed(accepts, index, x402Version)
      ? unsupported(
          'comes after another with the same scheme and network, and v1 sellers settle only the first',
        )
      : readOffer(entry, index, x402Version, network, self);
    return 'code' in read ? refuse(entry, index, network, read) : { ok: true, offer: read };
  });
}

/**
 * The offers of the terms; those of the v1 body beside a v2 header if nothing in the header can be
 * paid.
 */
export function judgeOffers(terms: PaymentRequired, network: string, self: Address): JudgedOffers {
  const readings = readOffers(terms, network, self);
  if (terms.fallback === undefined || readings.some(({ ok }) => ok)) return { terms, readings };
  return { terms: terms.fallback, readings: readOffers(terms.fallback, network, self) };
}

function readOffer(
  entry: PaymentRequirements,
  index: number,
  x402Version: X402Version,
  network: string,
  self: Address,
): Offer | Refused {
  const { scheme, network: name, asset: mint, payTo, extra, ...rest } = fieldsOf(entry);
  if (typeof scheme !== 'string') return malformed('names no scheme');
  if (scheme.trim().toLowerCase() !== 'exact')
    return unsupported('asks for a scheme other than exact');
  if (typeof name !== 'string') return malformed('names no network');
  if (toNetwork(name) !== network)
    return { code: 'unsupported_network', ...otherNetwork(name, network) };

  const amount = readAmount(x402Version === 1 ? rest['maxAmountRequired'] : rest['amount']);
  if (amount === undefined)
    return malformed('has an amount that is not a whole number of base units from 1 to 2^64-1');
  if (amount === 0n) return unsupported('asks for an amount of 0, which pays nothing');

  if (!isAddress(mint)) return malformed('has an asset that is not a base58 mint address');
  if (isReservedAddress(mint)) return unsupported('has an asset that is a system address');
  if (!isAddress(payTo)) return malformed('has a payTo that is not a base58 address');
  if (isReservedAddress(payTo)) return unsupported('pays to a system address');
  if (payTo === mint) return unsupported('pays to the mint itself');
  if (payTo === self) return unsupported('pays to the paying wallet');

  const read = readExtra(extra, x402Version, mint, self);
  if ('code' in read) return read;
  // Version 1 named networks in its own words; a CAIP-2 name there is a younger seller's too.
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
): Pick<Offer, 'feePayer' | 'memo' | 'recentBlockhash' | 'claimedDecimals'> | Refused {
  const { feePayer, decimals, recentBlockhash, ...extra } = fieldsOf(value);
  const flow = extra['paymentFlow'] ?? 'authorization';
  if (flow !== 'authorization')
    return unsupported('asks for a payment flow other than authorization');
  if (!isAddress(feePayer)) return malformed('has no extra.feePayer that is a base58 address');
  if (isReservedAddress(feePayer) || feePayer === mint)
    return unsupported('names a fee payer that cannot sign');
  if (feePayer === self) return unsupported('names the paying wallet as fee payer');
  // An empty memo is no memo to the reference facilitator.
  const memo = extra['memo'] ?? '';
  if (typeof memo !== 'string') return malformed('has a memo that is not text');
  if (new TextEncoder().encode(memo).length > MEMO_LIMIT_BYTES)
    return unsupported(`has a memo of more than ${MEMO_LIMIT_BYTES} bytes`);
  if (!isCleanMemo(memo)) return unsupported('has a memo with control characters or broken text');
  return {
    feePayer,
    ...(memo === '' ? {} : { memo }),
    ...(decimals === undefined || decimals === null ? {} : { claimedDecimals: decimals }),
    // A blockhash has the form of an address; a bad one only costs us a look-up of our own.
    ...(x402Version === 2 && isAddress(recentBlockhash) ? { recentBlockhash } : {}),
  };
}

function isYounger(extra: JsonValue | undefined): boolean {
  const fields = fieldsOf(extra);
  return YOUNGER.some((key) => (fields[key] ?? null) !== null);
}

/** v1 sellers match a payment to the first entry with its scheme and network (x402.md 1.5). */
function isShadowed(
  accepts: readonly PaymentRequirements[],
  index: number,
  x402Version: X402Version,
): boolean {
  const entry = accepts[index];
  if (x402Version !== 1 || entry === undefined) return false;
  const { scheme, network } = fieldsOf(entry);
  const same = (other: PaymentRequirements) => {
    const fields = fieldsOf(other);
    return fields['scheme'] === scheme && fields['network'] === network;
  };
  return accepts.slice(0, index).some(same);
}

/** Strict decimal text, or a number if no digit can have been lost (security.md P1). */
function readAmount(value: JsonValue | undefined): bigint | undefined {
  return parseAmount(
    typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value,
  );
}

function readTimeout(value: JsonValue | undefined): number {
  if (typeof value !== 'number') return TIMEOUT_SECONDS.default;
  return Math.min(TIMEOUT_SECONDS.most, Math.max(TIMEOUT_SECONDS.least, Math.floor(value)));
}

/** No C0 or C1 control characters, and no half surrogates, which UTF-8 cannot carry. */
function isCleanMemo(memo: string): boolean {
  return Array.from(memo).every((character) => {
    const point = character.codePointAt(0) ?? 0;
    const isControl = point < 0x20 || (point >= 0x7f && point < 0xa0);
    const isHalfSurrogate = point >= 0xd800 && point < 0xe000;
    return !isControl && !isHalfSurrogate;
  });
}

function malformed(why: string): Refused {
  return {
    code: 'malformed_payment_required',
    why,
    next: 'Nothing was paid; the seller has to correct its terms.',
  };
}

function unsupported(why: string): Refused {
  return {
    code: 'unsupported_offer',
    why,
    next: 'Nothing was paid; the seller has to offer a payment of the scheme exact to a wallet of its own.',
  };
}

function refuse(
  entry: PaymentRequirements,
  index: number,
  network: string,
  { code, why, next }: Refused,
): OfferReading {
  const message = `Offer ${index + 1} ${why}. ${next}`;
  const untrusted = shownStrings(entry);
  const { network: named } = fieldsOf(entry);
  const error =
    code === 'unsupported_network'
      ? new ProtocolError(code, message, {
          details: { network: toNetwork(typeof named === 'string' ? named : '') ?? 'other' },
          untrusted,
        })
      : new ProtocolError(code, message, { details: { reason: why }, untrusted });
  return { ok: false, refusal: Object.freeze({ index, code, message, untrusted }), error };
}

function shownStrings(entry: PaymentRequirements): Readonly<Record<string, string>> {
  const fields = fieldsOf(entry);
  const shown: Record<string, string> = {};
  for (const key of SHOWN) {
    const value = fields[key];
    if (typeof value === 'string') shown[key] = cleanText(value);
  }
  return Object.freeze(shown);
}
