import { verifyWebhook } from '../../../adapters/webhooks/verify.js';
import { errorCodes, isExactChangeError } from '../../../src/errors.js';
import { errorOfCode } from '../../../src/errors/of-code.js';
import { operations } from '../../../src/wire/operations.js';
import { errorOf, problemOf, serviceProblem } from '../../../src/wire/problem.js';
import { problemCodes, isServiceCode } from '../../../src/wire/problem-codes.js';
import { writeQuery } from '../../../src/wire/query.js';
import { readAs } from '../../../src/wire/read.js';
import { sampleDetails } from '../../../test/unit/wire/details.js';
import { balanceOfUsdc, quote, WALLET } from '../../../test/unit/wire/samples.js';
import { eventOf, hmac, OTHER_SECRET, SECRET } from '../../../test/unit/webhooks/signed.js';

type Json = Record<string, unknown>;

/** Vectors of a service's problems, with the errors that clients make of them. */
export function problems(): unknown[] {
  const plain = errorCodes.map((code) =>
    problemOf(
      errorOfCode(code, 'What the service says.', { details: sampleDetails[code] }),
    ),
  );
  const ofService = problemCodes
    .filter(isServiceCode)
    .map((code) => serviceProblem(code, 'Said so.'));
  const base = plain[0] as unknown as Json;
  const failed = problemOf(
    errorOfCode('swap_failed', 'It failed.', {
      details: sampleDetails.swap_failed,
      funds: 'swapped',
    }),
  ) as unknown as Json;
  const moved = [{ kind: 'swap', signature: 'sig', inAmount: '5' }];
  const odd: readonly unknown[] = [
    ...[{}, null, 'text', [], { ...base, code: 'no_such_code' }, { ...base, code: 'Wrong' }],
    ...[
      { ...base, funds: 'spent' },
      { ...base, funds: 'uncertain' },
      { ...base, funds: 'gone' },
    ],
    ...[
      { ...base, moved },
      { ...failed, moved },
      { ...failed, moved: [{ kind: 'payment', signature: 's' }] },
    ],
    ...[
      { ...base, details: { option: 'a b' } },
      { ...base, details: {} },
      { ...base, details: [] },
    ],
    ...[
      { ...base, status: 200 },
      { ...base, status: '400' },
      { ...base, retry: 'soon' },
    ],
    ...[
      { ...base, detail: 'x'.repeat(5_000) },
      { ...base, detail: '\u202ehidden\u0000' },
    ],
    ...[
      { ...base, untrusted: { a: 'b' } },
      { ...base, untrusted: { 'a b': 'c' } },
      { ...base, untrusted: [] },
      { ...base, untrusted: ['a'] },
      { ...base, untrusted: 7 },
    ],
  ];
  return [...plain, ...ofService, ...odd].flatMap((value) =>
    ([undefined, 'swap', 'payment'] as const).map((sent) => ({
      in: value ?? null,
      sent: sent ?? null,
      out: errorOf(value, { sent }).toJSON(),
    })),
  );
}

const transaction = Buffer.alloc(200, 7).toString('base64');
const offer = { index: 0, x402Version: 2, payable: true, mint: WALLET, amount: '5', payTo: WALLET };
const swap = {
  transaction,
  lastValidBlockHeight: '300',
  quote,
  computeUnitLimit: 5,
  priorityFeeLamports: '7',
};
const result = { state: 'swap_required', offer, swap };

const ANSWERS: readonly (readonly [keyof typeof operations, unknown])[] = [
  ['quote', quote],
  ...(
    [
      { inAmount: '-1' },
      { inAmount: 5 },
      { platformFeeBps: 1 },
      { route: ['a\u0000b', 'x'.repeat(300)] },
      { route: 'x' },
      { priceImpactBps: null },
      { priceImpactBps: '0.1' },
      { provider: 'a b' },
      { inputMint: 'SOL' },
      { more: 'fields' },
      { quotedAt: -1 },
      { swapMode: 'Exact' },
    ] as const
  ).map((change) => ['quote', { ...quote, ...change }] as const),
  ...([balanceOfUsdc, [balanceOfUsdc], [], { ...balanceOfUsdc, slot: 1.5 }, null] as const).map(
    (answer) => ['balance', answer] as const,
  ),
  ['buildSwap', swap],
  ['buildSwap', { ...swap, transaction: 'AAAA' }],
  ['buildSwap', { ...swap, lastValidBlockHeight: '01' }],
  ['parsePayment', { x402Version: 2, offers: [offer] }],
  ['parsePayment', { x402Version: 3, offers: [offer] }],
  [
    'parsePayment',
    { x402Version: 2, offers: [{ ...offer, refusal: { index: 0, code: 'no', message: '' } }] },
  ],
  ['autoPay', result],
  ['autoPay', { ...result, state: 'done' }],
  ['autoPay', { state: 'ready_to_present', offer, header: { name: 'X-PAYMENT', value: 'e30=' } }],
  ['autoPay', { state: 'ready_to_present', offer, header: { name: 'Cookie', value: 'e30=' } }],
  [
    'autoPay',
    { state: 'ready_to_sign', offer, payment: { transaction, lastValidBlockHeight: '5' } },
  ],
  ['autoPay', { state: 'settled', offer, signature: 'short' }],
  [
    'autoPay',
    { state: 'insufficient_funds', offer, funds: { mint: WALLET, required: '5', available: '0' } },
  ],
];

