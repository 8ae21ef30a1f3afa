import {
  memoryJournal,
  TransportError,
  type Attempt,
  type ClientOptions,
  type Journal,
} from 'exact-change';
import { describe, expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { listOf, storedOf } from '../helpers/attempts.js';
import { tokenAmount, until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { timesSpent } from '../helpers/spends.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';
import { expectUnread, expectUntouched, nothingSent } from '../helpers/untouched.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = (path: string) => sandbox.apiUrl + path;
const held = ({ address }: Payer) => tokenAmount(sandbox.rpcUrl, address, sandbox.mints.USDC);
const never = <T>() => new Promise<T>(() => undefined);
const impatient: ClientOptions = { timeouts: { journal: 40 } };

type Method = 'reserve' | 'put' | 'similar' | 'attempts' | 'used' | 'release';

/** A way to fail: at once, by rejecting, or by never answering. */
const WAYS: readonly (readonly [name: string, fail: () => Promise<never>])[] = [
  [
    'throws',
    () => {
      throw new Error('EIO');
    },
  ],
  ['rejects', () => Promise.reject(new Error('EIO'))],
  ['never answers', never],
];

/** A journal in memory with a method that fails while `broken` is set. */
function breakable(
  method: Method,
  fail: () => Promise<never>,
  when: (attempt: Attempt | undefined) => boolean = () => true,
) {
  const inner = memoryJournal();
  const state = { broken: true };
  const broken = (attempt?: Attempt) => state.broken && when(attempt);
  const failing: Partial<Journal> = {
    reserve: (attempt, caps) => (broken(attempt) ? fail() : inner.reserve(attempt, caps)),
    put: (attempt) => (broken(attempt) ? fail() : inner.put(attempt)),
    similar: (...args) => (broken() ? fail() : inner.similar(...args)),
    used: (...args) => (broken() ? fail() : inner.used(...args)),
    release: (id) => (broken() ? fail() : inner.release(id)),
    attempts: (...args) =>
      broken()
        ? { [Symbol.asyncIterator]: () => ({ next: () => fail() }) }
        : inner.attempts(...args),
  };
  const journal: Journal = { ...inner, [method]: failing[method] };
  return { journal, inner, repair: () => void (state.broken = false) };
}

describe.each(WAYS)('a client at a journal that %s', (_, fail) => {
  it.each(['attempts', 'similar', 'reserve'] as const)(
    'signs and sends nothing when %s fails, and pays once the journal works',
    async (method) => {
      const { journal, inner, repair } = breakable(method, fail);
      const payer = await payerOn(sandbox, { USDC: '0.01' }, { journal, ...impatient });
      const error = await nothingSent(sandbox, payer, () =>
        failureOf(payer.client.fetch(url('/usdc')), 'journal_unavailable'),
      );
      // An attempt that cannot be read may be an earlier payment for the same request.
      const isRead = method !== 'reserve';
      if (isRead) expectUnread(error);
      else {
        expectUntouched(error);
        expect(error.retry).toBe('fresh');
      }
      expect(error).toMatchObject({ name: 'TransportError', details: { step: method } });
      expect(payer.signed).toEqual([]);
      expect(await storedOf(inner, payer)).toEqual([]);
      repair();
      expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
      expect(await held(payer)).toBe(0n);
    },
  );

  it('sends no payment and frees its tokens when its signature cannot be written', async () => {
    const { journal, repair } = breakable('put', fail, (attempt) => attempt?.state === 'signed');
    const payer = await payerOn(
      sandbox,
      { USDC: '0.01' },
      { journal, policy: { maxPerDay: '0.01' }, ...impatient },
    );
    const paid = sandbox.controls.facilitator.calls('/verify');
    const error = await failureOf(
      payer.client.fetch(url('/usdc'), { idempotencyKey: 'order' }),
      'journal_unavailable',
    );
    expectUntouched(error);
    expect(error.details).toEqual({ step: 'put' });
    expect(
      payer.events.filter(({ type }) => type === 'payment.sent' || type === 'payment.signed'),
    ).toEqual([]);
    expect(sandbox.controls.facilitator.calls('/verify')).toBe(paid);
    repair();
    expect((await payer.client.fetch(url('/usdc'), { idempotencyKey: 'order' })).status).toBe(200);
    expect(await held(payer)).toBe(0n);
  });

  it('sends no swap when the write of the signed swap fails', async () => {
    const { journal, repair } = breakable('put', fail, (attempt) => attempt?.state === 'reserved');
    const payer = await payerOn(
      sandbox,
      { SOL: '0.5', USDT: '5' },
      { journal, autoSwap: true, swapFrom: ['USDT'], ...impatient },
    );
    const sent = sandbox.controls.node.calls({ method: 'sendTransaction' });
    const error = await failureOf(payer.client.fetch(url('/usdc')), 'journal_unavailable');
    expectUntouched(error);
    expect(sandbox.controls.node.calls({ method: 'sendTransaction' })).toBe(sent);
    expect((await payer.client.spent())[0]?.used).toBe('0');
    repair();
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    // The next call completes the swap that is on record. A second swap would sell twice.
    expect(await timesSpent(sandbox, payer, 'USDT')).toBe(1);
  });

  it('returns the answer when its write fails, and writes the settlement later', async () => {
    const { journal, inner, repair } = breakable(
      'put',
      fail,
      (attempt) => attempt?.delivered === true,
    );
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal, ...impatient });
    const response = await payer.client.fetch(url('/usdc'));
    expect([response.status, await response.json()]).toMatchObject([200, { ok: true }]);
    expect(payer.events.filter(({ type }) => type === 'warning').length).toBe(1);
    repair();
    await until('it is written', async () => {
      const [attempt] = await storedOf(inner, payer);
      return attempt?.state === 'settled' && attempt.delivered ? true : undefined;
    });
  });

  it('reports the rejection by the seller when the write after a 402 fails', async () => {
    const { journal } = breakable(
      'put',
      fail,
      (attempt) => attempt?.receipt?.timings['answered'] !== undefined,
    );
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal, ...impatient });
    sandbox.controls.facilitator.fault('/verify', { kind: 'status', status: 500 });
    const error = await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
    expect(error).toMatchObject({ funds: 'uncertain', moved: [] });
  });

  it('fails spent() with journal_unavailable when used() fails', async () => {
    const { journal } = breakable('used', fail);
    const payer = await payerOn(sandbox, {}, { journal, ...impatient });
    expect((await failureOf(payer.client.spent(), 'journal_unavailable')).details).toEqual({
      step: 'used',
    });
  });

  it('fails receipts() and resume() with journal_unavailable when attempts() fails', async () => {
    const { journal } = breakable('attempts', fail);
    const payer = await payerOn(sandbox, {}, { journal, ...impatient });
    expectUntouched(await failureOf(listOf(payer.client.receipts()), 'journal_unavailable'));
    expectUnread(await failureOf(payer.client.resume(), 'journal_unavailable'));
  });

  it('keeps the reason of a failure when release() fails, and frees the budget later', async () => {
    const { journal, repair } = breakable('release', fail);
    const payer = await payerOn(
      sandbox,
      { USDC: '0.01' },
      { journal, policy: { maxPerDay: '0.01', approve: () => false }, ...impatient },
    );
    await failureOf(payer.client.fetch(url('/usdc')), 'approval_refused');
    expect((await payer.client.spent())[0]?.used).toBe('0.01');
    repair();
    const next = payer.again({ journal, policy: { maxPerDay: '0.01' } });
    expect((await next.fetch(url('/usdc'))).status).toBe(200);
  });
});

