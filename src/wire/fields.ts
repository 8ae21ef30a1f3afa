import * as v from 'valibot';
import { parseAmount } from '../amount.js';
import { cleanText } from '../errors.js';
import { parseUrl } from '../internal/parse.js';
import { isAddress } from '../solana/address.js';

/** Base64 characters of the largest Solana transaction, which has 1232 bytes. */
const MAX_TRANSACTION = 1_644;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const SHAPE_OF_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** Creates a schema for text. `rule` completes a sentence that begins with the field's name. */
const shaped = (rule: string, shape: RegExp, maxLength: number) =>
  v.pipe(v.string(rule), v.maxLength(maxLength, rule), v.regex(shape, rule));

// The shape limits the length before the address is decoded.
const ADDRESS = 'must be a base58 address.';
export const address = v.pipe(
  shaped(ADDRESS, SHAPE_OF_ADDRESS, 44),
  v.check((text: string) => isAddress(text), ADDRESS),
);

// A symbol is shorter than any address. Only the network knows if it is pinned, and to which mint.
const MINT = 'must be a mint address or a pinned symbol such as "USDC".';
export const mint = v.pipe(
  shaped(MINT, /^(?:[A-Za-z0-9]{1,10}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, 44),
  v.check((text: string) => text.length <= 10 || isAddress(text), MINT),
);

const AMOUNT = 'must be base units as a decimal string, from "0" to "18446744073709551615".';
export const amount = v.pipe(
  shaped(AMOUNT, /^(?:0|[1-9][0-9]{0,19})$/, 20),
  v.check((text) => parseAmount(text) !== undefined, AMOUNT),
);

/** A whole number of any size: sums and requested amounts may exceed the amount of any account. */
export const digits = shaped(
  'must be a whole number as a decimal string.',
  /^(?:0|[1-9][0-9]{0,39})$/,
  40,
);

export const uiAmount = shaped(
  'must be a decimal string.',
  /^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,255})?$/,
  300,
);

export const transaction = v.pipe(
  shaped('must be the base64 of a transaction of at most 1232 bytes.', BASE64, MAX_TRANSACTION),
  v.minLength(88, 'must be the base64 of a transaction.'),
);

export const swapMode = v.picklist(['ExactIn', 'ExactOut'], 'must be "ExactIn" or "ExactOut".');

export const flag = v.boolean('must be true or false.');

/** A whole number that JSON carries exactly; no such field is money. */
export const count = within(0, Number.MAX_SAFE_INTEGER);

export function within(least: number, most: number): v.GenericSchema<number> {
  const rule = `must be a whole number from ${least} to ${most}.`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));
}

/** Basis points by the service's estimate: negative if the price improves, and maybe fractional. */
export const impact = v.nullable(
  v.pipe(v.number('must be a number or null.'), v.finite('must be a number or null.')),
);

/** Text from the other side. It is only ever shown, so it is cleaned on both sides. */
export const text = v.pipe(v.string('must be text.'), v.transform(cleanText));

/** A name to look up or to show. */
export const name = shaped(
  'must be a name of up to 64 visible ASCII characters.',
  /^[\x21-\x7e]{1,64}$/,
  64,
);

/** A key that a caller chooses. */
export const callerKey = shaped(
  'must be 1 to 255 visible ASCII characters.',
  /^[\x21-\x7e]{1,255}$/,
  255,
);

export const base64 = shaped('must be base64.', BASE64, 16_384);

const WEB_ADDRESS = 'must be an absolute http: or https: address.';
const MAX_ADDRESS = 4_096;
export const webAddress = v.pipe(
  v.string(WEB_ADDRESS),
  v.maxLength(MAX_ADDRESS, WEB_ADDRESS),
  v.check((text: string) => /^https?:$/.test(parseUrl(text)?.protocol ?? ''), WEB_ADDRESS),
);

/** Creates a schema for text of limited length, such as the value of a header. */
export function textUpTo(characters: number): v.GenericSchema<string> {
  const rule = `must be text of at most ${characters} characters.`;
  return v.pipe(v.string(rule), v.maxLength(characters, rule));
}
