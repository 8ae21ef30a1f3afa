import { getBase58Decoder } from '@solana/kit';
import { ed25519 } from '@noble/curves/ed25519';
import { memoryJournal } from 'exact-change';
import { createHandler, type HandlerOptions, type WebhookCaller } from 'exact-change/http';
import { createWebhooks } from 'exact-change/webhooks';
import { describe, expect, it } from 'vitest';
import type { WebhookRegistry } from '../../../adapters/webhooks/types.js';
import { webhookOperations } from '../../../src/wire/webhooks.js';
import { USDC, WALLET } from '../wire/samples.js';
import { begun, fakeTransport, serving, type Called } from './fake.js';
import { fakeRegistry } from './fake-registry.js';

const PATH = '/api/webhooks';
const hook = {
  url: 'https://shop.example.com/told',
  events: ['payment.settled', 'payment.failed'],
};
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

function telling(options: HandlerOptions = {}) {
  const { call, post, ...rest } = serving({ webhooks: fakeRegistry(), ...options });
  const as = (key: string) => ({ headers: { 'x-api-key': key } });
  return {
    ...{ call, post, ...rest },
    register: (body: object = hook, key = '') => post(PATH, body, as(key).headers),
    rotate: (id: unknown, key = '') => post(`${PATH}/rotate`, { id }, as(key).headers),
    list: async (key = '') =>
      JSON.parse((await call(PATH, as(key))).text) as Record<string, unknown>[],
    remove: (id: string, key = '') =>
      call(`${PATH}?id=${encodeURIComponent(id)}`, { method: 'DELETE', ...as(key) }),
  };
}

const idOf = ({ json }: Called) => String(json['id']);
const refusalOf = ({ status, json }: Called) => [status, json['code'], json['details']];
const notFound = [404, 'not_found', {}];

/** Callers by API key, as a host knows them; a request without a key has no caller. */
const callers: Record<string, WebhookCaller> = {
  first: { id: 'a' },
  second: { id: 'b' },
  bound: { id: 'c', wallets: [WALLET, USDC] },
};
const callerOf = ({ headers }: Request) => callers[headers.get('x-api-key') ?? ''];

describe('a webhook endpoint', () => {
  it('is registered, listed, rotated and removed', async () => {
    const { register, list, rotate, remove } = telling();
    const made = await register({ ...hook, wallets: [WALLET] });
    expect([made.status, made.json]).toEqual([
      200,
      {
        ...hook,
        wallets: [WALLET],
        id: idOf(made),
        createdAt: 5,
        secret: expect.stringMatching(SECRET),
      },
    ]);
    const { secret, ...shown } = made.json;
    expect(await list()).toEqual([shown]);
    const rotated = await rotate(idOf(made));
    expect(rotated.json).toEqual({ ...shown, secret: expect.stringMatching(SECRET) });
    expect(rotated.json['secret']).not.toBe(secret);
    expect((await remove(idOf(made))).json).toEqual({ removed: true });
    expect(await list()).toEqual([]);
  });

  it('works with the registry of createWebhooks', async () => {
    const webhooks = createWebhooks({ journal: memoryJournal({ outbox: true }) });
    const { register, list, rotate, remove } = telling({ webhooks, callerOf });
    const url = 'https://shop.acme.org/told';
    const made = await register({ ...hook, url }, 'bound');
    expect(made.json).toMatchObject({
      url,
      events: hook.events,
      wallets: [WALLET, USDC],
      secret: expect.stringMatching(SECRET),
    });
    const { secret: _, ...shown } = made.json;
    expect([await list('bound'), await list('first')]).toEqual([[shown], []]);
    expect((await rotate(idOf(made), 'bound')).json).toEqual({
      ...shown,
      secret: expect.stringMatching(SECRET),
    });
    expect(
      refusalOf(await register({ ...hook, url: 'https://169.254.169.254/' }, 'first')),
    ).toEqual([400, 'invalid_option', { option: 'url' }]);
    expect(refusalOf(await remove(idOf(made), 'first'))).toEqual(notFound);
    expect((await remove(idOf(made), 'bound')).status).toBe(200);
    await webhooks.close();
  });

  it('gives 404 on remove and rotate when its id is unknown', async () => {
    const { remove, rotate } = telling();
    expect(refusalOf(await remove('nothing'))).toEqual(notFound);
    expect(refusalOf(await rotate('nothing'))).toEqual(notFound);
  });

  it('accepts a URL that grows beyond the limit by percent-encoding', async () => {
    const { register } = telling();
    const made = await register({
      ...hook,
      url: `https://shop.example.com/${'\u{1f4b0}'.repeat(2_000)}`,
    });
    expect([made.status, String(made.json['url']).length]).toEqual([200, 25 + 2_000 * 12]);
  });

  it('has no wallet filter without callerOf', async () => {
    const { register } = telling();
    expect((await register()).json).not.toHaveProperty('wallets');
  });

  it('never shows its secret in a list, an error or a log', async () => {
    const failing: WebhookRegistry = {
      ...fakeRegistry(),
      register: () => Promise.reject(new Error('whsec_AAAA is in the way')),
      // A registry of another version may return fields that this version does not know.
      list: () =>
        Promise.resolve([
          {
            id: 'e',
            createdAt: 5,
            secrets: ['whsec_B'],
            ...hook,
            events: ['payment.settled'] as const,
          },
        ]),
      rotate: async () => ({
        ...(await fakeRegistry().register({ ...hook, events: [] })),
        secret: 'whsec_short',
      }),
    };
    const reported: unknown[] = [];
    const { register, call, rotate } = telling({
      webhooks: failing,
      onError: (error) => reported.push(error),
    });
    for (const answer of [await register(), await call(PATH), await rotate('e')])
      expect(answer.text).not.toContain('whsec_');
    expect((await rotate('e')).status).toBe(500);
    expect(String(reported.at(-1))).toContain(
      'POST /api/webhooks/rotate is not what it promises: secret',
    );
    expect(String(reported.at(-1))).not.toContain('whsec_short');
  });
});

