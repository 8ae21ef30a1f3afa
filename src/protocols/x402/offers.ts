import { cleanText, ProtocolError } from '../../errors.js';
import { sellersNetwork } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { JudgedOffers, OfferReading } from '../protocol.js';
import type { PaymentRequired, PaymentRequirements } from '../types.js';
import { fieldsOf } from './json.js';
import { otherNetwork } from './other-networks.js';
import { MEMO_LIMIT_BYTES, readOffer, type Flaw } from './offer.js';

/** Why an entry cannot be paid; `why` completes the sentence "Offer n ...". */
interface Refused {
  readonly code: 'malformed_payment_required' | 'unsupported_offer' | 'unsupported_network';
  readonly why: string;
  readonly next: string;
}

const MALFORMED = {
  'no scheme': 'names no scheme',
  'no network': 'names no network',
  amount: 'has an amount that is not a whole number of base units from 1 to 2^64-1',
  asset: 'has an asset that is not a base58 mint address',
  payTo: 'has a payTo that is not a base58 address',
  feePayer: 'has no extra.feePayer that is a base58 address',
  memo: 'has a memo that is not text',
} as const;
const UNSUPPORTED: Readonly<
  Record<Exclude<Flaw, keyof typeof MALFORMED | 'other network'>, string>
> = {
  shadowed:
    'comes after another with the same scheme and network, and v1 sellers settle only the first',
  'other scheme': 'asks for a scheme other than exact',
  'amount of 0': 'asks for an amount of 0, which pays nothing',
  'system asset': 'has an asset that is a system address',
  'system payTo': 'pays to a system address',
  'mint as payTo': 'pays to the mint itself',
  'self as payTo': 'pays to the paying wallet',
  flow: 'asks for a payment flow other than authorization',
  'dumb feePayer': 'names a fee payer that cannot sign',
  'self as feePayer': 'names the paying wallet as fee payer',
  'long memo': `has a memo of more than ${MEMO_LIMIT_BYTES} bytes`,
  'unclean memo': 'has a memo with control characters or broken text',
};
/** Fields of an entry that an error shows if they are strings. */
const SHOWN: readonly string[] = [
  'scheme',
  'network',
  'asset',
  'payTo',
  'amount',
  'maxAmountRequired',
];

/** Judges every entry of `accepts`, in the seller's order, as {@link readOffer} does. */
export function readOffers(terms: PaymentRequired, network: string, self: Address): OfferReading[] {
  return terms.accepts.map((entry, index) => {
    const read = readOffer(terms, index, network, self);
    return typeof read === 'string'
      ? refuse(entry, index, network, refusalOf(read, entry, network))
      : { ok: true, offer: read };
  });
}

/**
 * Judges the offers of the terms. If none can be paid and a v1 body came beside the v2 header, it
 * judges the offers of that body.
 */
export function judgeOffers(terms: PaymentRequired, network: string, self: Address): JudgedOffers {
  const readings = readOffers(terms, network, self);
  if (terms.fallback === undefined || readings.some(({ ok }) => ok)) return { terms, readings };
  return { terms: terms.fallback, readings: readOffers(terms.fallback, network, self) };
}

function refusalOf(flaw: Flaw, entry: PaymentRequirements, network: string): Refused {
  if (flaw === 'other network')
    return { code: 'unsupported_network', ...otherNetwork(nameIn(entry), network) };
  return isMalformed(flaw)
    ? {
        code: 'malformed_payment_required',
        why: MALFORMED[flaw],
        next: 'Nothing was paid; the seller has to correct its terms.',
      }
    : {
        code: 'unsupported_offer',
        why: UNSUPPORTED[flaw],
        next: 'Nothing was paid; the seller has to offer a payment of the scheme exact to a wallet of its own.',
      };
}

function isMalformed(flaw: Flaw): flaw is keyof typeof MALFORMED {
  return flaw in MALFORMED;
}

function nameIn(entry: PaymentRequirements): string {
  const { network } = fieldsOf(entry);
  return typeof network === 'string' ? network : '';
}

function refuse(
  entry: PaymentRequirements,
  index: number,
  network: string,
  { code, why, next }: Refused,
): OfferReading {
  const message = `Offer ${index + 1} ${why}. ${next}`;
  const untrusted = shownStrings(entry);
  const error =
    code === 'unsupported_network'
      ? new ProtocolError(code, message, {
          details: { network: sellersNetwork(nameIn(entry)) ?? 'other' },
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
