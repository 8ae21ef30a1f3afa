import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  isExactChangeError,
  receiptOf,
  type ClientOptions,
  type MessageSigner,
} from 'exact-change';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { landed, signaturesOf, tokenAccount, until } from '../helpers/chain.js';
import { failureOf, payerOf, payerOn, recordingSigner, type Payer } from '../helpers/payer.js';
import { loadPayingAhead } from '../helpers/paying-ahead.js';
import { useSandbox } from '../helpers/sandbox.js';
import { isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, paymentHeader, settle, settlementHeader } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

beforeAll(() => loadPayingAhead(sandbox));

type Json = Record<string, unknown>;
/** A seller's handling of one request with a payment. */
type Sale = (request: IncomingMessage, response: ServerResponse) => unknown;

const terms = (change: Json = {}) => envelopeV2([offerOf(sandbox, change)]);
const ask =
  (change: Json = {}, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse) => {
    const text = Buffer.from(JSON.stringify(terms(change))).toString('base64');
    answer(response, 402, {}, { 'payment-required': text, ...headers });
  };
const serve: Sale = async (request, response) => {
  const settled = await settle(sandbox, request);
  answer(response, 200, { ok: true }, settlementHeader({ ...settled }));
};
const refuse =
  (change: Json): Sale =>
  (_, response) =>
    ask(change)(response);

/** Handles each paid request by the next sale, then by the last; asks for payment before. */
async function selling(sales: readonly Sale[], asking = ask()): Promise<Seller> {
  let sold = 0;
  return sellerOfTest((request, response) => {
    if (!isPaid(request)) return void asking(response);
    const sale = sales[Math.min(sold, sales.length - 1)];
    sold += 1;
    void sale?.(request, response);
  });
}

/** Returns a payer that pays ahead at a seller, after a first call that asked for terms. */
async function knownTo(
  seller: Seller,
  options: ClientOptions = {},
  init: RequestInit = {},
): Promise<Payer> {
  const payer = await payerOn(sandbox, { USDC: '1' }, { presign: [seller.url], ...options });
  const first = await payer.client.fetch(seller.url, init);
  expect([first.status, await first.json()]).toEqual([200, { ok: true }]);
  await until('the first call is settled', () =>
    receiptOf(first)?.state === 'settled' ? true : undefined,
  );
  return payer;
}

const signedBy = ({ signed }: Payer) => signed.filter(({ kind }) => kind === 'payment').length;
const shown = ({ seen }: Seller) => seen.map((request) => (isPaid(request) ? 'paid' : 'unpaid'));
const usedOf = async ({ client }: Payer) => (await client.spent())[0]?.used;

/** Returns the payments of the wallet that the chain shows: base units, oldest first. */
async function paidBy({ address }: Payer): Promise<bigint[]> {
  const account = await tokenAccount(address, sandbox.mints.USDC);
  const found = await Promise.all(
    (await signaturesOf(sandbox.rpcUrl, account)).map((signature) =>
      landed(sandbox.rpcUrl, signature),
    ),
  );
  return found
    .flatMap(({ error, tokens }) =>
      error === null
        ? tokens.filter((entry) => entry.account === account && entry.change < 0n)
        : [],
    )
    .map(({ change }) => -change)
    .reverse();
}