describe('a webhook caller', () => {
  it('sees and changes only the endpoints that it registered', async () => {
    const { register, list, rotate, remove } = telling({ callerOf });
    const [ofFirst, ofSecond] = [await register(hook, 'first'), await register(hook, 'second')];
    expect((await list('first')).map(({ id }) => id)).toEqual([idOf(ofFirst)]);
    expect((await list('second')).map(({ id }) => id)).toEqual([idOf(ofSecond)]);
    expect(refusalOf(await rotate(idOf(ofFirst), 'second'))).toEqual(notFound);
    expect(refusalOf(await remove(idOf(ofFirst), 'second'))).toEqual(notFound);
    expect((await remove(idOf(ofFirst), 'first')).status).toBe(200);
    expect(await list('second')).toHaveLength(1);
  });

  it('may filter by its own wallets only, some or all of them', async () => {
    const { register } = telling({ callerOf });
    expect((await register(hook, 'bound')).json['wallets']).toEqual([WALLET, USDC]);
    expect((await register({ ...hook, wallets: [USDC] }, 'bound')).json['wallets']).toEqual([USDC]);
    const foreign = 'FGETo8T8wMcN2wCjav8VK6eh3dLk63evNDPxzLSJra8B';
    const refused = await register({ ...hook, wallets: [WALLET, foreign] }, 'bound');
    expect(refusalOf(refused)).toEqual([403, 'not_allowed', { list: 'wallets', value: foreign }]);
  });

  it.each([
    [101, 200, {}],
    [1_000, 200, {}],
    [1_001, 400, { option: 'wallets' }],
  ])('gets events of all its %i wallets unless it names some', async (count, status, details) => {
    const wallets = Array.from({ length: count }, (_, index) =>
      getBase58Decoder().decode(
        new Uint8Array(32)
          .fill(1)
          .fill(index >> 8, 30)
          .fill(index, 31),
      ),
    );
    const webhooks = createWebhooks({ journal: memoryJournal({ outbox: true }) });
    const { register, list } = telling({ webhooks, callerOf: () => ({ id: 'd', wallets }) });
    const all = await register();
    expect([all.status, all.json['details'] ?? {}]).toEqual([status, details]);
    if (status === 200) expect(await list()).toMatchObject([{ wallets }]);
    else expect(all.json['detail']).toContain('Register several endpoints, each for some of them.');
    expect((await register({ ...hook, wallets: wallets.slice(0, 100) })).status).toBe(200);
  });

  it('with an empty wallet list is refused, and not treated as unrestricted', async () => {
    const { register, list } = telling({ callerOf: () => ({ id: 'd', wallets: [] }) });
    expect(refusalOf(await register())).toEqual([
      403,
      'not_allowed',
      { list: 'wallets', value: '' },
    ]);
    expect(await list()).toEqual([]);
  });

  it('gets 401 when callerOf does not know it', async () => {
    const { register, call, rotate, remove } = telling({ callerOf });
    for (const answer of [
      await register(),
      await call(PATH),
      await rotate('e'),
      await remove('e'),
    ]) {
      expect(refusalOf(answer)).toEqual([401, 'unauthorized', {}]);
    }
  });

  it.each<[string, unknown]>([
    ['text', 'a'],
    ['null', null],
    ['a numeric id', { id: 1 }],
    ['an empty id', { id: '' }],
    ['an id of 257 characters', { id: 'x'.repeat(257) }],
    ['wallets as text', { id: 'a', wallets: WALLET }],
    ['an invalid wallet', { id: 'a', wallets: [WALLET, 'me'] }],
  ])('is not accepted when callerOf returns %s, or rejects', async (_, returned) => {
    const registered: unknown[] = [];
    const webhooks: WebhookRegistry = {
      ...fakeRegistry(),
      register: (request) => (registered.push(request), new Promise(() => undefined)),
    };
    expect(
      (await telling({ webhooks, callerOf: () => returned as WebhookCaller }).register()).status,
    ).toBe(500);
    const failing = await telling({
      webhooks,
      callerOf: () => Promise.reject(new Error(`hunter2 ${String(returned)}`)),
    }).register();
    expect([failing.status, failing.text.includes('hunter2'), registered]).toEqual([
      500,
      false,
      [],
    ]);
  });

  it('has registered nothing after its request got a timeout', async () => {
    let answer = (_: WebhookCaller): void => undefined;
    const pending = new Promise<WebhookCaller>((resolve) => (answer = resolve));
    const { register, list } = telling({ timeoutMs: 20, callerOf: () => pending });
    expect(refusalOf(await register())).toMatchObject([504, 'timeout', {}]);
    answer({ id: 'a' });
    expect(await list()).toEqual([]);
  });
});

