import { isExactChangeError } from '../../../src/errors.js';
import { fingerprintOf } from '../../../src/payments/reconcile/find-earlier.js';
import { decodeHeader, encodeHeader, readJson } from '../../../src/protocols/x402/json.js';
import { judgeOffers } from '../../../src/protocols/x402/offers.js';
import { findPaymentRequired } from '../../../src/protocols/x402/body.js';
import { readPaymentRequired } from '../../../src/protocols/x402/read.js';
import { readSettlement, reasonInHeaders } from '../../../src/protocols/x402/settlement.js';
import { base64, envelopeV2, KEYS, MAINNET, ODD_402S, type Odd402 } from '../../../test/fixtures/malformed-402.js';

const SHORT = 12_000;

/** Returns the terms of a 402 as the client reads them, with the judgement of each offer. */
async function judged({ headers, body }: Odd402): Promise<unknown> {
  try {
    const terms = await readPaymentRequired(new Response(body, { status: 402, headers }), {
      timeoutMs: 60_000,
    });
    if (terms === undefined) return null;
    const { terms: read, readings } = judgeOffers(terms, MAINNET, KEYS.payer);
    const offers = readings.map((reading) =>
      reading.ok ? { offer: { ...reading.offer, raw: undefined } } : reading.refusal,
    );
    return { version: read.x402Version, offers };
  } catch (error) {
    if (!isExactChangeError(error, 'malformed_payment_required')) throw error;
    return { malformed: error.details.reason };
  }
}

const lengthOf = (body: Odd402['body']): number => body?.length ?? 0;

/** Vectors of odd and hostile 402s; the tests make the oversized ones themselves. */
export async function terms(): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const odd of ODD_402S) {
    const { name, headers, body } = odd;
    if (lengthOf(body) > SHORT || JSON.stringify(headers).length > SHORT) continue;
    const content = body === null ? {} : typeof body === 'string' ? { body } : { bytes: body };
    rows.push({ name, headers, ...content, out: await judged(odd) });
  }
  return rows;
}

const JSON_TEXTS = [
  ...['{}', '[]', ' { } ', '{"a":1}', '{"a":1,"a":2}', '{"a":[1,2,{"b":null}]}', '{"a":1,}'],
  ...['[1,]', '{"a" : tru}', 'nul', '-0', '{"n":-0}', '{"n":1.0}', '{"n":1e400}', '{"n":01}'],
  ...['{"amount":1.0}', '{"amount":1e3}', '{"amount":007}', '{"amount":1000}', '{"amount":-1}'],
  ...['{"__proto__":1}', '{"constructor":{}}', '{"prototype":[]}', '{"maxAmountRequired":1.50}'],
  ...['{"s":"\\ud800"}', '{"s":"\\u0000"}', '{"s":"\n"}', '{"s":"\\x"}', '{"s":"a\\/b"}', '"text"'],
  ...['{"n":NaN}', '{"n":Infinity}', '{"n":0x10}', '{"n":1_000}', '\ufeff{}', '{}x', '{"a":1}}'],
  ...['{"n":5e-324}', '{"n":1e21}', '{"n":123456789012345678901234567890}', '{"n":1e-7}'],
  ...['{"n":0.1}', '{"n":100000.0}', '{"n":2e0}', '{"n":-1.5e-10}', '{"n":9007199254740993}'],
  ...['{"amount":12.5}', '{"amount":1.10}', '{"amount":1e21}', '{"amount":9007199254740993}'],
  ...['{"amount":1e400}', '{"maxAmountRequired":[1.0,{"amount":-0.5e1}]}', '{"amount":0.1}'],
  ...['1.0', '1e3', '-1', '1000', '1e400', '9007199254740993', '"1.0"', '[1.0]', '{"x":1.5}', '{"x":1e400}'].flatMap((price) => [
    `{"accepts":[{"amount":${price}}]}`,
    `{"accepts":[1.5,{"maxAmountRequired" : ${price}}]}`,
  ]),
  ...['{"accepts":[{"amount":"1","extra":{"amount":0.010}}]}', '{"accepts":{"amount":1.0}}'],
  ...[2, 1, '2.0', '"2"'].map(
    (version) => `{"x402Version":${version},"accepts":[{"amount":1.0,"maxAmountRequired":1.0}]}`,
  ),
  ...['{"accepts":[[{"amount":1.0}]]}', '{"extensions":{"accepts":[{"amount":12.50}]}}'],
  ...['{"\\u0061":1,"a":2}', '{"é":"😀"}', '{"a":"\\ud83d\\ude00"}', '{"a":1}\u00a0', '[[],{}]'],
  `${'['.repeat(16)}${']'.repeat(16)}`,
  `${'['.repeat(17)}${']'.repeat(17)}`,
  // An unterminated string; the brackets in it must not count as nesting.
  `["${'\\"['.repeat(17)}`,
  JSON.stringify({ s: 'x'.repeat(4_096) }),
  JSON.stringify({ s: 'x'.repeat(4_097) }),
  JSON.stringify({ s: '😀'.repeat(2_048) }),
  JSON.stringify({ s: '😀'.repeat(2_049) }),
];

