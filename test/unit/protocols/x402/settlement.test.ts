import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../../src/payments/execute/outcomes.js';
import { hideAddress } from '../../../../src/internal/redact.js';
import { readOutcome, readSettlement } from '../../../../src/protocols/x402/settlement.js';
import { base64, envelopeV1, envelopeV2, KEYS, MAINNET } from '../../../fixtures/malformed-402.js';
import { anyText } from '../../../helpers/any-text.js';

const transaction = '4'.repeat(87);
const success = { success: true, transaction, network: MAINNET, payer: KEYS.payer };
const read = (value: unknown, name = 'PAYMENT-RESPONSE') =>
  readSettlement(new Headers({ [name]: base64(value) }));

describe('readSettlement', () => {
  it('reads either header, in any of its encodings', () => {
    const header = base64(success);
    for (const name of ['PAYMENT-RESPONSE', 'payment-response', 'X-PAYMENT-RESPONSE'])
      expect(read(success, name)).toEqual(success);
    for (const value of [
      header.replace(/=+$/, ''),
      header.replace(/\+/g, '-').replace(/\//g, '_'),
      JSON.stringify(success),
    ]) {
      expect(readSettlement({ 'X-Payment-Response': value })).toEqual(success);
    }
  });

  it('prefers PAYMENT-RESPONSE, unless it is garbage', () => {
    const other = base64({ ...success, success: false });
    expect(
      readSettlement({ 'payment-response': base64(success), 'x-payment-response': other }),
    ).toEqual(success);
    expect(
      readSettlement({ 'payment-response': '%%%', 'x-payment-response': base64(success) }),
    ).toEqual(success);
  });

  it('returns undefined when there is no readable settlement', () => {
    expect(readSettlement(new Headers())).toBeUndefined();
    expect(readSettlement(undefined)).toBeUndefined();
    for (const value of [
      '',
      'null',
      '%%%',
      base64([]),
      base64('1'),
      `${base64(success)}, ${base64(success)}`,
    ]) {
      expect(readSettlement({ 'payment-response': value })).toBeUndefined();
    }
  });

  it('fills in missing fields, and takes only the value true as success', () => {
    expect(read({})).toEqual({ success: false, transaction: '', network: '' });
    expect(read({ success: 'true', transaction: 5, network: null, payer: [] })).toEqual({
      success: false,
      transaction: '',
      network: '',
    });
  });

  it('drops a signature of an invalid form', () => {
    for (const odd of [
      '0x1234',
      'x'.repeat(200),
      `${transaction}\u0000`,
      `${transaction} or pay again`,
      '0'.repeat(87),
    ]) {
      const cleaned = read({ ...success, transaction: odd })?.transaction;
      expect(cleaned === '' || cleaned === transaction).toBe(true);
    }
  });

  it('cleans every text of the seller', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const settlement = read({
          success: false,
          transaction: text,
          network: text,
          payer: text,
          errorReason: text,
        });
        for (const value of Object.values(settlement ?? {})) {
          if (typeof value === 'string')
            expect(value).not.toMatch(
              /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/u,
            );
          if (typeof value === 'string') expect(value.length).toBeLessThanOrEqual(200);
        }
      }),
    );
  });

  it('turns the reasons of Go facilitators into the common reasons', () => {
    expect(
      read({ success: false, errorReason: 'invalid_exact_solana_payload_memo_count' })?.errorReason,
    ).toBe('invalid_exact_svm_payload_memo_count');
    expect(read({ success: false, errorReason: 'duplicate_settlement' })?.errorReason).toBe(
      'duplicate_settlement',
    );
  });
});

/** The reason for a refusal that the answer of a seller gives. */
async function reasonOf({ headers = {}, body }: { headers?: HeadersInit; body?: string }) {
  const response = new Response(body ?? null, { status: 402, headers });
  return (await readOutcome(response, { timeoutMs: 1_000 })).reason;
}

describe('a decisive reason that shares words with a configured address', () => {
  beforeAll(() =>
    hideAddress(
      'https://pay.test/settlement_pending/duplicate_settlement/svm_settlement?key=a-key-of-settlements',
    ),
  );

  it.each([
    ['perNode', 'settlement_pending', 'pending'],
    ['with the prefix of a facilitator', 'exact_svm_settlement_pending', 'pending'],
    [
      'with the prefix of a facilitator in Go, and a space',
      'exact_solana_duplicate_settlement ',
      'duplicate',
    ],
    ['with a key before it', 'a-key-of-settlements_settlement_pending', 'pending'],
    [
      'behind a text that is too long to show',
      `${'long_'.repeat(80)}settlement_pending`,
      'pending',
    ],
  ])('is recognized %s', async (_how, text, outcome) => {
    const body = JSON.stringify(envelopeV1(undefined, { error: text }));
    const headers = { 'payment-required': base64({ error: text }) };
    for (const reason of [
      read({ success: false, errorReason: text })?.errorReason,
      await reasonOf({ body }),
      await reasonOf({ headers }),
    ])
      expect(outcomeOf(402, { reason })).toBe(outcome);
  });

  it('never shows the key', () => {
    for (const text of [
      'a-key-of-settlements_settlement_pending',
      'settlement_pending of a-key-of-settlements',
    ])
      expect(read({ success: false, errorReason: text })?.errorReason).not.toContain('a-key');
  });
});

describe('the reason of a refusal', () => {
  const header = { 'payment-required': base64(envelopeV2(undefined, { error: 'from the terms' })) };
  const response = {
    'payment-response': base64({ success: false, errorReason: 'from the settlement' }),
  };
  const body = JSON.stringify(envelopeV1(undefined, { error: 'from the body' }));

  it('comes from the terms, then from the settlement, then from the body', async () => {
    expect(await reasonOf({ headers: { ...header, ...response }, body })).toBe('from the terms');
    expect(await reasonOf({ headers: response, body })).toBe('from the settlement');
    expect(await reasonOf({ body })).toBe('from the body');
    expect(await reasonOf({})).toBeUndefined();
  });

  it('is read also when the rest is malformed', async () => {
    expect(await reasonOf({ headers: { 'payment-required': base64({ error: 'no terms' }) } })).toBe(
      'no terms',
    );
  });
});
