import { inspect } from 'node:util';
import { memoryJournal } from 'exact-change';
import { createWebhooks, type WebhookRequest, type WebhooksOptions } from 'exact-change/webhooks';
import { describe, expect, it } from 'vitest';
import { hubOf, ok, withOutbox } from './clock.js';
import { WALLET } from './signed.js';

const URL_OF = 'https://hooks.example.com/paid?token=TOKEN';
const request: WebhookRequest = { url: URL_OF, events: ['payment.settled'] };

describe('the registry', () => {
  it('returns a random id and a secret that list() does not show', async () => {
    const { webhooks, clock } = hubOf(() => ok);
    const first = await webhooks.register({
      ...request,
      wallets: [WALLET, WALLET],
      events: ['payment.settled', 'payment.failed', 'payment.settled'],
    });
    const second = await webhooks.register(request);
    expect(first).toEqual({
      id: expect.stringMatching(/^we_[0-9a-f]{32}$/),
      url: URL_OF,
      events: ['payment.settled', 'payment.failed'],
      wallets: [WALLET],
      createdAt: clock.now(),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    expect(second.id).not.toBe(first.id);
    expect(second.secret).not.toBe(first.secret);
    const { secret: _, ...shown } = first;
    expect((await webhooks.list())[0]).toEqual(shown);
    expect(JSON.stringify(await webhooks.list())).not.toContain('whsec_');
  });

  it('shows and changes endpoints only for the caller that registered them', async () => {
    const { webhooks } = hubOf(() => ok);
    const mine = await webhooks.register(request, 'me');
    const open = await webhooks.register(request);
    expect((await webhooks.list('me')).map(({ id }) => id)).toEqual([mine.id]);
    expect((await webhooks.list()).map(({ id }) => id)).toEqual([open.id]);
    for (const caller of [undefined, 'you', 'ME']) {
      expect(await webhooks.rotate(mine.id, caller)).toBeUndefined();
      expect(await webhooks.remove(mine.id, caller)).toBe(false);
    }
    expect(await webhooks.rotate(mine.id, 'me')).toMatchObject({ id: mine.id });
    expect([await webhooks.remove(mine.id, 'me'), await webhooks.remove(mine.id, 'me')]).toEqual([
      true,
      false,
    ]);
  });

  it('limits each caller to a hundred endpoints, even with parallel registrations', async () => {
    const { webhooks } = hubOf(() => ok);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 105 }, () => webhooks.register(request, 'me')),
    );
    const refused = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
    );
    expect(refused).toEqual(
      Array(5).fill(
        expect.objectContaining({ code: 'invalid_option', details: { option: 'url' } }),
      ),
    );
    await expect(webhooks.register(request, 'you')).resolves.toMatchObject({ url: URL_OF });
    const [first] = await webhooks.list('me');
    await webhooks.remove(first!.id, 'me');
    await expect(webhooks.register(request, 'me')).resolves.toMatchObject({ url: URL_OF });
  });

  it('keeps every secret of parallel rotations, up to four', async () => {
    const { webhooks, journal } = hubOf(() => ok);
    const { id, secret } = await webhooks.register(request);
    const rotated = await Promise.all([webhooks.rotate(id), webhooks.rotate(id)]);
    const [endpoint] = await journal.outbox.endpoints();
    expect(endpoint?.secrets.map((entry) => entry.secret)).toEqual([
      rotated[1]?.secret,
      rotated[0]?.secret,
      secret,
    ]);
    for (let round = 0; round < 5; round += 1) await webhooks.rotate(id);
    expect((await journal.outbox.endpoints())[0]?.secrets).toHaveLength(4);
  });

  it('keeps parallel rotations and the limit when two hubs share a journal', async () => {
    const first = hubOf(() => ok);
    const second = hubOf(() => ok, { journal: first.journal });
    const { id, secret } = await first.webhooks.register(request);
    const rotated = await Promise.all([first.webhooks.rotate(id), second.webhooks.rotate(id)]);
    const [endpoint] = await first.journal.outbox.endpoints();
    expect(endpoint?.secrets.map((each) => each.secret).sort()).toEqual(
      [secret, ...rotated.map((each) => each?.secret)].sort(),
    );
    const outcomes = await Promise.allSettled(
      Array.from({ length: 120 }, (_, index) =>
        (index % 2 ? first : second).webhooks.register(request, 'me'),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
    expect(await first.webhooks.list('me')).toHaveLength(100);
  });

  it.each<[string, unknown, string]>([
    ['a missing request', undefined, 'request'],
    ['a list', [request], 'request'],
    ['a misspelt field', { ...request, event: 'payment.settled' }, 'event'],
    ['a missing URL', { events: request.events }, 'url'],
    ['a private address', { ...request, url: 'https://10.0.0.1/' }, 'url'],
    ['a URL without TLS', { ...request, url: 'http://hooks.example.com/' }, 'url'],
    ['no events', { url: URL_OF }, 'events'],
    ['an empty list of events', { ...request, events: [] }, 'events'],
    [
      'an unknown event',
      { ...request, events: ['payment.settled', 'payment.refunded'] },
      'events[1]',
    ],
    ['an event name instead of a list', { ...request, events: 'payment.settled' }, 'events'],
    ['an empty list of wallets', { ...request, wallets: [] }, 'wallets'],
    ['an invalid wallet', { ...request, wallets: ['mine'] }, 'wallets[0]'],
  ])('refuses %s', async (_, input, option) => {
    const { webhooks } = hubOf(() => ok);
    const refused = webhooks.register(input as WebhookRequest);
    await expect(refused).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'invalid_option',
      details: { option },
    });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('TOKEN') });
    expect(await webhooks.list()).toEqual([]);
  });

  it.each([7, null, 'x'.repeat(257)])('refuses the caller id %j', async (caller) => {
    const { webhooks } = hubOf(() => ok);
    const wrong = { code: 'invalid_option', details: { option: 'caller' } };
    await expect(webhooks.register(request, caller as string)).rejects.toMatchObject(wrong);
    await expect(webhooks.list(caller as string)).rejects.toMatchObject(wrong);
    await expect(webhooks.rotate('we_', caller as string)).rejects.toMatchObject(wrong);
    await expect(webhooks.remove('we_', caller as string)).rejects.toMatchObject(wrong);
  });

  it('shows no secret when the hub is inspected or printed', async () => {
    const webhooks = createWebhooks({ journal: memoryJournal({ outbox: true }) });
    await webhooks.register(request);
    for (const shown of [
      inspect(webhooks, { depth: 20, showHidden: true, getters: true }),
      JSON.stringify(webhooks),
      String(webhooks),
    ]) {
      expect(shown).not.toMatch(/whsec_|TOKEN/);
    }
    await webhooks.close();
  });
});