/** Vectors of JSON texts, with their echo or the reason of their refusal. */
export function json(): unknown[] {
  return JSON_TEXTS.map((text) => {
    const read = readJson(text);
    return read.ok
      ? { in: text, out: JSON.stringify(read.value) }
      : { in: text, refused: read.reason };
  });
}

const VALUES: readonly unknown[] = [
  envelopeV2(),
  { x402Version: 2, text: 'grün 😀 \u2028', half: '\ud800' },
  { success: true, transaction: '5'.repeat(88), network: MAINNET, payer: KEYS.payer },
  { success: false, errorReason: 'invalid_exact_solana_payload_transaction', transaction: '' },
  { success: 'true', transaction: 7, network: null },
  { success: false, errorReason: 'settle_exact_svm_settlement_pending' },
  { error: 'duplicate_settlement', accepts: [] },
  { error: '\u202eevil\u0000 text\u200b' },
];

export function headers(): unknown[] {
  const encoded = VALUES.map(encodeHeader);
  const headerValues = [
    ...encoded,
    ...encoded.map((header) => header.replace(/=+$/, '')),
    ...encoded.map((header) => header.replace(/\+/g, '-').replace(/\//g, '_')),
    ...VALUES.map((value) => Buffer.from(JSON.stringify(value)).toString('latin1')),
    ...['', ' ', '{', 'e30', 'e30=', 'e30==', 'e30===', 'e3 0=', 'W10=', 'bnVsbA==', 'e30=, e30='],
    ...[base64('"text"'), base64('{"a":1}x'), base64('\ufeff{}'), base64('\ufeff\ufeff{}'), `${base64('{}')}\n`],
  ];
  const settled = VALUES.map(encodeHeader).flatMap((value) =>
    ['payment-response', 'X-Payment-Response', 'payment-required'].map((name) => ({
      of: 'settlement',
      in: { [name]: value },
      out: {
        settlement: readSettlement({ [name]: value }) ?? null,
        reason: reasonInHeaders({ [name]: value }) ?? null,
      },
    })),
  );
  return [
    ...VALUES.map((value) => ({ of: 'encode', in: value, out: encodeHeader(value) })),
    ...headerValues.map((value) => {
      const read = decodeHeader(value);
      return { of: 'decode', in: value, out: read === undefined ? null : JSON.stringify(read) };
    }),
    ...settled,
    ...[{ a: 1 }, { 'PAYMENT-REQUIRED': 'x', 'payment-required': 'y' }].map((given) => ({
      ...{ of: 'terms', in: given },
      out: findPaymentRequired({ headers: given as Record<string, string> }) ?? null,
    })),
  ];
}

const REQUESTS: readonly (readonly [string, string, string | undefined, string | undefined])[] = [
  ['GET', 'https://api.example.com/premium', undefined, undefined],
  ['GET', 'https://api.example.com/premium?a=1#part', undefined, undefined],
  ['POST', 'https://api.example.com/', '{"q":1}', 'application/json'],
  ['POST', 'https://api.example.com/', '', undefined],
  ['POST', 'https://h.example/u', '--xy\r\na\r\n--xy--', 'multipart/form-data; boundary=xy'],
  ['POST', 'https://h.example/u', '--ab\r\na\r\n--ab--', 'multipart/form-data; boundary="ab"'],
  // In UTF-8, bytes that Latin-1 and windows-1252 decode differently.
  ['POST', 'https://h.example/u', '--ab\r\n€“\r\n--ab--', 'multipart/form-data; boundary=ab'],
];

/** Vectors of request fingerprints; equal requests have the same fingerprint. */
export function fingerprints(): unknown[] {
  return REQUESTS.map(([method, url, body, type]) => ({
    ...{ method, url, body, type },
    out: fingerprintOf(
      { method, url, header: () => type },
      body === undefined ? undefined : new TextEncoder().encode(body),
    ),
  }));
}
