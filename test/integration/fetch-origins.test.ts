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
/** A dispatcher that resolves every name to the loopback and accepts every certificate. */
let world: { dispatcher: unknown; destroy(): Promise<void> };

beforeAll(async () => {
  world = loopbackDispatcher();
});

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
});

afterAll(async () => {
  await world.destroy();
});

/** Makes an agent by the class of the global one, because the runtime exports no class. */
function loopbackDispatcher(): typeof world {
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

/** A TLS server that passes each request to a seller and records it. */
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

describe('a seller on another machine', () => {
  it('is paid over https', async () => {
    const { url, seen } = await secure();
    const response = await call(`${url}/a`);
    expect([response.status, await response.text(), await buyer.spent()]).toEqual([
      200,
      'served',
      PRICE,
    ]);
    expect(receiptOf(response)?.url).toBe(`${url}/a`);
    expect(seen.map((request) => paymentOf(request) !== undefined)).toEqual([false, true]);
  });

  // 0.0.0.0 reaches this machine, but it is no loopback address.
  it.each(['seller.test', '127.0.0.1.seller.test', 'localhost.seller.test', '0.0.0.0'])(
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

describe('a redirect from https to http', () => {
  let below: Recorder;

  beforeEach(async () => {
    below = await seller();
  });

  afterEach(() => expect(below.seen.filter(holdsPayment)).toEqual([]));

  it.each([301, 302, 303, 307, 308])(
    'is followed before the payment, and the 402 at its end is refused: %d',
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
    'is returned and not followed after the payment: %d',
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

  it('is not followed with a payment to another https origin either', async () => {
    const other = await secure();
    const { url, seen } = await secure({
      serve: (_request, response) => response.writeHead(307, { location: other.url }).end(),
    });
    const response = await call(url, { headers: { authorization: 'Bearer x' } });
    expect([response.status, other.seen.length, await buyer.spent()]).toEqual([307, 0, PRICE]);
    expect(seen.map(({ headers }) => headers['authorization'])).toEqual(['Bearer x', 'Bearer x']);
  });
});
