import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Client } from '../../src/client.js';
import type { ClientOptions } from '../../src/config/options.js';
import { ConfigError } from '../../src/errors.js';
import { Interceptor, type InterceptorOptions } from '../../src/interceptor.js';

type Fetch = typeof globalThis.fetch;

const url = 'http://seller.test/';
const realFetch = globalThis.fetch;

/** Requests that reach the seller: without a payment, and with a payment. */
let unpaid = 0;
let paid = 0;
const seller: Fetch = function (this: unknown, input, init) {
  // Browsers throw unless `this` is the window or undefined.
  if (this !== undefined && this !== globalThis)
    return Promise.reject(new TypeError('Illegal invocation'));
  const pays = new Request(input, init).headers.has('x-payment');
  if (pays) paid += 1;
  else unpaid += 1;
  return Promise.resolve(new Response(null, { status: pays ? 200 : 402 }));
};

beforeEach(() => {
  [unpaid, paid] = [0, 0];
  globalThis.fetch = seller;
});
afterEach(() => {
  globalThis.fetch = realFetch;
});

/** Makes a client that pays every 402 once, through the fetch in its options. */
function createStub(options: ClientOptions): Client {
  const send = options.fetch;
  if (send === undefined) throw new Error('An interceptor has to say what its client sends with.');
  const unused = (): never => {
    throw new Error('not used here');
  };
  return {
    address: '11111111111111111111111111111111',
    fetch: async (input, init) => {
      const first = await send(input, init);
      return first.status === 402 ? send(input, { ...init, headers: { 'x-payment': 'x' } }) : first;
    },
    plan: unused,
    pay: unused,
    swap: unused,
    quote: unused,
    balance: unused,
    parse: unused,
    receipts: unused,
    resume: unused,
    spent: unused,
    on: unused,
    warm: unused,
    close: unused,
  };
}

class Stub extends Interceptor {
  constructor(options: InterceptorOptions = {}, create = createStub) {
    super(options, create);
  }
}

/** Wraps the current global fetch, as other libraries do; `unwrap` puts it back. */
function wrapAsOtherLibrary(): { calls: () => number; unwrap(): void; wrapper: Fetch } {
  const below = globalThis.fetch;
  const wrapper = vi.fn<Fetch>((input, init) => below(input, init));
  globalThis.fetch = wrapper;
  return {
    calls: () => wrapper.mock.calls.length,
    unwrap: () => (globalThis.fetch = below),
    wrapper,
  };
}

async function buy(): Promise<number> {
  [unpaid, paid] = [0, 0];
  return (await fetch(url)).status;
}