describe('a call with terms that an earlier call brought', () => {
  it.each<[string, RequestInit]>([
    ['GET', {}],
    ['POST', { method: 'POST', body: 'same' }],
  ])('is paid with its first request: %s', async (_, init) => {
    const seller = await selling([serve]);
    const payer = await knownTo(seller, {}, init);
    for (const _call of [1, 2]) {
      const response = await payer.client.fetch(`${seller.url}/?q=${_call}`, init);
      expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
      expect(receiptOf(response)).toMatchObject({ payment: { amount: '10000' } });
    }
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'paid', 'paid']);
    expect(new Set(seller.paid.map(paymentHeader)).size).toBe(3);
    await until('all are settled', async () =>
      (await paidBy(payer)).length === 3 ? true : undefined,
    );
  });

  it.each(['payment.chosen', 'payment.signed', 'payment.sent', 'payment.answered'] as const)(
    'is bought once if its caller aborts at %s and calls again at once',
    async (type) => {
      const seller = await selling([serve]);
      const payer = await knownTo(seller);
      const controller = new AbortController();
      const read = (init?: RequestInit) =>
        payer.client.fetch(seller.url, init).then(
          (response) => response.text().catch(() => 'lost'),
          (error: unknown) => (isExactChangeError(error) ? error.code : 'given up'),
        );
      const again = new Promise<string>((resolve) => {
        const off = payer.client.on(type, () => {
          off();
          controller.abort('had enough');
          resolve(read());
        });
      });
      expect(['given up', 'lost']).toContain(await read({ signal: controller.signal }));
      expect(['{"ok":true}', 'already_spent']).toContain(await again);
      expect(signedBy(payer)).toBe(2);
    },
  );

  it('is paid at a changed price once the first payment cannot land', async () => {
    const seller = await selling([serve, refuse({ amount: '12000' }), serve]);
    const payer = await knownTo(seller);
    const calling = payer.client.fetch(seller.url);
    await until('the seller has refused', () => (seller.paid.length === 2 ? true : undefined));
    expect(signedBy(payer)).toBe(2);
    sandbox.controls.node.warp();
    const response = await calling;
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'paid', 'paid']);
    await until('the new price is settled', async () =>
      (await paidBy(payer)).length === 2 ? true : undefined,
    );
    expect(await paidBy(payer)).toEqual([10_000n, 12_000n]);
    await until('the hold of the refused payment is freed', async () =>
      (await usedOf(payer)) === '0.022' ? true : undefined,
    );
  });

  it('is paid once if the seller settles and then asks for more', async () => {
    const lie: Sale = async (request, response) => {
      await settle(sandbox, request);
      ask({ amount: '12000' })(response);
    };
    const seller = await selling([serve, lie, serve]);
    const payer = await knownTo(seller);
    for (const _ of [1, 2]) {
      const error = await failureOf(payer.client.fetch(seller.url), 'already_spent');
      expect(error).toMatchObject({ funds: 'spent', moved: [{ kind: 'payment' }] });
    }
    expect(signedBy(payer)).toBe(2);
    expect(await paidBy(payer)).toEqual([10_000n, 10_000n]);
  });

  it('is not paid a second time while the fate of the first payment is unknown', async () => {
    const seller = await selling([serve, refuse({ amount: '12000' }), serve]);
    const payer = await knownTo(seller, { timeouts: { payment: 6_000 } });
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject({ funds: 'uncertain', retry: 'same' });
    expect([signedBy(payer), seller.paid.length]).toEqual([2, 2]);
  });

  it('costs nothing when it is free by now, and the next call asks first', async () => {
    const seller = await selling([serve, (_, response) => answer(response, 200, { free: true })]);
    const payer = await knownTo(seller);
    const response = await payer.client.fetch(seller.url);
    expect([response.status, await response.json()]).toEqual([200, { free: true }]);
    sandbox.controls.node.warp();
    await until('it is given back', async () =>
      (await usedOf(payer)) === '0.01' ? true : undefined,
    );
    expect(await paidBy(payer)).toEqual([10_000n]);
    await payer.client.fetch(seller.url);
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'paid', 'unpaid', 'paid']);
  });

  it('is not paid anew by the next call if its answer was lost', async () => {
    const seller = await selling([serve, (request) => request.socket.destroy(), serve]);
    const payer = await knownTo(seller);
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    const again = await payer.client.fetch(seller.url);
    expect([again.status, await again.json()]).toEqual([200, { ok: true }]);
    expect(signedBy(payer)).toBe(2);
    await until('both are settled', async () =>
      (await paidBy(payer)).length === 2 ? true : undefined,
    );
  });

  it('shows a new redirect to its caller, and its target only a payment of its own', async () => {
    const target = await selling([serve]);
    let hasMoved = false;
    const move: Sale = (_, response) => response.writeHead(307, { location: target.url }).end();
    const seller = await sellerOfTest((request, response) => {
      if (hasMoved) move(request, response);
      else if (isPaid(request)) void serve(request, response);
      else ask()(response);
    });
    const payer = await knownTo(seller);
    hasMoved = true;
    for (const _ of [1, 2]) {
      const response = await payer.client.fetch(seller.url);
      expect([response.status, response.headers.get('location')]).toEqual([307, target.url]);
      expect(receiptOf(response)?.state).toBe('uncertain');
    }
    expect([signedBy(payer), shown(target)]).toEqual([2, ['unpaid']]);
    sandbox.controls.node.warp();
    const bought = await payer.client.fetch(seller.url);
    expect([bought.status, bought.redirected, bought.url]).toEqual([200, true, `${target.url}/`]);
    expect([shown(seller), shown(target)]).toEqual([
      ['unpaid', 'paid', 'paid', 'unpaid', 'paid', 'unpaid'],
      ['unpaid', 'unpaid', 'paid'],
    ]);
    const [first, ahead, again] = seller.paid.map(paymentHeader);
    expect([again, new Set([first, ahead, ...target.paid.map(paymentHeader)]).size]).toEqual([
      ahead,
      3,
    ]);
    await until('two are settled', async () =>
      (await paidBy(payer)).length === 2 ? true : undefined,
    );
  });

  it('is paid once for two callers with one key', async () => {
    const seller = await selling([serve]);
    const payer = await knownTo(seller);
    const call = () => payer.client.fetch(seller.url, { idempotencyKey: 'one' });
    const outcomes = await Promise.allSettled([call(), call()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect([signedBy(payer), seller.paid.length]).toEqual([2, 2]);
  });
});