/** Vectors of a service's answers as clients read them, and of queries as clients write them. */
export function operationsOf(): unknown[] {
  const answers = ANSWERS.map(([operation, value]) => {
    const read = readAs<unknown>(operations[operation].response, value);
    return {
      of: 'answer',
      operation,
      in: value,
      out: read.ok ? { value: read.value } : { field: read.path },
    };
  });
  const requests = [
    { inputMint: 'SOL', outputMint: 'USDC', amount: '5', swapMode: 'ExactOut', slippageBps: 50 },
    { wallet: WALLET, mint: ['USDC', WALLET] },
    { wallet: WALLET },
  ].map((request) => ({ of: 'query', in: request, out: writeQuery(request).toString() }));
  return [...answers, ...requests];
}

const NOW = Date.parse('2026-11-20T10:00:30.000Z');

/** Vectors of webhooks, with their event or the reason of their refusal. */
export function webhooks(): unknown[] {
  const event = eventOf();
  const { id, ...rest } = event;
  const body = JSON.stringify(rest);
  const seconds = Math.floor(NOW / 1000);
  const headersOf = (
    over: Json = {},
    signed: string | Uint8Array = body,
    secret = SECRET,
  ): Json => ({
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': hmac(secret, id, String(over['webhook-timestamp'] ?? seconds), signed),
    ...over,
  });
  const other = (change: Json) => {
    const text = JSON.stringify({ ...rest, ...change });
    return { headers: headersOf({}, text), body: text };
  };
  const good = { headers: headersOf(), body };
  const rows: readonly Json[] = [
    good,
    { ...good, secret: SECRET.replace('whsec_', '') },
    { ...good, secret: undefined, secrets: [OTHER_SECRET, SECRET] },
    { ...good, secret: OTHER_SECRET },
    {
      headers: { ...headersOf(), 'webhook-signature': `v1,x ${hmac(SECRET, id, seconds, body)}` },
      body,
    },
    {
      headers: {
        ...headersOf(),
        'webhook-signature': `v1a,abc ${hmac(SECRET, id, seconds, body)}`,
      },
      body,
    },
    { headers: headersOf({ 'webhook-timestamp': String(seconds - 301) }), body },
    { headers: headersOf({ 'webhook-timestamp': String(seconds - 300) }), body },
    { headers: headersOf({ 'webhook-timestamp': String(seconds + 301) }), body },
    { headers: headersOf({ 'webhook-timestamp': '1_0' }), body },
    { headers: headersOf({ 'webhook-timestamp': `${seconds}.0` }), body },
    { headers: { ...headersOf(), 'webhook-id': '' }, body },
    { headers: { ...headersOf(), 'webhook-signature': undefined }, body },
    { headers: { 'Webhook-Id': id, ...headersOf() }, body },
    { ...good, body: `${body} ` },
    { headers: headersOf({}, '{}'), body: '{}' },
    { headers: headersOf({}, 'text'), body: 'text' },
    other({ type: 'payment.refunded' }),
    other({ type: 7 }),
    other({ data: {} }),
    other({ data: { ...event.data, amount: 7 } }),
    other({ data: { ...event.data, more: 'fields' } }),
    other({ timestamp: 'yesterday' }),
    other({ type: 'payment.failed', data: { ...event.data, payerSignature: undefined } }),
    other({ type: 'swap.failed' }),
    { ...good, secret: 'whsec_short' },
    { ...good, secret: undefined },
    { ...good, secrets: [SECRET] },
    { ...good, toleranceSeconds: -1 },
    { ...good, body: 7 },
  ];
  return rows.map((row) => {
    const options = { secret: SECRET, now: NOW, ...row };
    try {
      return { in: options, out: verifyWebhook(options as never) };
    } catch (error) {
      if (!isExactChangeError(error)) throw error;
      return { in: options, refused: error.code, message: error.message };
    }
  });
}