describe('an interceptor', () => {
  it('makes the global fetch pay at once, and restores the original function', async () => {
    const interceptor = new Stub();
    expect(await buy()).toBe(200);
    expect([unpaid, paid]).toEqual([1, 1]);
    interceptor.restore();
    expect(globalThis.fetch).toBe(seller);
    expect(await buy()).toBe(402);
    expect([unpaid, paid]).toEqual([1, 0]);
  });

  it('keeps what a runtime adds to its fetch, such as preconnect of Bun', async () => {
    const preconnect = vi.fn();
    globalThis.fetch = Object.assign((...args: Parameters<Fetch>) => seller(...args), {
      preconnect,
    });
    const interceptor = new Stub();
    expect(globalThis.fetch).toHaveProperty('preconnect', preconnect);
    expect(await buy()).toBe(200);
    interceptor.restore();
    expect(await buy()).toBe(402);
  });

  it('leaves the global fetch alone with install false, while its own fetch pays', async () => {
    const interceptor = new Stub({ install: false });
    expect(globalThis.fetch).toBe(seller);
    const { fetch: bare } = interceptor;
    expect((await bare(url)).status).toBe(200);
    expect(await buy()).toBe(402);
    interceptor.install();
    expect(await buy()).toBe(200);
    expect([unpaid, paid]).toEqual([1, 1]);
  });

  it('pays once when installed twice, and one restore removes it', async () => {
    const interceptor = new Stub();
    interceptor.install();
    interceptor.install();
    expect(await buy()).toBe(200);
    expect([unpaid, paid]).toEqual([1, 1]);
    interceptor.restore();
    expect(globalThis.fetch).toBe(seller);
    interceptor.restore();
    expect(globalThis.fetch).toBe(seller);
  });

  it('installs again after restore, over the fetch that is global by then', async () => {
    const interceptor = new Stub();
    interceptor.restore();
    const third = wrapAsOtherLibrary();
    interceptor.install();
    expect(await buy()).toBe(200);
    expect([unpaid, paid, third.calls()]).toEqual([1, 1, 2]);
    interceptor.restore();
    expect(globalThis.fetch).toBe(third.wrapper);
  });

  it('restores at the end of a `using` block, even when the block throws', async () => {
    const work = async () => {
      using interceptor = new Stub();
      expect(globalThis.fetch).not.toBe(seller);
      expect((await interceptor.fetch(url)).status).toBe(200);
      throw new Error('in the block');
    };
    await expect(work()).rejects.toThrow('in the block');
    expect(globalThis.fetch).toBe(seller);
  });

  it('pays through a fetch kept in a variable, and stops after restore', async () => {
    const interceptor = new Stub();
    const kept = globalThis.fetch;
    expect((await kept(url)).status).toBe(200);
    interceptor.restore();
    expect((await kept(url)).status).toBe(402);
  });

  it('installs nothing when the client refuses its options', () => {
    const refusing = () => {
      throw new ConfigError('invalid_option', 'Option network must be right.', {
        details: { option: 'network' },
      });
    };
    expect(() => new Stub({}, refusing)).toThrow(ConfigError);
    expect(globalThis.fetch).toBe(seller);
  });

  it.each([0, 'false', 1])('refuses %j as option install', (install) => {
    // Cast, because a JavaScript caller passes anything.
    const wrong = { install } as unknown as InterceptorOptions;
    expect(() => new Stub(wrong)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option: 'install' } }),
    );
    expect(globalThis.fetch).toBe(seller);
  });

  it.each([[undefined], ['a key'], [null]])(
    'refuses %j as options, and a fetch option that is no function',
    (options) => {
      class Bare extends Interceptor {
        constructor(passed: InterceptorOptions) {
          super(passed, createStub);
        }
      }
      expect(() => new Bare(options as unknown as InterceptorOptions)).toThrow(
        expect.objectContaining({ details: { option: 'options' } }),
      );
      expect(() => new Bare({ fetch: options ?? 5 } as unknown as InterceptorOptions)).toThrow(
        ConfigError,
      );
      expect(globalThis.fetch).toBe(seller);
    },
  );

  it('passes every other option to the client', () => {
    const create = vi.fn(createStub);
    new Stub({ install: false, network: 'solana-devnet', autoSwap: true }, create);
    expect(create).toHaveBeenCalledWith({
      network: 'solana-devnet',
      autoSwap: true,
      fetch: expect.any(Function),
    });
  });
});

describe('a fetch option', () => {
  it('sends the requests instead of the global fetch', async () => {
    const below = vi.fn<Fetch>((input, init) => seller(input, init));
    new Stub({ fetch: below });
    globalThis.fetch = Object.assign(globalThis.fetch, {});
    expect(await buy()).toBe(200);
    expect(below).toHaveBeenCalledTimes(2);
  });

  it('receives no `this`, because browsers refuse any other', async () => {
    const interceptor = new Stub({ fetch: seller, install: false });
    expect((await interceptor.fetch(url)).status).toBe(200);
  });

  it('reaches the original fetch when it calls the global fetch, and pays once', async () => {
    const logged: string[] = [];
    const interceptor = new Stub({
      fetch: (input, init) => {
        if (typeof input === 'string') logged.push(input);
        return fetch(input, init);
      },
    });
    expect(await buy()).toBe(200);
    expect([unpaid, paid, logged]).toEqual([1, 1, [url, url]]);
    // The next call pays too, even after the option threw.
    expect(await buy()).toBe(200);
    interceptor.restore();
    const throwing = new Stub({
      fetch: () => {
        throw new Error('in the way down');
      },
    });
    await expect(buy()).rejects.toThrow('in the way down');
    await expect(buy()).rejects.toThrow('in the way down');
    throwing.restore();
    expect(globalThis.fetch).toBe(seller);
  });
});

