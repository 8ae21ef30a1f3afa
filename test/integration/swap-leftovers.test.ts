import { text } from 'node:stream/consumers';
import { memoryJournal, type ClientOptions, type Journal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { storedOf } from '../helpers/attempts.js';
import { createCoordination, withCoordination } from '../../src/journal/registry.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { landed, until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';
import { paidOf } from '../helpers/worth.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = (path: string) => sandbox.apiUrl + path;
const swaps = (payer: Payer) => signedOf(payer, 'swap');
/** Returns how often USDT left for a swap, as the chain shows it. */
const swappedOf = (payer: Payer) => timesSpent(sandbox, payer, 'USDT');

/** Returns a list that collects every transaction sent from now on, as the node received it. */
function sentBytes(): unknown[] {
  const sent: unknown[] = [];
  sandbox.controls.node.intercept = (method, params, next) => {
    if (method === 'sendTransaction' && Array.isArray(params)) sent.push(params[0]);
    return next();
  };
  return sent;
}

/**
 * Makes a wallet. Its first client closes after it signed a swap that no node knows: the node
 * dropped the swap, or hides that it landed.
 */
async function leftBehind(how: 'dropped' | 'landed', more: ClientOptions = {}) {
  const journal = memoryJournal();
  const options: ClientOptions = { journal, autoSwap: true, swapFrom: ['USDT'], ...more };
  const payer = await payerOn(sandbox, { SOL: '0.5', USDT: '5' }, options);
  const { node } = sandbox.controls;
  const before = node.calls({ method: 'sendTransaction' });
  if (how === 'dropped') node.fault('sendTransaction', { kind: 'neverLands' });
  else node.fault('getSignatureStatuses', { kind: 'status', status: 503 });
  const signed: Promise<string> = new Promise((resolve) =>
    payer.client.on('swap.signed', ({ signature }) => resolve(signature)),
  );
  const call = failureOf(payer.client.fetch(url('/usdc')));
  const signature = await signed;
  if (how === 'landed')
    await until('the swap has landed', async () =>
      (await swappedOf(payer)) === 1 ? true : undefined,
    );
  else
    await until('the swap was sent', () =>
      node.calls({ method: 'sendTransaction' }) > before ? true : undefined,
    );
  await payer.client.close();
  return { payer, journal, options, signature, error: await call };
}

describe('a swap with an unknown fate, left by a client that closed', () => {
  it.each(['dropped', 'landed'] as const)(
    'is uncertain and on record with its budget and key free, when the node has it %s',
    async (how) => {
      const { payer, journal, signature, error, options } = await leftBehind(how);
      expect(error).toMatchObject({
        code: 'swap_uncertain',
        funds: 'uncertain',
        details: { signature },
      });
      expect(await storedOf(journal, payer)).toMatchObject([
        { state: 'abandoned', swap: { signature } },
      ]);
      expect(await paidOf(payer.again(options))).toBe('0');
    },
  );

  it('is told to each later client that resumes it, until it is decided', async () => {
    const { payer, options } = await leftBehind('dropped');
    const states = async () => (await payer.again(options).resume()).map(({ state }) => state);
    expect([await states(), await states()]).toEqual([['abandoned'], ['abandoned']]);
    sandbox.controls.node.clearFaults();
    sandbox.controls.node.warp();
    expect([await states(), await states()]).toEqual([['unpaid'], []]);
  });

  it('is sent again in the same bytes by the next payment if the node dropped it', async () => {
    const { payer, journal, options, signature } = await leftBehind('dropped');
    const [left] = await storedOf(journal, payer);
    sandbox.controls.node.clearFaults();
    const sent = sentBytes();
    const response = await payer.again(options).fetch(url('/usdc'));
    expect(response.status).toBe(200);
    expect(sent).toContain(left?.swap?.transaction);
    expect([swaps(payer), await swappedOf(payer)]).toEqual([1, 1]);
    expect((await landed(sandbox.rpcUrl, signature)).error).toBeNull();
    expect((await storedOf(journal, payer)).map(({ state }) => state)).not.toContain('abandoned');
  });

  it('is found by the next payment if it landed, without a second swap', async () => {
    const { payer, options } = await leftBehind('landed');
    sandbox.controls.node.clearFaults();
    expect((await payer.again(options).fetch(url('/usdc'))).status).toBe(200);
    expect([swaps(payer), await swappedOf(payer)]).toEqual([1, 1]);
  });

  it('stays the only swap for several later payments at once, and each is paid', async () => {
    const { payer, options } = await leftBehind('dropped');
    sandbox.controls.node.clearFaults();
    const next = payer.again(options);
    const answers = await Promise.all([1, 2, 3].map((n) => next.fetch(url(`/usdc?n=${n}`))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect([swaps(payer), await swappedOf(payer)]).toEqual([1, 1]);
  });

  it('stays the only swap for two later clients', async () => {
    const { payer, options } = await leftBehind('dropped');
    sandbox.controls.node.clearFaults();
    const clients = [payer.again(options), payer.again(options)];
    const answers = await Promise.all(
      clients.map((client, n) => client.fetch(url(`/usdc?n=${n}`))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect([swaps(payer), await swappedOf(payer)]).toEqual([1, 1]);
  });

  it('delays no swap into another token', async () => {
    const { payer, options } = await leftBehind('dropped');
    const next = payer.again(options);
    const sent = sandbox.controls.node.calls({ method: 'sendTransaction' });
    sandbox.controls.node.clearFaults();
    expect((await next.fetch(url('/pyusd'))).status).toBe(200);
    expect(sandbox.controls.node.calls({ method: 'sendTransaction' })).toBeGreaterThan(sent);
    expect(swaps(payer)).toBe(2);
  });

  it('is replaced by a new swap once the chain proves that it expired', async () => {
    const { payer, journal, options } = await leftBehind('dropped');
    sandbox.controls.node.clearFaults();
    sandbox.controls.node.warp();
    expect((await payer.again(options).fetch(url('/usdc'))).status).toBe(200);
    expect([swaps(payer), await swappedOf(payer)]).toEqual([2, 1]);
    expect((await storedOf(journal, payer)).map(({ state }) => state)).not.toContain('abandoned');
  });

  it('fails the next payment with swap_uncertain while no node knows its fate', async () => {
    const { payer, options, signature } = await leftBehind('dropped');
    // The node takes the swap, loses it, and answers no question about it.
    sandbox.controls.node.fault('getSignatureStatuses', { kind: 'status', status: 503 });
    const next = payer.again(options);
    const sent = sandbox.controls.node.calls({ method: 'sendTransaction' });
    const call = failureOf(next.fetch(url('/usdc')), 'swap_uncertain');
    await until('the swap was sent again', () =>
      sandbox.controls.node.calls({ method: 'sendTransaction' }) > sent ? true : undefined,
    );
    await next.close();
    expect(await call).toMatchObject({
      funds: 'uncertain',
      moved: [],
      retry: 'never',
      details: { signature },
    });
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap']);
    sandbox.controls.node.clearFaults();
    expect((await payer.again(options).fetch(url('/usdc'))).status).toBe(200);
    expect([swaps(payer), await swappedOf(payer)]).toEqual([1, 1]);
  });

  it('is completed even if the caller that completes it aborts', async () => {
    const { payer, options } = await leftBehind('dropped');
    const next = payer.again(options);
    const sent = sandbox.controls.node.calls({ method: 'sendTransaction' });
    const controller = new AbortController();
    const call = next.fetch(url('/usdc'), { signal: controller.signal });
    await until('it was sent again', () =>
      sandbox.controls.node.calls({ method: 'sendTransaction' }) > sent ? true : undefined,
    );
    controller.abort('enough');
    await expect(call).rejects.toBe('enough');
    expect(await paidOf(next)).toBe('0');
    sandbox.controls.node.clearFaults();
    expect((await next.fetch(url('/usdc'))).status).toBe(200);
    expect([swaps(payer), await swappedOf(payer)]).toEqual([1, 1]);
  });

  it('is forgotten by resume() if it landed, and if it can no longer land', async () => {
    for (const how of ['landed', 'dropped'] as const) {
      const { payer, journal, options } = await leftBehind(how);
      sandbox.controls.node.clearFaults();
      if (how === 'dropped') sandbox.controls.node.warp();
      const lamports = how === 'landed' ? expect.stringMatching(/^[1-9]/) : '0';
      const next = payer.again(options);
      const [freed, ...more] = await next.resume();
      expect([freed, more]).toMatchObject([{ state: 'unpaid', cost: { lamports } }, []]);
      expect(freed?.swap?.outAmount).toBe(
        (await next.balance('USDC')).find(({ amount }) => amount !== '0')?.amount,
      );
      // The cost of the swap stays counted.
      const cost = {
        state: 'unpaid',
        swapped: { swaps: 1, lamports: expect.stringMatching(/^[1-9]/) },
      };
      expect(await storedOf(journal, payer)).toMatchObject(how === 'landed' ? [cost] : []);
    }
  });
});

it('is followed by no second swap when its call is aborted and payments land meanwhile', async () => {
  const [abandoned, allLanded, answered] = [gate(), gate(), gate()];
  const { locks, ...others } = createCoordination();
  let swapLocks = 0;
  const hold: typeof locks.hold = (names, work, signals) =>
    locks.hold(
      names,
      async () => {
        if (names.some((name) => name.startsWith('swap '))) swapLocks += 1;
        // The next call looks for swaps of others after the aborted call has left its own.
        if (swapLocks === 2) await abandoned.opened;
        return work();
      },
      signals,
    );
  const shared = { ...others, locks: { hold } };
  const inner = withCoordination(memoryJournal(), shared);
  const journal: Journal = {
    ...inner,
    coordination: () => shared,
    put: async (attempt, along) => {
      await inner.put(attempt, along);
      if (attempt.state === 'abandoned') abandoned.open();
    },
  };
  let sends = 0;
  const node = await sellerOfTest((request, response) => {
    void (async () => {
      const body = await text(request);
      if (body.includes('"sendTransaction"')) {
        sends += 1;
        await (sends === 1 ? abandoned : allLanded).opened;
      }
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(sandbox.rpcUrl, { method: 'POST', headers, body });
      response.writeHead(reply.status, headers).end(await reply.text());
      // The sandbox may end before a request for which the client no longer waits.
    })().catch(() => response.destroy());
  });
  let landings = 0;
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    void settle(sandbox, request).then(async (settlement) => {
      if (request.url !== '/next') {
        landings += 1;
        if (landings === 3) allLanded.open();
        await answered.opened;
      }
      answer(response, 200, { ok: true }, settlementHeader({ ...settlement }));
    });
  });
  const options = { autoSwap: true, swapFrom: ['USDT'], rpcUrl: node.url, journal };
  const payer = await payerOn(sandbox, { SOL: '0.5', USDT: '5' }, options);
  await payer.client.warm();
  const leader = new AbortController();
  const later: Promise<Response>[] = [];
  payer.client.on('swap.signed', () => {
    if (later.length > 0) return;
    for (const path of ['/1', '/2', '/3']) later.push(payer.client.fetch(seller.url + path));
  });
  let checks = 0;
  const next = new Promise<Response>((resolve) => {
    payer.client.on('balance.checked', () => {
      checks += 1;
      // The next call waits for the swap of the first.
      if (checks === 1) resolve(payer.client.fetch(`${seller.url}/next`));
      // The later calls wait for the swap's lock of the mint by then, so they hold tokens first.
      if (checks < 5) return;
      setImmediate(() => leader.abort());
    });
  });
  const first = payer.client.fetch(`${seller.url}/first`, { signal: leader.signal });
  await expect(first).rejects.toThrow();
  expect((await next).status).toBe(200);
  answered.open();
  expect((await Promise.all(later)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect([swaps(payer), await swappedOf(payer)]).toEqual([1, 1]);
});

/** Returns a gate that work can wait at. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
