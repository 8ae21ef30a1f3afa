import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
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
import { failureOf, newBuyer, type Buyer } from '../helpers/fetch-buyer.js';
import { holdsPayment, paymentOf, recording, type Seen } from '../helpers/fetch-record.js';
import { startSeller, type SellerOptions } from '../helpers/fetch-seller.js';
import { PRICE, type Recorder } from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';
import { selfSigned } from '../helpers/self-signed.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });
let buyer: Buyer;
/**
 * Takes every name for the loopback and every certificate for good: what a resolver and an
 * authority do elsewhere.
 */
let world: { dispatcher: unknown; destroy(): Promise<void> };

beforeAll(async () => {
  world = everywhereIsHere();
});

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
});

afterAll(async () => {
  await world.destroy();
});

/** The runtime's own agent: it exports none, but the global one has its class. */
function everywhereIsHere(): typeof world {
  const global: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
  const Agent = (global as object).constructor as new (options: object) => {
    destroy(): Promise<void>;
  };
  const lookup = (
    _host: string,
    options: { all?: boolean },
    done: (...results: unknown[]) => void,
  ): void => {
    if (options.all === true) done(null, [{ address: '127.0.0.1', family: 4 }]);
    else done(null, '127.0.0.1', 4);
  };
  const agent = new Agent({ connect: { lookup, rejectUnauthorized: false } });
  return { dispatcher: agent, destroy: () => agent.destroy() };
}

function portOf(url: string): string {
  return new URL(url).port;
}

async function seller(options: SellerOptions = {}): Promise<Recorder> {
  const started = await startSeller(sandbox, options);
  onTestFinished(() => started.close());
  return started;
}

/** The same handler behind TLS: what comes in is passed on to a seller, with its record. */
async function secure(options: SellerOptions = {}): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const plain = await seller(options);
  const listener = recording(seen, (request, response, body) => {
    const headers = Object.entries(request.headers).filter(
      ([name]) => !['host', 'connection', 'content-length'].includes(name),
    );
    fetch(plain.url + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: headers.map(([name, value]) => [name, String(value)] as [string, string]),
      redirect: 'manual',
      ...(body.length === 0 ? {} : { body: body.toString() }),
    }).then(
      async (answer) => {
        const kept = [...answer.headers].filter(
          ([name]) => !['connection', 'keep-alive', 'transfer-encoding'].includes(name),
        );
        response
          .writeHead(answer.status, Object.fromEntries(kept))
          .end(Buffer.from(await answer.arrayBuffer()));
      },
      () => response.destroy(),
    );
  });
  const server = createServer(selfSigned(), listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `https://seller.test:${(server.address() as AddressInfo).port}`, seen };
}

const call = (url: string, init: RequestInit = {}): Promise<Response> =>
  buyer.client.fetch(url, { ...init, dispatcher: world.dispatcher } as RequestInit);

describe('a seller that is not on this machine', () => {
  it('is paid over https', async () => {
    const { url, seen } = await secure();
    const response = await call(`${url}/a`);
    expect([response.status, await response.text(), await buyer.spent()]).toEqual([
      200,
      'served',
      PRICE,
    ]);
    expect(receiptOf(response)?.url).toBe(`${url}/a`);
    expect(seen.map((one) => paymentOf(one) !== undefined)).toEqual([false, true]);
  });

  it.each(['seller.test', '127.0.0.1.seller.test', 'localhost.seller.test'])(
    'is refused over http: %s',
    async (host) => {
      const { url, seen } = await seller();
      const origin = `http://${host}:${portOf(url)}`;
      const error = await failureOf(call(`${origin}/a`));
      if (!isExactChangeError(error, 'insecure_origin')) throw error;
      expect([error.funds, error.details.origin, error.response?.status]).toEqual([
        'untouched',
        origin,
        402,
      ]);
      expect(seen.map(paymentOf)).toEqual([undefined]);
      expect(await buyer.spent()).toBe(0n);
    },
  );
});

describe('a way down from https to http', () => {
  let below: Recorder;

  beforeEach(async () => {
    below = await seller();
  });

  afterEach(() => expect(below.seen.filter(holdsPayment)).toEqual([]));

  it.each([301, 302, 303, 307, 308])(
    '%d before the payment: what asks at its end is refused',
    async (status) => {
      const location = `http://seller.test:${portOf(below.url)}/there`;
      const { url, seen } = await secure({
        refuse: (_request, response) => response.writeHead(status, { location }).end(),
      });
      const error = await failureOf(call(url));
      if (!isExactChangeError(error, 'insecure_origin')) throw error;
      expect([error.funds, await buyer.spent()]).toEqual(['untouched', 0n]);
      expect([seen.some(holdsPayment), below.seen.length]).toEqual([false, 1]);
    },
  );

  it.each([301, 302, 303, 307, 308])(
    '%d after the payment: it is returned, and not followed',
    async (status) => {
      const location = `http://seller.test:${portOf(below.url)}/there`;
      const { url } = await secure({
        serve: (_request, response) => response.writeHead(status, { location }).end(),
      });
      const response = await call(url, { method: 'POST', body: 'secret' });
      expect([response.status, response.headers.get('location'), await buyer.spent()]).toEqual([
        status,
        location,
        PRICE,
      ]);
      expect(below.seen).toEqual([]);
    },
  );

  it('another port or another name over https is another origin, and gets no payment of the first', async () => {
    const other = await secure();
    const { url, seen } = await secure({
      serve: (_request, response) => response.writeHead(307, { location: other.url }).end(),
    });
    const response = await call(url, { headers: { authorization: 'Bearer x' } });
    expect([response.status, other.seen.length, await buyer.spent()]).toEqual([307, 0, PRICE]);
    expect(seen.map(({ headers }) => headers['authorization'])).toEqual(['Bearer x', 'Bearer x']);
  });
});