it('sends what is asked while 1,200 requests of a fetch option are under way', async () => {
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const interceptor = new Stub({
    fetch: (input, init) =>
      input === url ? seller(input, init) : answered.then(() => new Response(null)),
  });
  const slow = Array.from({ length: 1_200 }, async () => (await fetch(`${url}slow`)).status);
  expect(await buy()).toBe(200);
  answer();
  expect(new Set(await Promise.all(slow))).toEqual(new Set([200]));
  interceptor.restore();
});

describe('a fetch option that calls the global fetch asynchronously', () => {
  const later = () => Promise.resolve();
  const ways: readonly (readonly [string, Fetch])[] = [
    ['with the same arguments', async (input, init) => later().then(() => fetch(input, init))],
    [
      'with a copy of init',
      async (input, init) =>
        later().then(() => fetch(input, { ...init, headers: new Headers(init?.headers) })),
    ],
  ];

  it.each(ways)('reaches the original fetch and pays once %s', async (_, way) => {
    const interceptor = new Stub({ fetch: way });
    for (const input of [url, new URL(url), `${url}#part`, new Request(url)]) {
      [unpaid, paid] = [0, 0];
      expect((await fetch(input)).status).toBe(200);
      expect([unpaid, paid]).toEqual([1, 1]);
    }
    interceptor.restore();
  });

  it.each(ways)('pays once for each of 20 parallel calls %s', async (_, way) => {
    const interceptor = new Stub({ fetch: way });
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(url)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect([unpaid, paid]).toEqual([20, 20]);
    interceptor.restore();
  });

  it('rejects with invalid_option when it replaces the request with a new Request', async () => {
    const interceptor = new Stub({
      fetch: async (input, init) => later().then(() => fetch(new Request(input, init))),
    });
    await expect(buy()).rejects.toMatchObject({
      code: 'invalid_option',
      details: { option: 'fetch' },
    });
    interceptor.restore();
  });

  it('rejects with invalid_option if it tries failed requests again, and then works', async () => {
    let calls = 0;
    const interceptor = new Stub({
      fetch: async (input, init) => {
        const isLoop = new Request(input).url.endsWith('/loop');
        // End a loop that is not refused: two tries at each depth would never end.
        if (!isLoop || ++calls > 40_000) return seller(input, init);
        const sendOn = () => later().then(() => fetch(new Request(input, init)));
        return sendOn().catch(sendOn);
      },
    });
    await expect(fetch(`${url}loop`)).rejects.toMatchObject({ code: 'invalid_option' });
    expect(await buy()).toBe(200);
    interceptor.restore();
  });

  it('rejects with invalid_option also if other requests are answered meanwhile', async () => {
    let calls = 0;
    const interceptor = new Stub({
      fetch: async (input, init) => {
        const isLoop = new Request(input).url.endsWith('/loop');
        // End a loop that is not refused.
        if (!isLoop || ++calls > 20_000) return seller(input, init);
        await later();
        await fetch(`${url}free`);
        return fetch(new Request(input, init));
      },
    });
    await expect(fetch(`${url}loop`)).rejects.toMatchObject({ code: 'invalid_option' });
    expect(await buy()).toBe(200);
    interceptor.restore();
  });

  it('sends what is asked after 10,000 requests of which one has not ended', async () => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const interceptor = new Stub({
      fetch: async (input, init) => {
        if (input === url) return seller(input, init);
        if (input === `${url}slow`) await ended;
        throw new TypeError('no answer');
      },
    });
    const slow = fetch(`${url}slow`).catch(() => undefined);
    const failing = Array.from({ length: 9_999 }, () => fetch(`${url}fail`));
    const outcomes = await Promise.allSettled(failing);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(await buy()).toBe(200);
    end();
    await slow;
    interceptor.restore();
  });

  it('pays for 20 equal parallel requests that bypass the global fetch', async () => {
    const interceptor = new Stub({
      fetch: async (input, init) => later().then(() => seller.call(undefined, input, init)),
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(new Request(url))));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect([unpaid, paid]).toEqual([20, 20]);
    interceptor.restore();
  });
});

