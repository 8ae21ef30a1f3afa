import { randomBytes } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519';
import { base58, base64, base64url, hex } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSecretSearch } from '../../../adapters/http/secrets.js';
import { USDC, WALLET } from '../wire/samples.js';
import { serving } from './fake.js';

const seed = Uint8Array.from(randomBytes(32));
const key = Uint8Array.of(...seed, ...ed25519.getPublicKey(seed));
const signature = ed25519.sign(Uint8Array.of(1, 2, 3), seed);
const search = (value: unknown) => createSecretSearch()(value);

const SPELLINGS: [string, string][] = [
  ['base58', base58.encode(key)],
  ['base64', base64.encode(key)],
  ['base64 without its padding', base64.encode(key).replace(/=+$/, '')],
  ['base64url', base64url.encode(key)],
  ['hex', hex.encode(key)],
  ['hex in capitals', hex.encode(key).toUpperCase()],
  ['hex with its prefix', `0x${hex.encode(key)}`],
  ['a JSON array', JSON.stringify([...key])],
  ['an indented JSON array', JSON.stringify([...key], null, 2)],
  ['a list of numbers', [...key].join(', ')],
];
const paddings = (text: string) => [text, text.replace(/=+$/, '')];
/** Returns whether a text contains any spelling of the key, with or without padding. */
const leaks = (text: string) =>
  SPELLINGS.some(([, spelling]) => paddings(spelling).some((variant) => text.includes(variant)));

describe('a private key', () => {
  it.each(SPELLINGS)('is found as %s, alone and within other text', (_, text) => {
    expect(search(text)).toBe('key');
    expect(search(`my key is "${text}", pay with it`)).toBe('key');
    expect(search({ a: [{ b: `{"key":"${text}"}` }] })).toBe('key');
    expect(search({ [text]: 1 })).toBe('key');
  });

  it('is found as bytes in any form that JSON gives them', () => {
    expect(search([...key])).toBe('key');
    expect(search({ ...key })).toBe('key');
    expect(search(JSON.parse(JSON.stringify({ wallet: Buffer.from(key) })))).toBe('key');
  });

  it.each([
    'secretKey',
    'privateKey',
    'walletSecretKey',
    'secret_key',
    'PRIVATE-KEY',
    'wallet secret key',
  ])('is assumed in a field named %s', (name) => {
    expect(search({ [name]: null })).toBe('name');
    expect(search([{ a: { b: [{ [name]: 'x' }] } }])).toBe('name');
  });

  it('is not reported for signatures, random bytes, addresses or arrays of another length', () => {
    const other = Uint8Array.from(randomBytes(64));
    for (const bytes of [signature, other, key.slice().reverse()]) {
      for (const value of [
        base58.encode(bytes),
        base64.encode(bytes),
        hex.encode(bytes),
        [...bytes],
        { ...bytes },
        [...bytes].join(),
      ]) {
        expect(search(value)).toBeUndefined();
      }
    }
    for (const value of [
      WALLET,
      base58.encode(seed),
      [...key, 0],
      [...key].slice(1),
      [...key].map((byte) => byte + 256),
      { secret: 'x', key: 1 },
    ]) {
      expect(search(value)).toBeUndefined();
    }
  });

  it('is found at any place in a nested value', () => {
    const inside = fc.constantFrom<unknown>(...SPELLINGS.map(([, text]) => text), [...key]);
    const place = fc.array(fc.oneof(fc.nat(3), fc.stringMatching(/^[a-z]{1,5}$/)), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(inside, place, fc.jsonValue(), (secret, path, beside) => {
        const value = path.reduce<unknown>(
          (inner, step) => (typeof step === 'number' ? [beside, inner] : { beside, [step]: inner }),
          secret,
        );
        expect(search(value)).toBe('key');
      }),
    );
  });

  it('is reported as a crowd when a value holds too many candidates', () => {
    const candidates = Array.from({ length: 40 }, (_, index) =>
      base58.encode(Uint8Array.of(255, index, ...randomBytes(62))),
    );
    expect(search(candidates)).toBe('crowd');
    expect(search(candidates.slice(0, 30))).toBeUndefined();
  });
});

describe('a request with a private key', () => {
  const step = { paymentRequired: {}, wallet: WALLET };

  it.each(SPELLINGS)(
    'as %s is refused in body, query and header, and the key reaches no log or transport',
    async (_, text) => {
      const logged: string[] = [];
      const { call, post, asked } = serving({
        onError: (error) => logged.push(String(error)),
        authorize: (request) => (logged.push(request.url, ...[...request.headers].flat()), true),
      });
      const query = `/api/balance?wallet=${WALLET}`;
      const header = text.replace(/\s+/g, ' ');
      const answers = [
        await post('/api/x402/auto-pay', { ...step, wallet: text }),
        await post('/api/x402/auto-pay', { ...step, [text]: 1 }),
        await post('/api/x402/parse-payment', {
          headers: { authorization: text },
          body: { deep: [text] },
        }),
        await call(`${query}&mint=${encodeURIComponent(text)}`),
        await call(`${query}&${encodeURIComponent(text)}=1`),
        await call(query, { headers: { authorization: `Bearer ${header}` } }),
        await call(query, { headers: { 'x-request-id': header } }),
      ];
      for (const { status, json, text: answer, headers } of answers) {
        expect([status, json['code']]).toEqual([400, 'secret_refused']);
        expect(leaks(answer + [...headers].flat().join())).toBe(false);
      }
      expect(leaks(JSON.stringify([logged, asked]))).toBe(false);
      expect(asked).toEqual([]);
    },
  );

  it('as an array of bytes, or in a field with the name of a key, is refused', async () => {
    const { call, post, asked } = serving();
    for (const body of [
      { ...step, limits: [...key] },
      { ...step, walletSecretKey: 'x' },
      { ...step, paymentRequired: { body: { secretKey: [] } } },
    ]) {
      expect((await post('/api/x402/auto-pay', body)).json).toMatchObject({
        code: 'secret_refused',
        funds: 'untouched',
      });
    }
    expect((await call(`/api/balance?wallet=${WALLET}&privateKey=x`)).json['code']).toBe(
      'secret_refused',
    );
    expect(
      (await call(`/api/balance?wallet=${WALLET}`, { headers: { 'secret-key': 'x' } })).json[
        'code'
      ],
    ).toBe('secret_refused');
    expect(asked).toEqual([]);
  });

  it('is not confused with an honest request that holds signatures', async () => {
    const { post } = serving();
    const signed = base58.encode(signature);
    const body = {
      x402Version: 2,
      accepts: [{ asset: USDC, extra: { signature: signed, hex: hex.encode(signature) } }],
      proof: [...signature],
    };
    expect(
      (
        await post('/api/x402/parse-payment', {
          headers: { 'payment-required': base64.encode(randomBytes(900)) },
          body,
        })
      ).status,
    ).toBe(200);
  });

  it('is refused without a full search when it holds hundreds of candidates', async () => {
    const body = Array.from({ length: 600 }, (_, index) =>
      base58.encode(Uint8Array.of(255, index % 256, ...randomBytes(62))),
    );
    const { json } = await serving().post('/api/x402/parse-payment', { body });
    expect(json).toMatchObject({
      code: 'secret_refused',
      detail: expect.stringContaining('Send fewer'),
    });
  });
});
