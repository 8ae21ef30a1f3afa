import { describe, expect, it } from 'vitest';
import { decodeHeader } from '../../../../src/protocols/x402/json.js';
import { readOffers } from '../../../../src/protocols/x402/offers.js';
import { parsePaymentRequired } from '../../../../src/protocols/x402/parse-payment-required.js';
import {
  createPaymentId,
  encodePayment,
  offersPaymentId,
} from '../../../../src/protocols/x402/payload.js';
import {
  entryV1,
  entryV2,
  envelopeV1,
  envelopeV2,
  KEYS,
  MAINNET,
} from '../../../fixtures/malformed-402.js';

const transaction = Uint8Array.from({ length: 470 }, (_, index) => index % 256);
const wire = Buffer.from(transaction).toString('base64');
const paymentId = createPaymentId(new Uint8Array(16).fill(1));
const identifier = { info: { required: false, note: 'kept' }, schema: { type: 'object' } };

function encode(body: object, id?: string) {
  const paymentRequired = parsePaymentRequired({ body });
  const [reading] =
    paymentRequired === undefined ? [] : readOffers(paymentRequired, MAINNET, KEYS.payer);
  if (paymentRequired === undefined || reading?.ok !== true) throw new Error('not payable');
  const header = encodePayment({
    paymentRequired,
    offer: reading.offer,
    transaction,
    ...(id === undefined ? {} : { paymentId: id }),
  });
  return { header, payload: decodeHeader(header.value), paymentRequired };
}

describe('encodePayment', () => {
  it('echoes the v2 entry, resource and extensions unchanged', () => {
    const entry = entryV2({
      amount: 1000,
      network: 'solana:mainnet',
      unknown: { größe: [1, 'ü'] },
    });
    const extensions = { bazaar: { info: { output: null } } };
    const { header, payload } = encode(envelopeV2([entry], { extensions }));
    expect(header.name).toBe('PAYMENT-SIGNATURE');
    expect(payload).toEqual({
      x402Version: 2,
      payload: { transaction: wire },
      resource: { url: 'https://api.example.com/premium' },
      accepted: entry,
      extensions,
    });
  });

  it('omits fields that the seller omits', () => {
    const { payload } = encode({ x402Version: 2, accepts: [entryV2()] });
    expect(Object.keys(payload ?? {}).sort()).toEqual(['accepted', 'payload', 'x402Version']);
  });

  it('writes v1 with the network name of the seller', () => {
    const { header, payload } = encode(
      envelopeV1([entryV1({ network: 'solana-mainnet' })]),
      paymentId,
    );
    expect(header.name).toBe('X-PAYMENT');
    expect(payload).toEqual({
      x402Version: 1,
      scheme: 'exact',
      network: 'solana-mainnet',
      payload: { transaction: wire },
    });
  });

  it('adds an identifier only if the seller takes identifiers', () => {
    const extensions = { 'payment-identifier': identifier, other: { info: {} } };
    const { payload, paymentRequired } = encode(envelopeV2(undefined, { extensions }), paymentId);
    expect(payload?.['extensions']).toEqual({
      ...extensions,
      'payment-identifier': { ...identifier, info: { ...identifier.info, id: paymentId } },
    });
    expect(offersPaymentId(paymentRequired)).toBe(true);
    expect(encode(envelopeV2(undefined, { extensions })).payload?.['extensions']).toEqual(
      extensions,
    );
    for (const without of [
      {},
      { 'payment-identifier': {} },
      { 'payment-identifier': { info: {} } },
      { 'payment-identifier': 'yes' },
      { 'payment-identifier': { info: { required: 'no' } } },
    ]) {
      const other = encode(envelopeV2(undefined, { extensions: without }), paymentId);
      expect(offersPaymentId(other.paymentRequired)).toBe(false);
      expect(other.payload?.['extensions']).toEqual(without);
    }
  });

  it('omits extensions that do not fit, except the identifier', () => {
    const bulky = {
      bazaar: { schema: Array.from({ length: 3 }, () => 'x'.repeat(4_000)) },
      'payment-identifier': identifier,
    };
    const { header, payload } = encode(envelopeV2(undefined, { extensions: bulky }), paymentId);
    expect(header.value.length).toBeLessThan(12_288);
    expect(payload?.['extensions']).toEqual({
      'payment-identifier': { ...identifier, info: { ...identifier.info, id: paymentId } },
    });
  });

  it('throws when the header is larger than servers accept', () => {
    const entry = entryV2({ a: 'x'.repeat(4_000), b: 'x'.repeat(4_000), c: 'x'.repeat(2_000) });
    expect(() => encode(envelopeV2([entry]))).toThrow(
      expect.objectContaining({
        code: 'header_too_large',
        funds: 'untouched',
        details: { bytes: expect.any(Number), limitBytes: 12_288 },
      }),
    );
  });

  it('escapes hostile text, so that it cannot break out of its header', () => {
    const evil = 'a\r\nSet-Cookie: x=1\u0000\u2028ü';
    const { header } = encode(envelopeV2([entryV2({ note: evil })], { resource: { url: evil } }));
    expect(header.value).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
    expect(() => new Headers({ [header.name]: header.value })).not.toThrow();
  });
});

describe('createPaymentId', () => {
  it('follows the grammar of the extension, and is as random as its bytes', () => {
    expect(paymentId).toMatch(/^[A-Za-z0-9_-]{16,128}$/);
    expect(createPaymentId(Uint8Array.of(...new Uint8Array(15), 1))).not.toBe(
      createPaymentId(new Uint8Array(16)),
    );
  });
});
