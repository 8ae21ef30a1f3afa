import { isExactChangeError, receiptOf } from 'exact-change';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from 'vitest';
import { failureOf, newBuyer, nextEvent, type Buyer } from '../helpers/fetch-buyer.js';
import { expectSame, outcomeOf } from '../helpers/fetch-compare.js';
import { holdsPayment, paymentOf } from '../helpers/fetch-record.js';
import { startSeller, type SellerOptions } from '../helpers/fetch-seller.js';
import {
  PRICE,
  startRecorder,
  startTwins,
  type Recorder,
  type Twins,
} from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';

const STATUSES = [301, 302, 303, 307, 308];

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });
let twins: Twins;
/** A third origin that must never see a payment. */
let stranger: Recorder;
let buyer: Buyer;

beforeAll(async () => {
  stranger = await startRecorder((_request, response) => void response.end('a stranger'));
  twins = await startTwins(sandbox, (request, response) => {
    const [, , status, where] = /^\/(paid|free)\/([0-9]+)\/(.+)$/.exec(request.path) ?? [];
    const target =
      where === 'stranger'
        ? `${stranger.url}/there`
        : where === 'twice'
          ? '/free/302/once'
          : '/paid/there?q=1#part';
    if (status === undefined) response.send(`${request.method} ${request.path}`);
    else response.status(Number(status)).set('location', target).end('moved');
  });
});

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
  stranger.seen.splice(0);
});

afterEach(() => expect(stranger.seen.filter(holdsPayment)).toEqual([]));

afterAll(async () => {
  await Promise.all([twins.close(), stranger.close()]);
});

async function seller(options: SellerOptions): Promise<Recorder> {
  const started = await startSeller(sandbox, options);
  onTestFinished(() => started.close());
  return started;
}

describe('a redirect before the payment', () => {
  it.each(STATUSES)('is followed to a paid URL of the same origin: %d', async (status) => {
    const { receipt, outcome } = await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/free/${status}/once`, { headers: { authorization: 'Bearer x' } }),
    );
    expect([outcome.path, outcome.redirected]).toEqual(['/paid/there?q=1', true]);
    expect(receipt.url).toBe(`${twins.paid.url}/paid/there?q=1`);
    // Only the URL that answered 402 receives a payment.
    expect(twins.paid.seen.map((seen) => [seen.path, paymentOf(seen) !== undefined])).toEqual([
      [`/free/${status}/once`, false],
      ['/paid/there?q=1', false],
      ['/paid/there?q=1', true],
    ]);
  });

  it('is followed if a fetch freezes its responses', async () => {
    const frozen = async (...request: Parameters<typeof fetch>) =>
      Object.freeze(await fetch(...request));
    const { client } = await newBuyer(sandbox, { fetch: frozen });
    const response = await client.fetch(`${twins.paid.url}/free/302/once`);
    expect([response.status, await response.text()]).toEqual([200, 'GET /paid/there']);
    expect(receiptOf(response)?.payment.amount).toBe(PRICE.toString());
  });

  it('is followed through a second redirect', async () => {
    const { outcome } = await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/free/301/twice`),
    );
    expect(outcome.path).toBe('/paid/there?q=1');
  });

  it('is followed for a HEAD request', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/free/307/once`, { method: 'HEAD' }),
    ));

  it.each(STATUSES)(
    'is followed to another origin, which is paid and sees no credentials: %d',
    async (status) => {
      const door = await startRecorder((_request, response) => {
        response.writeHead(status, { location: `${twins.paid.url}/paid/there` }).end();
      });
      onTestFinished(() => door.close());
      const freeDoor = await startRecorder((_request, response) => {
        response.writeHead(status, { location: `${twins.free.url}/paid/there` }).end();
      });
      onTestFinished(() => freeDoor.close());
      const headers = {
        authorization: 'Bearer x',
        cookie: 'a=b',
        'proxy-authorization': 'Basic x',
        'x-kept': '1',
      };
      // Outside a page, `type` only says that a redirect left the first origin, and the paid
      // request has no redirect.
      await expectSame(
        twins,
        buyer,
        (fetch, origin) => fetch(origin === twins.paid.url ? door.url : freeDoor.url, { headers }),
        {
          apart: ['type'],
        },
      );
      expect(door.seen.some(holdsPayment)).toBe(false);
      expect(
        twins.paid.seen.map(({ headers: { authorization, cookie, 'x-kept': kept } }) => [
          authorization,
          cookie,
          kept,
        ]),
      ).toEqual([
        [undefined, undefined, '1'],
        [undefined, undefined, '1'],
      ]);
    },
  );

  it.each(STATUSES)(
    'of a POST is refused at its 402, because the paid request is unclear: %d',
    async (status) => {
      const error = await failureOf(
        buyer.client.fetch(`${twins.paid.url}/free/${status}/once`, { method: 'POST', body: 'x' }),
      );
      if (!isExactChangeError(error, 'unsupported_offer')) throw error;
      expect([error.funds, error.moved, error.response?.status]).toEqual(['untouched', [], 402]);
      expect(error.details.reason).toBe('redirected with a body');
      expect(twins.paid.seen.slice(-1).some(holdsPayment)).toBe(false);
      expect(await buyer.spent()).toBe(0n);
    },
  );

  it('gives the answer of plain fetch when it leads to a free URL', async () => {
    const url = `${twins.paid.url}/free/302/stranger`;
    const plain = await outcomeOf(await fetch(url, { method: 'POST', body: 'x' }));
    const response = await buyer.client.fetch(url, { method: 'POST', body: 'x' });
    expect(receiptOf(response)).toBeUndefined();
    expect(await outcomeOf(response)).toEqual(plain);
    expect(stranger.seen.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  it("is returned with redirect: 'manual', and nothing is paid", async () => {
    const url = `${twins.paid.url}/free/302/once`;
    const plain = await outcomeOf(await fetch(url, { redirect: 'manual' }));
    const response = await buyer.client.fetch(url, { redirect: 'manual' });
    expect([response.status, response.headers.get('location'), receiptOf(response)]).toEqual([
      302,
      '/paid/there?q=1#part',
      undefined,
    ]);
    expect(await outcomeOf(response)).toEqual(plain);
    expect(await buyer.spent()).toBe(0n);
  });

  it("rejects with the error of plain fetch with redirect: 'error'", async () => {
    const url = `${twins.paid.url}/free/302/once`;
    const plain = (await failureOf(fetch(url, { redirect: 'error' }))) as TypeError;
    const error = (await failureOf(buyer.client.fetch(url, { redirect: 'error' }))) as TypeError;
    expect([error.name, error.message, String(error.cause)]).toEqual([
      plain.name,
      plain.message,
      String(plain.cause),
    ]);
    expect(await buyer.spent()).toBe(0n);
  });

  it('rejects with the error of plain fetch when it never ends', async () => {
    const loop = await startRecorder((_request, response) =>
      response.writeHead(302, { location: '/' }).end(),
    );
    onTestFinished(() => loop.close());
    const plain = (await failureOf(fetch(loop.url))) as TypeError;
    const error = (await failureOf(buyer.client.fetch(loop.url))) as TypeError;
    expect([error.name, error.message, String(error.cause)]).toEqual([
      plain.name,
      plain.message,
      String(plain.cause),
    ]);
  });

  it.each(['manual', 'error', 'follow'] as const)(
    'changes nothing when there is none: redirect %s',
    async (redirect) => {
      await expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a`, { redirect }));
    },
  );
});