describe('createWebhooks', () => {
  it.each<[string, object, string]>([
    ['a missing journal', { journal: undefined }, 'journal'],
    ['an object that is not a journal', { journal: {} }, 'journal'],
    ['a misspelt option', { timeout: 5 }, 'timeout'],
    ['an empty list of ports', { ports: [] }, 'ports'],
    ['a port out of range', { ports: [443, 70_000] }, 'ports'],
    ['text for a flag', { allowPrivateTargets: 'yes' }, 'allowPrivateTargets'],
    ['a timeout of 0', { timeoutMs: 0 }, 'timeoutMs'],
    ['a fractional concurrency', { concurrency: 1.5 }, 'concurrency'],
    [
      'a larger limit per endpoint than in total',
      { concurrency: 4, perEndpoint: 5 },
      'perEndpoint',
    ],
    ['an onError that is not a function', { onError: 'log' }, 'onError'],
  ])('refuses %s', (_, over, option) => {
    const options = { journal: memoryJournal({ outbox: true }), ...over } as WebhooksOptions;
    expect(() => createWebhooks(options)).toThrow(
      expect.objectContaining({ name: 'ConfigError', code: 'invalid_option', details: { option } }),
    );
  });

  it('explains how to make a journal with an outbox when the journal has none', () => {
    expect(() => createWebhooks({ journal: memoryJournal() })).toThrow(
      /fileJournal\(path, \{ outbox: true \}\)/,
    );
    expect(() => createWebhooks(undefined as unknown as WebhooksOptions)).toThrow(/with a journal/);
  });

  it('rejects with journal_unavailable when the outbox fails', async () => {
    const journal = withOutbox(memoryJournal({ outbox: true }));
    const addEndpoint = () => {
      throw new Error('ENOSPC');
    };
    const webhooks = createWebhooks({
      journal: { ...journal, outbox: { ...journal.outbox, addEndpoint } },
    });
    await expect(webhooks.register(request)).rejects.toMatchObject({
      name: 'TransportError',
      code: 'journal_unavailable',
      retry: 'fresh',
    });
    await expect(webhooks.list()).resolves.toEqual([]);
  });
});