describe('two interceptors', () => {
  const orders: readonly (readonly [string, readonly (0 | 1)[]])[] = [
    ['the last first', [1, 0]],
    ['the first first', [0, 1]],
    ['each twice', [0, 0, 1, 1]],
  ];

  it.each(orders)(
    'pay once and leave the original function, restored with %s',
    async (_, order) => {
      const both = [new Stub(), new Stub()];
      expect(await buy()).toBe(200);
      expect([unpaid, paid]).toEqual([1, 1]);
      both[order[0] ?? 0]?.restore();
      expect(await buy()).toBe(200);
      expect([unpaid, paid]).toEqual([1, 1]);
      for (const which of order) both[which]?.restore();
      expect(globalThis.fetch).toBe(seller);
    },
  );
});

describe('wrappers of other libraries', () => {
  it('stay below an interceptor that is installed after them', async () => {
    const third = wrapAsOtherLibrary();
    const interceptor = new Stub();
    expect(await buy()).toBe(200);
    expect(third.calls()).toBe(2);
    interceptor.restore();
    expect(globalThis.fetch).toBe(third.wrapper);
    third.unwrap();
    expect(globalThis.fetch).toBe(seller);
  });

  it('survive the restore of an interceptor below, which then only passes calls on', async () => {
    const interceptor = new Stub();
    const third = wrapAsOtherLibrary();
    expect(await buy()).toBe(200);
    expect([unpaid, paid, third.calls()]).toEqual([1, 1, 1]);
    interceptor.restore();
    expect(globalThis.fetch).toBe(third.wrapper);
    expect(await buy()).toBe(402);
    third.unwrap();
    expect(await buy()).toBe(402);
    interceptor.restore();
    expect(globalThis.fetch).toBe(seller);
  });

  it('survive it also if they copy what is on the fetch below', () => {
    const interceptor = new Stub();
    const paying = globalThis.fetch;
    const { wrapper } = wrapAsOtherLibrary();
    Object.assign(wrapper, paying);
    interceptor.restore();
    expect(globalThis.fetch).toBe(wrapper);
  });

  it('between two interceptors leave the original fetch, in every order of removal', async () => {
    const indexes = [0, 1, 2] as const;
    const orders = indexes.flatMap((a) =>
      indexes.flatMap((b) =>
        indexes.filter((c) => new Set([a, b, c]).size === 3).map((c) => [a, b, c]),
      ),
    );
    expect(orders).toHaveLength(6);
    for (const order of orders) {
      globalThis.fetch = seller;
      const lower = new Stub();
      const third = wrapAsOtherLibrary();
      const upper = new Stub();
      const removals = [() => lower.restore(), () => third.unwrap(), () => upper.restore()];
      expect(await buy()).toBe(200);
      expect([unpaid, paid]).toEqual([1, 1]);
      for (const which of order) {
        removals[which]?.();
        const status = await buy();
        expect(paid).toBe(status === 200 ? 1 : 0);
      }
      // The library may put back an inactive wrapper of ours; the next restore removes it.
      upper.restore();
      lower.restore();
      expect(globalThis.fetch).toBe(seller);
    }
  });

  it('over an interceptor that reinstalls five times cause one payment per call', async () => {
    const interceptor = new Stub();
    for (let round = 0; round < 5; round += 1) {
      const third = wrapAsOtherLibrary();
      interceptor.restore();
      interceptor.install();
      expect(await buy()).toBe(200);
      expect([unpaid, paid]).toEqual([1, 1]);
      interceptor.restore();
      third.unwrap();
      interceptor.install();
    }
    interceptor.restore();
    expect(globalThis.fetch).toBe(seller);
  });
});

it('keeps its options out of an inspected interceptor, its wrapper and its JSON', async () => {
  const interceptor = new Stub({ walletSecretKey: 'canary-of-a-secret' });
  const { inspect } = await import('node:util');
  const shown =
    inspect([interceptor, globalThis.fetch], { showHidden: true, depth: 10 }) +
    JSON.stringify(interceptor);
  expect(shown).not.toContain('canary');
});