describe('a client, for an error of the journal itself', () => {
  const own = () =>
    new TransportError(
      'journal_locked',
      'Another process has the journal. Close it, then try again.',
      {
        details: { path: '/tmp/journal', pid: 1 },
      },
    );

  it.each(['attempts', 'similar', 'reserve'] as const)(
    'passes the error of %s on, with uncertain funds if it was a read',
    async (method) => {
      const { journal } = breakable(method, () => Promise.reject(own()));
      const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
      const error = await nothingSent(sandbox, payer, () =>
        failureOf(payer.client.fetch(url('/usdc')), 'journal_locked'),
      );
      // An attempt that cannot be read may be an earlier payment for the same request.
      if (method === 'reserve') expectUntouched(error);
      else expect(error).toMatchObject({ funds: 'uncertain', moved: [], retry: 'never' });
      expect(error.details).toEqual({ path: '/tmp/journal', pid: 1 });
    },
  );
});

describe('a client, for an attempt that another process releases meanwhile', () => {
  it('sends no payment if the attempt was released before the signature', async () => {
    const journal = memoryJournal();
    const payer = await payerOn(
      sandbox,
      { USDC: '1' },
      {
        journal,
        policy: {
          approve: async () => {
            // Another process that takes this attempt for an orphan does the same.
            for (const { id } of await storedOf(journal, payer)) await journal.release(id);
            return true;
          },
        },
      },
    );
    const paid = sandbox.controls.facilitator.calls('/verify');
    const error = await failureOf(payer.client.fetch(url('/usdc')));
    expect(error).toMatchObject({ funds: 'untouched', moved: [] });
    expect(payer.events.some(({ type }) => type === 'payment.sent')).toBe(false);
    expect(sandbox.controls.facilitator.calls('/verify')).toBe(paid);
    expect(await held(payer)).toBe(1_000_000n);
  });

  it('sends no swap if the attempt was released before the signature', async () => {
    const journal = memoryJournal();
    const options = { journal, autoSwap: true, swapFrom: ['USDT'] };
    const payer = await payerOn(
      sandbox,
      { SOL: '0.5', USDT: '5' },
      {
        ...options,
        policy: {
          approve: async () => {
            for (const { id } of await storedOf(journal, payer)) await journal.release(id);
            return true;
          },
        },
      },
    );
    const sent = sandbox.controls.node.calls({ method: 'sendTransaction' });
    expect(await failureOf(payer.client.fetch(url('/usdc')))).toMatchObject({
      funds: 'untouched',
      moved: [],
    });
    expect(sandbox.controls.node.calls({ method: 'sendTransaction' })).toBe(sent);
    expect((await payer.again(options).fetch(url('/usdc'))).status).toBe(200);
  });
});

describe('a client at a journal that hangs while a payment is open', () => {
  it('fails a repeated call without presenting the payment again', async () => {
    const { journal, repair } = breakable('similar', never, () => asking);
    let asking = false;
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal, ...impatient });
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) return void request.socket.destroy();
      answerTerms(response, envelopeV2([offerOf(sandbox)]));
    });
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    asking = true;
    await failureOf(payer.client.fetch(seller.url), 'journal_unavailable');
    expect([seller.paid.length, payer.signed.length]).toEqual([1, 1]);
    repair();
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    expect([seller.paid.length, payer.signed.length]).toEqual([2, 1]);
  });
});
