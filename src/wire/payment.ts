import * as v from 'valibot';
import { errorCodes } from '../errors.js';
import type { OfferRefusal } from '../errors.js';
import type { ParsedOffer, ParsedPayment, PaymentResult } from '../transport.js';
import {
  address,
  amount,
  base64,
  count,
  digits,
  flag,
  mint,
  name,
  text,
  transaction,
  textUpTo,
  callerKey,
  webAddress,
  within,
} from './fields.js';
import { swapTransaction } from './swap.js';

// The whole body of a request has a limit; these limits keep one field from filling it. Node and
// fetch have the same limit on all headers together.
const MAX_HEADER = 16_384;
const MAX_HEADERS = 100;
const MAX_LIMITS = 32;
const MAX_SWAP_FROM = 32;

const MANY_HEADERS = `must have at most ${MAX_HEADERS} entries.`;
const headers = v.pipe(
  v.record(
    shapedHeaderName(),
    textUpTo(MAX_HEADER),
    'must be an object of header names and values.',
  ),
  v.maxEntries(MAX_HEADERS, MANY_HEADERS),
);

function shapedHeaderName(): v.GenericSchema<string> {
  const rule = 'must have names of headers as keys.';
  return v.pipe(
    v.string(rule),
    v.maxLength(128, rule),
    v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, rule),
  );
}

export const paymentParts = v.strictObject(
  {
    url: v.exactOptional(webAddress),
    status: v.exactOptional(within(100, 599)),
    headers: v.exactOptional(headers),
    body: v.exactOptional(v.unknown()),
  },
  'must be an object with the url, status, headers and body of the 402.',
);

const limits = v.pipe(
  v.record(address, amount, 'must be an object of base units by mint.'),
  v.maxEntries(MAX_LIMITS, `must have at most ${MAX_LIMITS} entries.`),
);

const swapFrom = v.pipe(
  v.array(mint, 'must be a list of mint addresses or pinned symbols.'),
  v.maxLength(MAX_SWAP_FROM, `must have at most ${MAX_SWAP_FROM} entries.`),
);

export const autoPayRequest = v.strictObject(
  {
    paymentRequired: paymentParts,
    wallet: address,
    autoSwap: v.exactOptional(flag),
    limits: v.exactOptional(limits),
    swapFrom: v.exactOptional(swapFrom),
    slippageBps: v.exactOptional(within(0, 10_000)),
    swapAmount: v.exactOptional(amount),
    signedSwap: v.exactOptional(transaction),
    signedPayment: v.exactOptional(transaction),
    idempotencyKey: v.exactOptional(callerKey),
  },
  'must be an object.',
);

const version = v.picklist([1, 2], 'must be 1 or 2.');

export const untrusted = v.pipe(v.record(name, text), v.maxEntries(20));

export const offerRefusal: v.GenericSchema<unknown, OfferRefusal> = v.object({
  index: count,
  code: v.picklist(errorCodes, 'must be a code.'),
  message: text,
  untrusted: v.exactOptional(untrusted),
});

const parsedOffer: v.GenericSchema<unknown, ParsedOffer> = v.object(
  {
    index: count,
    x402Version: version,
    payable: flag,
    network: v.exactOptional(name),
    mint: v.exactOptional(address),
    amount: v.exactOptional(amount),
    payTo: v.exactOptional(address),
    feePayer: v.exactOptional(address),
    refusal: v.exactOptional(offerRefusal),
  },
  'must be an offer.',
);

export const parsedPayment: v.GenericSchema<unknown, ParsedPayment> = v.object(
  { x402Version: version, offers: v.array(parsedOffer, 'must be a list of offers.') },
  'must be the offers of a 402.',
);

const STATES = [
  ...([
    'swap_required',
    'swap_submitted',
    'ready_to_sign',
    'ready_to_present',
    'insufficient_funds',
  ] as const),
  ...(['submitted', 'settled', 'failed'] as const),
] as const;

export const paymentResult: v.GenericSchema<unknown, PaymentResult> = v.object(
  {
    state: v.picklist(STATES, 'must be a state.'),
    offer: parsedOffer,
    id: v.exactOptional(name),
    swap: v.exactOptional(swapTransaction),
    signature: v.exactOptional(name64()),
    payment: v.exactOptional(v.object({ transaction, lastValidBlockHeight: digits })),
    // The service may set no other header on the caller's request.
    header: v.exactOptional(
      v.object({ name: v.picklist(['PAYMENT-SIGNATURE', 'X-PAYMENT']), value: base64 }),
    ),
    payerSignature: v.exactOptional(name64()),
    lastValidBlockHeight: v.exactOptional(digits),
    funds: v.exactOptional(v.object({ mint: address, required: digits, available: digits })),
  },
  'must be a step of a payment.',
);

/** Base58 of the 64 bytes of a signature. */
function name64(): v.GenericSchema<string> {
  const rule = 'must be a base58 signature.';
  return v.pipe(v.string(rule), v.regex(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/, rule));
}
