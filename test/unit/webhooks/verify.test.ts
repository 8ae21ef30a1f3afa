import { fileURLToPath } from 'node:url';
import { builtinModules } from 'node:module';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { isExactChangeError } from 'exact-change';
import { verifyWebhook, type VerifyOptions } from 'exact-change/webhooks';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { signatureOf } from '../../../adapters/webhooks/signature.js';
import {
  webhookEvents,
  type WebhookDetails,
  type WebhookEvent,
} from '../../../src/outbox/outbox.js';
import { eventOf, hmac, OTHER_SECRET, SECRET, WALLET } from './signed.js';

const SECONDS = 1_800_000_000;
const NOW = SECONDS * 1000 + 500;
const { id: ID, ...SAID } = eventOf();
const BODY = JSON.stringify(SAID);
const SIGNATURE = hmac(SECRET, ID, SECONDS, BODY);

interface Sent {
  readonly id: unknown;
  readonly timestamp: unknown;
  readonly signature: unknown;
  readonly body: string | Uint8Array;
}

const GOOD: Sent = { id: ID, timestamp: String(SECONDS), signature: SIGNATURE, body: BODY };

function optionsOf({ id, timestamp, signature, body }: Sent): VerifyOptions {
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
  return { secret: SECRET, headers, body, now: NOW };
}

const verify = (over: Partial<Sent> = {}, more: Partial<VerifyOptions> = {}) =>
  verifyWebhook({ ...optionsOf({ ...GOOD, ...over }), ...more });

/** Makes a message that a sender with the secret signed. */
const signed = (
  body: string | Uint8Array,
  id = ID,
  seconds: number | string = SECONDS,
): Partial<Sent> => ({
  ...{ id, body, timestamp: String(seconds) },
  signature: hmac(SECRET, id, seconds, body),
});

function refusal(work: () => unknown): { code: string; reason: string } {
  try {
    work();
  } catch (error) {
    if (isExactChangeError(error, 'invalid_response')) {
      expect(error).toMatchObject({
        name: 'TransportError',
        funds: 'untouched',
        retry: 'never',
        details: { service: 'webhook' },
      });
      return { code: error.code, reason: error.details.reason };
    }
    throw error;
  }
  throw new Error('It was accepted.');
}

describe('verification by the vectors of Standard Webhooks', () => {
  const vector = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    seconds: 1_614_265_330,
    body: '{"test": 2432232314}',
  };

  it('computes the published signature, as the official package and Node do', () => {
    const { id, seconds, body } = vector;
    const expected = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
    for (const secret of [SECRET, SECRET.replace('whsec_', '')]) {
      expect(signatureOf(secret, id, seconds, body)).toBe(expected);
      expect(new Webhook(secret).sign(id, new Date(seconds * 1000), body)).toBe(expected);
      expect(hmac(secret, id, seconds, body)).toBe(expected);
    }
  });

  it('accepts the published signature, and then refuses its body, which is no event', () => {
    const { id, seconds, body } = vector;
    const sent = {
      id,
      timestamp: String(seconds),
      body,
      signature: signatureOf(SECRET, id, seconds, body),
    };
    expect(refusal(() => verify(sent, { now: seconds * 1000 })).reason).toMatch(
      /lacks what its kind/,
    );
  });

  it.each(['', 'whsec_'])('refuses the empty secret "%s"', (secret) => {
    expect(() => verify({}, { secret })).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option: 'secret' } }),
    );
  });

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'refuses a message without %s',
    (name) => {
      const { headers, ...rest } = optionsOf(GOOD);
      const without = Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
      expect(refusal(() => verifyWebhook({ ...rest, headers: without })).reason).toBe(
        `${name} is missing`,
      );
      expect(
        refusal(() =>
          verifyWebhook({ ...rest, headers: new Headers(without as Record<string, string>) }),
        ).reason,
      ).toBe(`${name} is missing`);
    },
  );

  it('refuses a wrong, a cut and an empty signature', () => {
    expect(refusal(() => verify({ signature: 'v1,dawfeoifkpqwoekfpqoekf' })).reason).toMatch(
      /no signature is of this body/,
    );
    expect(refusal(() => verify({ signature: SIGNATURE.slice(0, 8) })).reason).toMatch(
      /no signature is of this body/,
    );
    expect(refusal(() => verify({ signature: 'v1,' })).reason).toMatch(/no list of signatures/);
  });

  it('accepts a signed event for a secret with or without its prefix', () => {
    expect(verify()).toEqual(eventOf());
    expect(verify({}, { secret: SECRET.replace('whsec_', '') })).toEqual(eventOf());
  });

  it('refuses a message that is more than five minutes old or ahead', () => {
    for (const [now, reason] of [
      [NOW + 301_000, /too long ago/],
      [NOW - 301_000, /in the future/],
    ] as const) {
      expect(refusal(() => verify({}, { now })).reason).toMatch(reason);
    }
    for (const now of [NOW + 299_000, NOW - 300_000])
      expect(verify({}, { now })).toEqual(eventOf());
  });

  it('accepts a valid signature among signatures of other secrets and versions', () => {
    const invalid = [
      hmac(OTHER_SECRET, ID, SECONDS, BODY),
      'v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=',
      'v1a,AAAA',
    ];
    expect(verify({ signature: [...invalid, SIGNATURE].join(' ') })).toEqual(eventOf());
    expect(verify({ signature: [SIGNATURE, ...invalid].join(' ') })).toEqual(eventOf());
    expect(refusal(() => verify({ signature: invalid.join(' ') })).reason).toMatch(/no signature/);
  });

  it('refuses an empty body, even when it is signed', () => {
    expect(refusal(() => verify({ body: '' })).reason).toMatch(/no signature/);
    expect(refusal(() => verify(signed(''))).reason).toMatch(/no JSON/);
  });
});