describe('a body that its caller aborts while it is read to be paid ahead', () => {
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  type Chunks = AsyncGenerator<Uint8Array, undefined>;
  /** Yields chunks for ever, and calls back before each, and once it is given up. */
  async function* endless(before: () => void, givenUp: () => void): Chunks {
    try {
      for (;;) {
        before();
        await nextTurn();
        yield new Uint8Array(100);
      }
    } finally {
      givenUp();
    }
  }
  const streamOf = (source: Chunks) =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { value } = await source.next();
        if (value !== undefined) controller.enqueue(value);
      },
      cancel: async () => void (await source.return(undefined)),
    });
  type Make = (url: string, source: Chunks) => [string | Request, object?];
  // The DOM's types have neither `duplex` nor a body that is an iterable.
  const streaming = (body: unknown): object => ({ method: 'POST', body, duplex: 'half' });

  it.each<[string, Make]>([
    ['a stream', (url, source) => [url, streaming(streamOf(source))]],
    ['an iterable', (url, source) => [url, streaming(source)]],
    ['a Request', (url, source) => [new Request(url, streaming(streamOf(source)))]],
  ])('is cancelled as plain fetch cancels it: %s', async (_, make) => {
    const seller = await selling([serve]);
    const { client } = await knownTo(seller, {}, { method: 'POST', body: 'x' });
    const controller = new AbortController();
    let chunks = 0;
    let isGivenUp = false;
    const source = endless(
      () => (chunks += 1) === 3 && controller.abort('enough'),
      () => (isGivenUp = true),
    );
    const [input, init] = make(seller.url, source);
    const calling = client.fetch(input, { ...init, signal: controller.signal });
    await expect(calling).rejects.toBe('enough');
    await until('its source is cancelled', () => isGivenUp || undefined, 5_000);
    expect(shown(seller)).toEqual(['unpaid', 'paid']);
  });
});

describe('a Request with a fragment', () => {
  const copied = (answer: Response) => new Response(answer.body, answer);
  it.each<[string, ClientOptions, (answer: Response) => Response, string[]]>([
    ['is paid ahead', {}, (answer) => answer, ['paid']],
    ['has an answer without an address', { presign: false }, copied, ['unpaid', 'paid']],
  ])('goes out itself, as a runtime keeps more in it: %s', async (_, options, change, second) => {
    const seller = await selling([serve]);
    let last: unknown;
    const spy: typeof fetch = async (input, init) => {
      last = input;
      const answer = await fetch(input, init);
      return answer.status === 402 ? change(answer) : answer;
    };
    const { client } = await knownTo(seller, { ...options, fetch: spy });
    const request = new Request(`${seller.url}/#part`);
    expect((await client.fetch(request)).status).toBe(200);
    expect(shown(seller)).toEqual(['unpaid', 'paid', ...second]);
    expect(last).toBe(request);
  });
});

describe('a payment ahead that is refused before its signature', () => {
  it('is not requested again in the same call when approve refuses it', async () => {
    const seller = await selling([serve]);
    let asked = 0;
    const approve = () => (asked += 1) === 1;
    const payer = await knownTo(seller, { policy: { maxPerDay: '1', approve } });
    await failureOf(payer.client.fetch(seller.url), 'approval_refused');
    expect([asked, shown(seller)]).toEqual([2, ['unpaid', 'paid']]);
  });

  it('is not requested again in the same call when the wallet refuses it', async () => {
    const seller = await selling([serve]);
    const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
    const { signer } = recordingSigner(address, secretKey);
    let asked = 0;
    const signMessage: MessageSigner['signMessage'] = (...args) =>
      (asked += 1) === 1 ? signer.signMessage(...args) : Promise.reject(new Error('no'));
    const options = { presign: [seller.url], signer: { address, signMessage } };
    const { client } = payerOf(sandbox, { address, secretKey }, options);
    expect((await client.fetch(seller.url)).status).toBe(200);
    await failureOf(client.fetch(seller.url), 'signing_failed');
    expect([asked, shown(seller)]).toEqual([2, ['unpaid', 'paid']]);
  });
});