describe('a request about webhooks', () => {
  it.each<[string, object, string]>([
    ['no URL', { events: hook.events }, 'url'],
    ['a URL without a protocol', { ...hook, url: 'shop.example.com' }, 'url'],
    ['a URL of another protocol', { ...hook, url: 'file:///etc/passwd' }, 'url'],
    ['a URL that the registry refuses', { ...hook, url: 'http://shop.example.com' }, 'url'],
    [
      'a URL that is too long',
      { ...hook, url: `https://shop.example.com/${'x'.repeat(4_096)}` },
      'url',
    ],
    ['no events', { url: hook.url }, 'events'],
    ['an empty list of events', { ...hook, events: [] }, 'events'],
    ['an unknown event', { ...hook, events: ['payment.settled', 'payment.imagined'] }, 'events[1]'],
    ['events as text', { ...hook, events: 'payment.settled' }, 'events'],
    [
      'too many events',
      { ...hook, events: Array.from({ length: 6 }, () => 'payment.settled') },
      'events',
    ],
    ['an empty list of wallets', { ...hook, wallets: [] }, 'wallets'],
    ['an invalid wallet', { ...hook, wallets: ['me'] }, 'wallets[0]'],
    ['101 wallets', { ...hook, wallets: Array.from({ length: 101 }, () => WALLET) }, 'wallets'],
    ['a secret of its own', { ...hook, secret: `whsec_${'A'.repeat(43)}=` }, 'secret'],
    ['a caller', { ...hook, caller: 'b' }, 'caller'],
  ])('with %s is refused with the name of the field', async (_, body, option) => {
    const { register, list } = telling();
    expect(refusalOf(await register(body))).toEqual([400, 'invalid_option', { option }]);
    expect(await list()).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['DELETE', PATH, 'id'],
    ['DELETE', `${PATH}?id=a&id=b`, 'id'],
    ['DELETE', `${PATH}?id=a&force=1`, 'force'],
    ['DELETE', `${PATH}?id=${'x'.repeat(65)}`, 'id'],
    ['GET', `${PATH}?caller=b`, 'caller'],
  ])('with %s to %s is refused with the name of the field', async (method, path, option) => {
    expect(refusalOf(await telling().call(path, { method }))).toEqual([
      400,
      'invalid_option',
      { option },
    ]);
  });

  it('with a private key in any place is refused, but a webhook secret is not a key', async () => {
    const seed = new Uint8Array(32).fill(7);
    const key = getBase58Decoder().decode(Uint8Array.of(...seed, ...ed25519.getPublicKey(seed)));
    const { register, remove, rotate, call } = telling();
    for (const answer of [
      await register({ ...hook, url: `https://shop.example.com/?k=${key}` }),
      await register({ ...hook, wallets: [key] }),
      await register({ ...hook, secretKey: 'x' }),
      await rotate(key),
      await remove(key),
      await call(PATH, { headers: { 'x-note': key } }),
    ]) {
      expect(refusalOf(answer).slice(0, 2)).toEqual([400, 'secret_refused']);
      expect(answer.text).not.toContain(key);
    }
    // The longest webhook secret has 64 bytes, as many as a private key.
    expect(refusalOf(await rotate(`whsec_${'A'.repeat(86)}==`))).toEqual([
      400,
      'invalid_option',
      { option: 'id' },
    ]);
  });

  it('has the same limits of type, size, depth and time as other requests', async () => {
    const { post } = telling();
    expect((await post(PATH, hook, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(PATH, { ...hook, x: 'y'.repeat(70_000) })).status).toBe(413);
    expect((await post(PATH, '['.repeat(40) + ']'.repeat(40))).status).toBe(400);
    expect((await telling({ timeoutMs: 50 }).call(PATH, begun())).status).toBe(408);
    const silent = telling({
      timeoutMs: 20,
      webhooks: { ...fakeRegistry(), list: () => new Promise(() => undefined) },
    });
    expect(refusalOf(await silent.call(PATH)).slice(0, 2)).toEqual([504, 'timeout']);
  });

  it('must pass authorize and rateLimit', async () => {
    const closed = telling({ authorize: () => false });
    const limited = telling({ rateLimit: () => 2_000 });
    for (const [{ register, call, rotate, remove }, status] of [
      [closed, 401],
      [limited, 429],
    ] as const) {
      // prettier-ignore
      for (const answer of [await register(), await call(PATH), await rotate('e'), await remove('e')]) expect(answer.status).toBe(status);
    }
  });
});

describe('the paths of webhooks', () => {
  it('answer 404 without a registry, and are absent from the OpenAPI document', async () => {
    const pathsOf = async ({ call }: Pick<ReturnType<typeof serving>, 'call'>) =>
      Object.keys((await call('/openapi.json')).json['paths'] as object);
    const without = serving();
    for (const { method, path } of Object.values(webhookOperations)) {
      expect((await without.call(path, { method })).status).toBe(404);
    }
    const toldBy = async ({ call }: Pick<ReturnType<typeof serving>, 'call'>) =>
      (await call('/openapi.json')).json['webhooks'];
    expect(await toldBy(without)).toBeUndefined();
    expect(await toldBy(telling())).toHaveProperty(['payment.settled', 'post', 'requestBody']);
    const shown = await pathsOf(without);
    expect(await pathsOf(telling())).toEqual(
      expect.arrayContaining([...shown, PATH, `${PATH}/rotate`]),
    );
    expect(shown).not.toEqual(expect.arrayContaining([expect.stringContaining('webhooks')]));
    expect(shown).toContain('/api/quote');
  });

  it('answer 405 with their methods, and HEAD like GET without the body', async () => {
    const { call, register } = telling({ basePath: '/pay', callerOf: () => ({ id: 'a' }) });
    expect((await register()).status).toBe(404);
    const refused = await call(`/pay${PATH}`, { method: 'PUT' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([
      405,
      'GET, HEAD, POST, DELETE',
    ]);
    const rotate = await call(`/pay${PATH}/rotate`, { method: 'DELETE' });
    expect([rotate.status, rotate.headers.get('allow')]).toEqual([405, 'POST']);
    const head = await call(`/pay${PATH}`, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('content-type')]).toEqual([
      200,
      '',
      'application/json',
    ]);
  });

  it('allow listed origins each of their methods', async () => {
    const origin = 'https://app.example.com';
    const { call } = telling({ cors: [origin], authorize: () => false });
    const preflight = {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'DELETE' },
    };
    const allowed = await call(PATH, preflight);
    expect([allowed.status, allowed.headers.get('access-control-allow-methods')]).toEqual([
      204,
      'GET, HEAD, POST, DELETE',
    ]);
  });
});

describe('the options for webhooks', () => {
  it.each<[string, Record<string, unknown>]>([
    ['webhooks', { webhooks: {} }],
    ['webhooks', { webhooks: null }],
    ['webhooks', { webhooks: { ...fakeRegistry(), rotate: undefined } }],
    ['callerOf', { webhooks: fakeRegistry(), callerOf: 'a' }],
  ])('are refused at once with the name of a wrong %s', (option, options) => {
    expect(() => createHandler(fakeTransport().transport, options as HandlerOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option } }),
    );
  });
});