const bytes = new TextEncoder();
const flipped = (text: string, at: number) =>
  text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
const spoilt = Uint8Array.from(bytes.encode(BODY), (byte, index) => (index === 20 ? 0xff : byte));
const withHalf = BODY.replace('ü', '\ud800');

/** Messages that differ from a valid message in one point. */
const MUTATIONS: readonly (readonly [name: string, sent: Partial<Sent>])[] = [
  ...Array.from(
    { length: 12 },
    (_, index) =>
      [
        `bit ${index} of the body`,
        { body: flipped(BODY, Math.floor((index * BODY.length) / 12)) },
      ] as const,
  ),
  ['a space after the body', { body: `${BODY} ` }],
  ['a line feed after the body', { body: `${BODY}\n` }],
  ['a byte order mark before the text', { body: `\ufeff${BODY}` }],
  ['a byte order mark before the bytes', { body: bytes.encode(`\ufeff${BODY}`) }],
  ['a body that ends early', { body: BODY.slice(0, -1) }],
  ['a body of the same JSON', { body: JSON.stringify(JSON.parse(BODY), null, 1) }],
  ['an escaped letter', { body: BODY.replace('settled', '\\u0073ettled') }],
  ['a letter composed otherwise', { body: BODY.replace('ü', 'u\u0308') }],
  ['bytes that are no UTF-8', { body: spoilt }],
  ['bytes that are no UTF-8, signed', signed(spoilt)],
  [
    'half a character that is signed as another',
    { ...signed(BODY.replace('ü', '\ufffd')), body: withHalf },
  ],
  ['a larger amount', { body: BODY.replace('10000', '1000000') }],
  ['another event', { id: '0a1b2d_payment_settled' }],
  ['an id in capitals', { id: ID.toUpperCase() }],
  ['an id with a space', { id: `${ID} ` }],
  ['an id that is there twice, as a server joins it', { id: `${ID}, ${ID}` }],
  ['an id that is there twice, as a list', { id: [ID, ID] }],
  ['a list of one id', { id: [ID] }],
  ['an id with a dot, signed', signed(BODY, 'a.b')],
  [
    'an id that takes the time with it',
    { ...signed(BODY, `${ID}.${SECONDS}`, `${SECONDS}`), timestamp: String(SECONDS) },
  ],
  ['a body that takes the time with it', { ...signed(`${SECONDS}.${BODY}`), body: BODY }],
  ['an id of 257 characters, signed', signed(BODY, 'a'.repeat(257))],
  ['a line feed in the id, signed', signed(BODY, `${ID}\n`)],
  ['a second later', { timestamp: String(SECONDS + 1) }],
  ['a second earlier', { timestamp: String(SECONDS - 1) }],
  ['a zero before the time', { timestamp: `0${SECONDS}` }],
  ['a sign before the time', { timestamp: `+${SECONDS}` }],
  ['a space before the time', { timestamp: ` ${SECONDS}` }],
  ['a fraction', { timestamp: `${SECONDS}.0` }],
  ['an exponent', { timestamp: '18e8' }],
  ['hexadecimal', { timestamp: `0x${SECONDS.toString(16)}` }],
  ['letters after the time', { timestamp: `${SECONDS}abc` }],
  ['milliseconds, signed', signed(BODY, ID, SECONDS * 1000)],
  ['thirteen digits, signed', signed(BODY, ID, '9999999999999')],
  ['full-width digits', { timestamp: '１８００００００００' }],
  ['a time that is a number', { timestamp: SECONDS }],
  ['a time long ago, signed', signed(BODY, ID, SECONDS - 301)],
  ['a time to come, signed', signed(BODY, ID, SECONDS + 301)],
  ['no version', { signature: SIGNATURE.slice(3) }],
  ['another version', { signature: SIGNATURE.replace('v1', 'v2') }],
  ['the version of public keys', { signature: SIGNATURE.replace('v1', 'v1a') }],
  ['a version in capitals', { signature: SIGNATURE.replace('v1', 'V1') }],
  ['a bit of the signature', { signature: flipped(SIGNATURE, 10) }],
  ['a signature that ends early', { signature: SIGNATURE.slice(0, -2) }],
  ['a signature without its padding', { signature: SIGNATURE.replace(/=$/, '') }],
  [
    'a signature in hexadecimal',
    { signature: `v1,${Buffer.from(SIGNATURE.slice(3), 'base64').toString('hex')}` },
  ],
  [
    'a signature in the alphabet of addresses',
    { signature: SIGNATURE.replace(/\+/g, '-').replace(/\//g, '_').replace(/=$/, '_') },
  ],
  ['two signatures with two spaces', { signature: `${SIGNATURE}  ${SIGNATURE}` }],
  ['two signatures with a tab', { signature: `${SIGNATURE}\t${SIGNATURE}` }],
  ['two headers, as a server joins them', { signature: `${SIGNATURE}, ${SIGNATURE}` }],
  ['a list of signatures', { signature: [SIGNATURE] }],
  ['seventeen signatures', { signature: Array(17).fill(SIGNATURE).join(' ') }],
  ['the signature of another secret', { signature: hmac(OTHER_SECRET, ID, SECONDS, BODY) }],
  [
    'the signature of the prefix as a key',
    { signature: hmac(Buffer.from(SECRET).toString('base64'), ID, SECONDS, BODY) },
  ],
  ['the signature of another body', { signature: hmac(SECRET, ID, SECONDS, '{}') }],
  ['a body above 20 kB, signed', signed(JSON.stringify({ ...SAID, more: 'x'.repeat(20_000) }))],
];

describe('verifyWebhook', () => {
  it('is tested with at least forty mutations', () => {
    expect(MUTATIONS.length).toBeGreaterThanOrEqual(40);
  });

  it.each(MUTATIONS)('refuses %s', (_, sent) => {
    const { reason } = refusal(() => verify(sent));
    expect(reason).not.toContain('0a1b2c');
  });

  it('refuses a body with any changed character', () => {
    fc.assert(
      fc.property(fc.nat(BODY.length - 1), fc.integer({ min: 1, max: 0xffff }), (at, change) => {
        const body =
          BODY.slice(0, at) +
          String.fromCharCode(BODY.charCodeAt(at) ^ change) +
          BODY.slice(at + 1);
        expect(refusal(() => verify({ body })).code).toBe('invalid_response');
      }),
    );
  });

  it('accepts headers in any case and form, and the body as text or bytes', () => {
    const names = {
      'Webhook-Id': ID,
      'WEBHOOK-TIMESTAMP': String(SECONDS),
      'webhook-Signature': SIGNATURE,
      other: ['a', 'b'],
      gone: undefined,
    };
    const { secret, now } = optionsOf(GOOD);
    const plain = optionsOf(GOOD).headers as Record<string, string>;
    for (const headers of [names, plain, new Headers(plain)]) {
      for (const body of [BODY, bytes.encode(BODY), Buffer.from(BODY), bytes.encode(BODY).buffer]) {
        expect(verifyWebhook({ secret, headers, body, now })).toEqual(eventOf());
      }
    }
  });

  it('refuses a header that occurs in two spellings', () => {
    const { headers, ...rest } = optionsOf(GOOD);
    expect(
      refusal(() => verifyWebhook({ ...rest, headers: { ...headers, 'Webhook-Id': 'another' } }))
        .reason,
    ).toMatch(/more than once/);
  });

  it('accepts a signature of any listed secret', () => {
    const { secret: _, ...rest } = optionsOf(GOOD);
    expect(verifyWebhook({ ...rest, secrets: [OTHER_SECRET, SECRET] })).toEqual(eventOf());
    expect(refusal(() => verifyWebhook({ ...rest, secrets: [OTHER_SECRET] })).reason).toMatch(
      /no signature/,
    );
  });

  it('applies toleranceSeconds in place of five minutes', () => {
    expect(refusal(() => verify({}, { toleranceSeconds: 0, now: NOW + 1_000 })).reason).toMatch(
      /too long ago/,
    );
    expect(verify({}, { toleranceSeconds: 0 })).toEqual(eventOf());
    expect(verify({}, { toleranceSeconds: 3_600, now: NOW + 3_599_000 })).toEqual(eventOf());
  });

  it('uses the system clock when `now` is missing', () => {
    const seconds = Math.floor(Date.now() / 1000);
    expect(verify(signed(BODY, ID, seconds), { now: undefined })).toEqual(eventOf());
    expect(refusal(() => verify({}, { now: undefined })).reason).toMatch(
      /in the future|too long ago/,
    );
  });

  it.each<[string, object]>([
    ['no secret', { secret: undefined }],
    ['both secret and secrets', { secrets: [SECRET] }],
    ['an empty list of secrets', { secret: undefined, secrets: [] }],
    ['eleven secrets', { secret: undefined, secrets: Array(11).fill(SECRET) }],
    ['a secret that is not base64', { secret: 'whsec_%%%' }],
    ['a secret of 23 bytes', { secret: `whsec_${Buffer.alloc(23).toString('base64')}` }],
    ['a secret of 65 bytes', { secret: `whsec_${Buffer.alloc(65).toString('base64')}` }],
    ['a secret in bytes', { secret: Buffer.alloc(32) }],
    ['a parsed body', { body: JSON.parse(BODY) }],
    ['no body', { body: undefined }],
    ['no headers', { headers: undefined }],
    ['a list of headers', { headers: [['webhook-id', ID]] }],
    ['a fractional tolerance', { toleranceSeconds: 0.5 }],
    ['a negative tolerance', { toleranceSeconds: -1 }],
    ['an infinite tolerance', { toleranceSeconds: Infinity }],
    ['a time that is not a number', { now: Number.NaN }],
    ['a misspelt option', { tolerance: 5 }],
  ])('throws a ConfigError for %s', (_, over) => {
    try {
      verifyWebhook({ ...optionsOf(GOOD), ...over });
    } catch (error) {
      expect(error).toMatchObject({ name: 'ConfigError', code: 'invalid_option' });
      expect(JSON.stringify(error)).not.toContain('MfKQ');
      return;
    }
    throw new Error('It was accepted.');
  });
});

const about = { id: 'a', wallet: WALLET, network: 'n', url: 'https://a.example/', method: 'GET' };
const price = { mint: 'm', amount: '1', payTo: 'p' };
const mints = { signature: 's', inputMint: 'i', outputMint: 'o', provider: 'jupiter' };
const DATA: WebhookDetails = {
  'swap.confirmed': { ...about, ...mints, inAmount: '1', outAmount: '2', feeLamports: '5000' },
  'swap.failed': { ...about, ...mints, code: 'swap_failed' },
  'payment.settled': { ...about, ...price, payerSignature: 'p', signature: 's' },
  'payment.failed': { ...about, ...price },
  'payment.uncertain': {
    ...about,
    ...price,
    payerSignature: 'p',
    lastValidBlockHeight: '9',
    code: 'payment_uncertain',
  },
};

describe('a verified event', () => {
  const read = (said: object): WebhookEvent => verify(signed(JSON.stringify(said)));

  it.each(webhookEvents)('of type %s needs every field and keeps new fields', (type) => {
    const said = { type, timestamp: SAID.timestamp, data: DATA[type] };
    expect(read(said)).toEqual({ id: ID, ...said });
    expect(
      read({ ...said, data: { ...said.data, later: { versions: ['say', 'more'] } } }),
    ).toMatchObject({ id: ID, type });
    for (const name of Object.keys(said.data)) {
      for (const wrong of [undefined, null, 7, ['x'], { x: 1 }]) {
        expect(
          refusal(() => read({ ...said, data: { ...said.data, [name]: wrong } })).reason,
        ).toMatch(/lacks/);
      }
    }
  });

  it('of type payment.failed may name the payerSignature', () => {
    const said = {
      type: 'payment.failed',
      timestamp: SAID.timestamp,
      data: { ...DATA['payment.failed'], payerSignature: 'p' },
    };
    expect(read(said)).toEqual({ id: ID, ...said });
    expect(
      refusal(() => read({ ...said, data: { ...said.data, payerSignature: 7 } })).reason,
    ).toMatch(/lacks/);
  });

  it.each<[string, object, RegExp]>([
    ['has an unknown type', { ...SAID, type: 'payment.refunded' }, /does not know: update it/],
    ['has no type', { ...SAID, type: undefined }, /lacks/],
    ['has the type constructor', { ...SAID, type: 'constructor' }, /does not know/],
    ['has no timestamp', { ...SAID, timestamp: undefined }, /lacks/],
    ['has an invalid timestamp', { ...SAID, timestamp: 'yesterday' }, /lacks/],
    ['has a list as data', { ...SAID, data: [] }, /lacks/],
    ['has a number as amount', { ...SAID, data: { ...SAID.data, amount: 10_000 } }, /lacks/],
    ['has an amount with an exponent', { ...SAID, data: { ...SAID.data, amount: '1e4' } }, /lacks/],
    ['is a list', [SAID], /no JSON of an event/],
  ])('is refused when it %s', (_, said, reason) => {
    expect(refusal(() => read(said)).reason).toMatch(reason);
  });
});

/** The globals that every worker runtime has; none is from Node. */
const WEB = ['Headers', 'TextDecoder', 'TextEncoder', 'URL', 'crypto'] as const;

it('verifies in a worker with web globals only, without Node modules or eval', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL('../../../adapters/webhooks/verify.ts', import.meta.url))],
    ...{
      bundle: true,
      write: false,
      metafile: true,
      format: 'iife',
      globalName: 'receiver',
      platform: 'browser',
      logLevel: 'silent',
    },
  });
  const imports = Object.values(metafile.inputs).flatMap((input) =>
    input.imports.map(({ path }) => path),
  );
  expect(
    imports.filter((path) => path.startsWith('node:') || builtinModules.includes(path)),
  ).toEqual([]);
  const globals = Object.fromEntries(WEB.map((name) => [name, globalThis[name]]));
  const context = createContext(globals, { codeGeneration: { strings: false, wasm: false } });
  runInContext(
    `${outputFiles[0]!.text}; globalThis.verifyWebhook = receiver.verifyWebhook;`,
    context,
  );
  const verifyInWorker = runInContext('verifyWebhook', context) as typeof verifyWebhook;
  expect(verifyInWorker(optionsOf(GOOD))).toEqual(eventOf());
  expect(() => verifyInWorker({ ...optionsOf(GOOD), body: `${BODY} ` })).toThrow(/not accepted/);
});