describe('a call with presign', () => {
  it.each<[string, ClientOptions]>([
    ['another address is named', { presign: ['http://127.0.0.1:1', 'https://api.example.com'] }],
    ['no address is named', { presign: [] }],
    ['the option is off', { presign: false }],
    ['the seller does not say how long its terms hold', { presign: true }],
  ])('asks for terms first when %s', async (_, options) => {
    const seller = await selling([serve]);
    const payer = await knownTo(seller, options);
    await payer.client.fetch(seller.url);
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'unpaid', 'paid']);
  });

  it.each<[string, Readonly<Record<string, string>>, RequestInit, 'ahead' | 'asked']>([
    ['how long its terms hold', { 'cache-control': 'private, max-age=60' }, {}, 'ahead'],
    ['how long, to a cache', { 'cache-control': 'max-age=60', age: '10' }, {}, 'ahead'],
    ['how long, to a slow cache', { 'cache-control': 'max-age=60', age: '60' }, {}, 'asked'],
    ['that they hold no longer', { 'cache-control': 'max-age=0' }, {}, 'asked'],
    ['not to keep them', { 'cache-control': 'no-store, max-age=60' }, {}, 'asked'],
    ['how long, of a POST', { 'cache-control': 'max-age=60' }, { method: 'POST' }, 'asked'],
  ])('pays ahead or asks first, as its seller says %s', async (_, headers, init, how) => {
    const seller = await selling([serve], ask({}, headers));
    const payer = await knownTo(seller, { presign: true }, init);
    await payer.client.fetch(seller.url, init);
    const second = how === 'ahead' ? ['paid'] : ['unpaid', 'paid'];
    expect(shown(seller)).toEqual(['unpaid', 'paid', ...second]);
  });

  it('asks for terms first when its terms ended while approve was awaited', async () => {
    const seller = await selling([serve], ask({}, { 'cache-control': 'max-age=60' }));
    const { now } = Date;
    onTestFinished(() => void (Date.now = now));
    const approve = () => {
      Date.now = () => now() + 61_000;
      return true;
    };
    const payer = await knownTo(seller, { presign: true, policy: { approve } });
    await payer.client.fetch(seller.url);
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'unpaid', 'paid']);
  });

  it('asks for terms first when its terms were made for one call', async () => {
    const offer = { extra: { feePayer: sandbox.feePayer, memo: 'invoice 7' } };
    const seller = await selling([serve], ask(offer));
    const payer = await knownTo(seller);
    await payer.client.fetch(seller.url);
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'unpaid', 'paid']);
  });

  it('asks for terms first when a cap has no room, and reports that cap', async () => {
    const seller = await selling([serve]);
    const payer = await knownTo(seller, { policy: { maxPerDay: '0.015' } });
    await failureOf(payer.client.fetch(seller.url), 'budget_exhausted');
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'unpaid']);
    expect(signedBy(payer)).toBe(1);
  });

  it('asks for terms first when its body cannot be sent twice', async () => {
    const seller = await selling([serve]);
    const init = { method: 'POST', body: 'same' };
    const payer = await knownTo(seller, {}, init);
    const body = 'x'.repeat(1024 * 1024 + 1);
    await failureOf(payer.client.fetch(seller.url, { ...init, body }), 'body_not_replayable');
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'unpaid']);
  });

  it('asks for terms first when the wallet holds too little, and swaps after that', async () => {
    const seller = await selling([serve]);
    const payer = await payerOn(
      sandbox,
      { SOL: '0.2', USDC: '0.015' },
      { presign: [seller.url], autoSwap: true },
    );
    for (const _ of [1, 2]) expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect(shown(seller)).toEqual(['unpaid', 'paid', 'unpaid', 'paid']);
  });

  it('asks for terms first when another call takes the tokens of the wallet', async () => {
    const seller = await selling([serve]);
    const payer = await payerOn(
      sandbox,
      { SOL: '0.2', USDC: '0.025' },
      { presign: [seller.url], autoSwap: true },
    );
    const call = async () => (await payer.client.fetch(seller.url)).status;
    expect(await call()).toBe(200);
    expect(await Promise.all([call(), call()])).toEqual([200, 200]);
    expect(shown(seller).slice(2).sort()).toEqual(['paid', 'paid', 'unpaid']);
    expect(payer.signed.filter(({ kind }) => kind === 'swap')).toHaveLength(1);
  });
});