describe('a redirect as the answer to the paid request', () => {
  const ways: [number, 'once' | 'stranger', RequestRedirect][] = STATUSES.flatMap((status) => [
    [status, 'once', 'follow'] as [number, 'once', RequestRedirect],
    [status, 'stranger', 'follow'] as [number, 'stranger', RequestRedirect],
  ]);

  it.each([...ways, [303, 'stranger', 'manual'] as const, [303, 'stranger', 'error'] as const])(
    'is returned with its receipt and not followed: %d to %s (redirect: %s)',
    async (status, where, redirect) => {
      twins.forget();
      const settled = nextEvent(buyer.client, 'payment.settled');
      const plain = await outcomeOf(
        await fetch(`${twins.free.url}/paid/${status}/${where}`, { redirect: 'manual' }),
      );
      const response = await buyer.client.fetch(`${twins.paid.url}/paid/${status}/${where}`, {
        redirect,
      });
      expect(response.headers.get('location')).toBe(
        where === 'stranger' ? `${stranger.url}/there` : '/paid/there?q=1#part',
      );
      expect(await outcomeOf(response)).toEqual(plain);
      expect((await settled).receipt).toEqual(receiptOf(response));
      expect([receiptOf(response)?.state, await buyer.spent()]).toEqual(['settled', PRICE]);
      expect(twins.paid.seen).toHaveLength(2);
      expect(stranger.seen).toEqual([]);
    },
  );

  it.each(STATUSES)('is returned for a POST and not followed: %d', async (status) => {
    const response = await buyer.client.fetch(`${twins.paid.url}/paid/${status}/stranger`, {
      method: 'POST',
      body: 'secret',
    });
    expect([response.status, receiptOf(response)?.method, await buyer.spent()]).toEqual([
      status,
      'POST',
      PRICE,
    ]);
    expect(stranger.seen).toEqual([]);
  });

  it('is returned with an uncertain receipt when the seller settles nothing', async () => {
    const { url, seen } = await seller({
      settles: false,
      serve: (_request, response) => response.writeHead(307, { location: stranger.url }).end(),
    });
    const response = await buyer.client.fetch(url);
    expect([response.status, receiptOf(response)?.state]).toEqual([307, 'uncertain']);
    expect([seen.length, stranger.seen.length, await buyer.spent()]).toEqual([2, 0, 0n]);
  });

  it('can be followed by the caller, without a payment header', async () => {
    const response = await buyer.client.fetch(`${twins.paid.url}/paid/303/stranger`);
    const next = await buyer.client.fetch(response.headers.get('location') ?? '');
    expect(await next.text()).toBe('a stranger');
    expect(stranger.seen.map(holdsPayment)).toEqual([false]);
  });
});

describe('a redirect as the answer to a call with a header of client.pay()', () => {
  const names = ['PAYMENT-SIGNATURE', 'X-PAYMENT'];

  it.each(STATUSES.flatMap((status) => names.map((name) => [status, name] as const)))(
    'is returned and not followed, so no other origin sees the header: %d, %s',
    async (status, name) => {
      const { header } = await buyer.client.pay(await fetch(`${twins.paid.url}/paid/here`));
      twins.forget();
      const response = await buyer.client.fetch(`${twins.free.url}/free/${status}/stranger`, {
        headers: { [name]: header.value },
      });
      expect([response.status, response.headers.get('location')]).toEqual([
        status,
        `${stranger.url}/there`,
      ]);
      expect(twins.free.seen.map(holdsPayment)).toEqual([true]);
      expect(stranger.seen).toEqual([]);
    },
  );
});
