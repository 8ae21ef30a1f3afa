import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { isExactChangeError, type ClientOptions, type EventName } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemRuntime } from '../../src/internal/runtime.js';
import { until } from '../helpers/chain.js';
import { closePayers, failureOf, payerOn, recordingSigner, type Payer } from '../helpers/payer.js';
import { startRelay, type Held, type Passing, type Relay } from '../helpers/relay.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller, type Seller } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

// Peers that never answer, or answer when no call waits any more. Each call has to end by its own
// timeouts, before the test's, and say what happened to the money; nothing may be signed or sent
// for it afterwards.

/** Long enough for peers that do answer, on a machine that is busy. The rest keeps its defaults. */
const QUICK = { rpc: 2_000, jupiter: 500, terms: 300, payment: 1_000, signer: 300 } as const;
const only = (name: keyof typeof QUICK) => ({ timeouts: { [name]: QUICK[name] } });

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
/** In front of the sandbox's own services. */
let node: Relay;
let jupiter: Relay;
let api: Relay;
/** Takes connections and never says a word. */
let mute: Server;
const sockets = new Set<Socket>();
let mutePort: number;
let gonePort: number;

// Bound to TCP, so never a pipe's name or null.
const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  [node, jupiter, api] = await Promise.all([
    startRelay(sandbox.rpcUrl),
    startRelay(sandbox.jupiterUrl),
    startRelay(sandbox.apiUrl),
  ]);
  mute = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
  });
  const gone = createServer();
  for (const server of [mute, gone])
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  [mutePort, gonePort] = [portOf(mute), portOf(gone)];
  await new Promise((resolve) => gone.close(resolve));
});

const sellers: Seller[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all([node, jupiter, api].map((relay) => relay.free()));
  await closePayers();
  await Promise.all(sellers.splice(0).map((seller) => seller.close()));
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
  await Promise.all([node, jupiter, api].map((relay) => relay.close()));
});

const usdc = () => `${api.url}/usdc`;
const asks = (method: string) => (request: Passing) => request.body.includes(`"${method}"`);
const kinds = ({ signed }: Payer) => signed.map(({ kind }) => kind);

type Funds = Partial<Record<MintSymbol, string>>;

const payer = (funds: Funds, options: ClientOptions = {}) =>
  payerOn(sandbox, funds, {
    rpcUrl: node.url,
    jupiterUrl: jupiter.url,
    autoSwap: true,
    ...options,
  });

interface Call {
  readonly funds: Funds;
  readonly run: (payer: Payer, signal?: AbortSignal) => Promise<unknown>;
}

const HOLDER: Funds = { USDC: '1' };
const SWAPPER: Funds = { SOL: '0.1', BONK: '5000000' };
const swap = () => ({
  inputMint: sandbox.mints.BONK.address,
  outputMint: 'USDC',
  amount: '100000000000',
});
const signalled = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });

/** Every public call that asks a peer anything. */
const CALLS = {
  fetch: { funds: HOLDER, run: ({ client }, signal) => client.fetch(usdc(), signalled(signal)) },
  'fetch with a swap': {
    funds: SWAPPER,
    run: ({ client }, signal) => client.fetch(usdc(), signalled(signal)),
  },
  pay: {
    funds: HOLDER,
    run: async ({ client }, signal) =>
      client.pay(await fetch(`${sandbox.apiUrl}/usdc`), signalled(signal)),
  },
  plan: { funds: SWAPPER, run: ({ client }, signal) => client.plan(usdc(), signalled(signal)) },
  swap: { funds: SWAPPER, run: ({ client }, signal) => client.swap(swap(), signalled(signal)) },
  quote: { funds: {}, run: ({ client }, signal) => client.quote(swap(), signalled(signal)) },
  balance: {
    funds: HOLDER,
    run: ({ client }, signal) => client.balance('USDC', signalled(signal)),
  },
  'balance of all': {
    funds: HOLDER,
    run: ({ client }, signal) => client.balance(undefined, signalled(signal)),
  },
  warm: { funds: {}, run: ({ client }) => client.warm() },
  resume: { funds: {}, run: ({ client }) => client.resume() },
  spent: { funds: {}, run: ({ client }) => client.spent() },
  receipts: { funds: {}, run: ({ client }) => receiptsOf(client) },
} as const satisfies Record<string, Call>;
type Name = keyof typeof CALLS;
const NAMES = Object.keys(CALLS) as Name[]; // The keys of a literal.

async function receiptsOf(client: Payer['client']): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const receipt of client.receipts()) all.push(receipt);
  return all;
}

/** `ok`, or what one of our errors says: anything else fails the test. */
async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    const step = 'step' in error.details ? ` ${error.details.step}` : '';
    return `${error.code} ${error.funds}${step}`;
  }
}

/**
 * Makes all calls at once, each by a wallet of its own; what became of each, and what was signed
 * for those that failed.
 */
async function callAll(options: ClientOptions) {
  const all = await Promise.all(
    NAMES.map(async (name) => {
      const call: Call = CALLS[name];
      const one = await payer(call.funds, options);
      return { name, one, outcome: await outcomeOf(call.run(one)) };
    }),
  );
  const failed = all.filter(({ outcome }) => outcome !== 'ok').map(({ one }) => one);
  return { outcomes: Object.fromEntries(all.map(({ name, outcome }) => [name, outcome])), failed };
}

const expected = (outcome: string, ...failing: readonly Name[]) =>
  Object.fromEntries(NAMES.map((name) => [name, failing.includes(name) ? outcome : 'ok']));

/** Whatever was under way has had the time that a whole swap and payment of another call take. */
async function quiet(): Promise<void> {
  const other = await payerOn(sandbox, SWAPPER, { autoSwap: true });
  expect((await other.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
}

const PAYING = ['fetch', 'fetch with a swap', 'pay'] as const;

describe('a node that never answers', () => {
  it.each<[method: string, failing: readonly Name[]]>([
    ['getGenesisHash', [...PAYING, 'plan', 'swap', 'warm']],
    ['getMultipleAccounts', [...PAYING, 'plan', 'swap', 'balance', 'balance of all', 'warm']],
    // A swap out of SOL or a pinned token does without.
    ['getTokenAccountsByOwner', ['balance of all', 'warm']],
    ['getLatestBlockhash', [...PAYING, 'swap', 'warm']],
    // What a blockhash is held against.
    ['getEpochInfo', [...PAYING, 'swap', 'warm']],
    ['getMinimumBalanceForRentExemption', ['fetch with a swap', 'plan', 'swap']],
    ['simulateTransaction', ['fetch with a swap', 'swap']],
    // Not needed, or only once the money has moved.
    ['getRecentPrioritizationFees', []],
    ['getSignaturesForAddress', []],
    ['getFirstAvailableBlock', []],
  ])(
    '%s: each call that needs it ends by timeouts.rpc, and a late answer has nothing signed',
    async (method, failing) => {
      const held = node.hold(asks(method));
      const { outcomes, failed } = await callAll(only('rpc'));
      const outcome = `timeout untouched ${method === 'getEpochInfo' ? 'getLatestBlockhash' : method}`;
      expect(outcomes).toEqual({
        ...expected(outcome, ...failing),
        // What it asks for, it asks for under another name; of two at once, either may be the first
        // to end.
        ...(method === 'getGenesisHash'
          ? {
              balance: 'timeout untouched getMultipleAccounts',
              'balance of all': expect.stringMatching(
                /^timeout untouched get(MultipleAccounts|TokenAccountsByOwner)$/,
              ) as unknown,
            }
          : {}),
      });
      await held.release();
      await quiet();
      expect(failed.flatMap(kinds)).toEqual([]);
    },
  );

  it.each([
    ['takes connections and is silent', () => mutePort, 'timeout untouched'],
    ['refuses connections', () => gonePort, 'rpc_unavailable untouched'],
  ])('and %s: the same, for each call', async (_, port, outcome) => {
    const { outcomes, failed } = await callAll({
      rpcUrl: `http://127.0.0.1:${port()}`,
      ...only('rpc'),
    });
    const needing = NAMES.filter(
      (name) => !['quote', 'resume', 'spent', 'receipts'].includes(name),
    );
    const codes = Object.fromEntries(
      Object.entries(outcomes).map(([name, one]) => [name, one.split(' ').slice(0, 2).join(' ')]),
    );
    expect(codes).toEqual(expected(outcome, ...needing));
    expect(failed.flatMap(kinds)).toEqual([]);
  });
});

describe('the offers of one 402', () => {
  it('are compared for half a minute at most, however long each question to Jupiter may take', async () => {
    const mint = await sandbox.createMint({ decimals: 6, picoUsd: 1_000_000n });
    const accepts = [offerOf(sandbox, { asset: mint.address, amount: '10000' })];
    const seller = await startSeller((_, response) =>
      answerTerms(response, { x402Version: 2, accepts }),
    );
    sellers.push(seller);
    const one = await payer(SWAPPER, { timeouts: { jupiter: 600_000 } });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    onTestFinished(() => void vi.useRealTimers());
    const held = jupiter.hold(() => true);
    const failing = failureOf(one.client.fetch(seller.url), 'timeout');
    await held.asked;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await failing).toMatchObject({
      funds: 'untouched',
      retry: 'fresh',
      details: { step: 'choose', timeoutMs: 30_000 },
    });
    await held.release();
    expect(kinds(one)).toEqual([]);
  });
});

/** Has the clock of the clients, and no other, go so much further. */
function jump(ms: number): void {
  const { now } = systemRuntime;
  vi.spyOn(systemRuntime, 'now').mockImplementation(() => now() + ms);
}

describe('a node that falls silent about a swap that was sent', () => {
  it('never takes it: the swap expires, twice, and nothing is paid', async () => {
    const one = await payer(SWAPPER, only('rpc'));
    const held = node.hold(asks('sendTransaction'));
    one.client.on('swap.signed', () => sandbox.controls.node.warp());
    const error = await failureOf(one.client.fetch(usdc()), 'swap_expired');
    expect(error).toMatchObject({ funds: 'untouched', moved: [] });
    await held.release();
    await quiet();
    expect(kinds(one)).toEqual(['swap', 'swap']);
    expect((await one.client.balance('USDC'))[0]?.amount).toBe('0');
  });

  it.each<[what: string, methods: readonly string[], ms: number]>([
    // confirm.ts: a minute without any status, or five without a decision.
    ['tells no status', ['getSignatureStatuses'], 61_000],
    ['tells no height, and does not take it', ['sendTransaction', 'getEpochInfo'], 301_000],
  ])('%s: the call ends, its outcome is uncertain, and nothing is paid', async (_, methods, ms) => {
    const one = await payer(SWAPPER, only('rpc'));
    let held: ReturnType<typeof node.hold>[] = [];
    const asked = new Promise<void>((resolve) =>
      one.client.on('swap.signed', () => {
        held = methods.map((method) => node.hold(asks(method)));
        void held[0]?.asked.then(() => resolve());
      }),
    );
    const failure = failureOf(one.client.fetch(usdc()), 'swap_uncertain');
    await asked;
    jump(ms);
    const error = await failure;
    expect(error).toMatchObject({ funds: 'uncertain', moved: [] });
    await Promise.all(held.map((gate) => gate.release()));
    await quiet();
    expect(kinds(one)).toEqual(['swap']);
  });

  it('does not give the transaction: the swap counts as quoted, and the payment is made', async () => {
    const one = await payer(SWAPPER, { timeouts: { rpc: 1_000 } });
    node.hold(asks('getTransaction'));
    expect((await one.client.fetch(usdc())).status).toBe(200);
    expect(one.events.map(({ type }) => type)).toContain('warning');
    expect(kinds(one)).toEqual(['swap', 'payment']);
  });
});

/** A payer whose payment settled and whose answer was lost. */
async function paidInVain(): Promise<Payer> {
  const one = await payer(HOLDER, only('payment'));
  const held = api.hold(isPaid);
  await failureOf(one.client.fetch(usdc()), 'payment_uncertain');
  await held.release();
  await one.client.close();
  return one;
}

describe('a node that falls silent about a payment that was sent', () => {
  it.each([
    ['getGenesisHash', 'rpc'],
    ['getEpochInfo', 'rpc'],
    ['getSignaturesForAddress', 'rpc'],
    ['getSignaturesForAddress', 'payment'],
  ] as const)(
    '%s: a repeated call and resume() end by timeouts.%s, and nothing more is signed',
    async (method, timeout) => {
      const one = await paidInVain();
      node.hold(asks(method));
      const again = one.again({ rpcUrl: node.url, ...only(timeout) });
      const error = await failureOf(again.fetch(usdc()), 'payment_uncertain');
      expect(error).toMatchObject({ funds: 'uncertain', cause: { code: 'timeout' } });
      // The network was checked with the first question, before this client was made to resume.
      if (method !== 'getGenesisHash')
        await failureOf(one.again({ rpcUrl: node.url, ...only(timeout) }).resume(), 'timeout');
      expect(kinds(one)).toEqual(['payment']);
    },
  );
});

describe('a Jupiter that never answers', () => {
  const QUOTES = (request: Passing) =>
    request.path.includes('/quote') || request.path.includes('/build');

  it('what is asked for first: each call that needs a price ends by timeouts.jupiter', async () => {
    const held = jupiter.hold(QUOTES);
    const { outcomes, failed } = await callAll(only('jupiter'));
    expect(outcomes).toEqual(
      expected('timeout untouched jupiter', 'fetch with a swap', 'plan', 'swap', 'quote'),
    );
    await held.release();
    await quiet();
    expect(failed.flatMap(kinds)).toEqual([]);
  });

  it('the instructions for a quote that it gave: the same', async () => {
    const one = await payer(SWAPPER, only('jupiter'));
    let quotes = 0;
    // Where one endpoint gives both, it gives the quote once.
    const held = jupiter.hold(
      (request) =>
        !QUOTES(request) ||
        (one.events.some(({ type }) => type === 'swap.quoted') && (quotes += 1) > 0),
    );
    const outcome = await outcomeOf(one.client.fetch(usdc()));
    expect([outcome, held.count > 0]).toEqual(['timeout untouched jupiter', true]);
    await held.release();
    await quiet();
    expect(kinds(one)).toEqual([]);
  });

  it.each([
    ['takes connections and is silent', () => mutePort, 'timeout untouched jupiter'],
    ['refuses connections', () => gonePort, 'jupiter_unavailable untouched'],
  ])('%s', async (_, port, outcome) => {
    const { outcomes } = await callAll({
      jupiterUrl: `http://127.0.0.1:${port()}`,
      ...only('jupiter'),
    });
    expect(outcomes).toEqual(expected(outcome, 'fetch with a swap', 'plan', 'swap', 'quote'));
  });
});

describe('a seller that never answers', () => {
  it('the paid request: the payment is uncertain after timeouts.payment, and a late answer changes nothing', async () => {
    const one = await payer(HOLDER, only('payment'));
    const held = api.hold(isPaid);
    const error = await failureOf(one.client.fetch(usdc()), 'payment_uncertain');
    expect(error).toMatchObject({ funds: 'uncertain', moved: [] });
    await held.release();
    await until('the chain decides', () =>
      one.events.some(({ type }) => type === 'payment.settled') ? true : undefined,
    );
    expect(kinds(one)).toEqual(['payment']);
  });

  it('the paid request, if its fetch does not listen to signals: the same', async () => {
    const hangs: typeof fetch = (input, init) =>
      new Headers(init?.headers).has('payment-signature')
        ? new Promise(() => undefined)
        : fetch(input, init);
    const one = await payer(HOLDER, { fetch: hangs, ...only('payment') });
    const error = await failureOf(one.client.fetch(usdc()), 'payment_uncertain');
    expect(error.funds).toBe('uncertain');
    expect(kinds(one)).toEqual(['payment']);
  });

  it.each(['fetch', 'plan', 'pay', 'parse'] as const)(
    'the body of a 402: %s ends by timeouts.terms, and nothing is signed',
    async (name) => {
      const seller = await startSeller((_, response) => {
        response.writeHead(402, { 'content-type': 'application/json' });
        response.write('{"x402Version":1,"accepts":[');
      });
      sellers.push(seller);
      const one = await payer(HOLDER, only('terms'));
      const { client } = one;
      const call = {
        fetch: () => client.fetch(seller.url),
        plan: () => client.plan(seller.url),
        pay: async () => client.pay(await fetch(seller.url)),
        parse: async () => client.parse(await fetch(seller.url)),
      }[name];
      expect(await outcomeOf(call())).toBe('timeout untouched payment_required');
      expect(kinds(one)).toEqual([]);
    },
  );

  it('the body of the 402 that answers the payment: it is rejected, without the reason', async () => {
    const one = await payer(HOLDER, only('terms'));
    const seller = await startSeller((request, response) => {
      if (isPaid(request)) {
        response.writeHead(402, { 'content-type': 'application/json' });
        return void response.write('{"x402Version":1,"error":');
      }
      void fetch(`${sandbox.apiUrl}/usdc`).then((real) => {
        response
          .writeHead(402, { 'payment-required': real.headers.get('payment-required') ?? '' })
          .end('{}');
      });
    });
    sellers.push(seller);
    const error = await failureOf(one.client.fetch(`${seller.url}/usdc`), 'payment_rejected');
    expect(error.funds).toBe('uncertain');
    expect(kinds(one)).toEqual(['payment']);
  });

  it('the body of the answer: it is there, and its body ends with the caller', async () => {
    const one = await payer(HOLDER);
    api.hold(isPaid, 'body');
    const controller = new AbortController();
    const response = await one.client.fetch(usdc(), { signal: controller.signal });
    expect(response.status).toBe(200);
    const text = response.text().catch((error: unknown) => error);
    controller.abort('had enough');
    expect(await text).toBe('had enough');
  });
});

describe('a WebSocket that never speaks', () => {
  it.each(['silent', 'mute'] as const)(
    '%s: polling finds out, and the call is paid',
    async (how) => {
      if (how === 'silent') sandbox.controls.node.webSocket = 'silent';
      const one = await payer(
        SWAPPER,
        how === 'mute' ? { wsUrl: `ws://127.0.0.1:${mutePort}` } : { wsUrl: sandbox.wsUrl },
      );
      expect((await one.client.fetch(usdc())).status).toBe(200);
    },
  );
});

describe('a signer that answers when no call waits any more', () => {
  /** Its signatures of one kind come when the test says so. */
  async function slow(kind: 'swap' | 'payment', funds: Funds, options: ClientOptions) {
    const { address, secretKey } = await sandbox.createWallet(funds);
    const { signer } = recordingSigner(address, secretKey);
    let answer = (): void => undefined;
    let tell = (): void => undefined;
    const [answered, asked] = [
      new Promise<void>((resolve) => (answer = resolve)),
      new Promise<void>((resolve) => (tell = resolve)),
    ];
    const signMessage: typeof signer.signMessage = async (message, intent) => {
      if (intent.kind !== kind) return signer.signMessage(message, intent);
      tell();
      await answered;
      return signer.signMessage(message, intent);
    };
    return {
      ...(await payer({}, { signer: { address, signMessage }, ...options })),
      answer,
      asked,
    };
  }

  const sentSince = () => {
    const count = () => [
      sandbox.controls.node.calls({ method: 'sendTransaction' }),
      sandbox.controls.api.served.length,
    ];
    const before = count();
    return () => count().map((now, index) => now - (before[index] ?? 0));
  };

  it.each<[name: Name, kind: 'swap' | 'payment', code: string]>([
    ['fetch', 'payment', 'signing_failed untouched'],
    ['fetch with a swap', 'swap', 'signing_failed untouched'],
    ['pay', 'payment', 'signing_failed untouched'],
    ['swap', 'swap', 'signing_failed untouched'],
  ])(
    '%s ends by timeouts.signer, and the late signature goes nowhere',
    async (name, kind, code) => {
      const call: Call = CALLS[name];
      const one = await slow(kind, call.funds, only('signer'));
      const sent = sentSince();
      expect(await outcomeOf(call.run(one))).toBe(code);
      one.answer();
      await quiet();
      // The other's swap, its payment by the facilitator, and its answer.
      expect(sent()).toEqual([2, 1]);
    },
  );

  it.each<[name: Name, kind: 'swap' | 'payment']>([
    ['fetch', 'payment'],
    ['fetch with a swap', 'swap'],
    ['pay', 'payment'],
    ['swap', 'swap'],
  ])('%s ends with the caller, and the late signature goes nowhere', async (name, kind) => {
    const call: Call = CALLS[name];
    const one = await slow(kind, call.funds, {});
    const sent = sentSince();
    const controller = new AbortController();
    const ended = call.run(one, controller.signal).catch((error: unknown) => error);
    await one.asked;
    controller.abort('had enough');
    expect(await ended).toBe('had enough');
    one.answer();
    await quiet();
    expect(sent()).toEqual([2, 1]);
  });
});

describe('a caller that gives up', () => {
  const METHODS = [
    'getGenesisHash',
    'getMultipleAccounts',
    'getLatestBlockhash',
    'getTokenAccountsByOwner',
    'simulateTransaction',
  ];
  const GATES: readonly (readonly [what: string, hold: () => Held])[] = [
    ...METHODS.map((method) => [method, () => node.hold(asks(method))] as const),
    ['a quote', () => jupiter.hold(() => true)],
  ];

  it.each(GATES)(
    'while %s is awaited: the call ends with the reason, and nothing is signed when the answer comes',
    async (_, hold) => {
      // A token that is not pinned is looked for among all that the wallet holds.
      const one = await payer(SWAPPER, { swapFrom: [sandbox.mints.BONK.address] });
      const held = hold();
      const controller = new AbortController();
      const ended = one.client
        .fetch(usdc(), { signal: controller.signal })
        .catch((error: unknown) => error);
      await held.asked;
      controller.abort('had enough');
      expect(await ended).toBe('had enough');
      await held.release();
      await quiet();
      expect(kinds(one)).toEqual([]);
      expect(one.events.map(({ type }): EventName => type)).not.toContain('payment.sent');
    },
  );

  it('while the paid request is on its way: the call ends with the reason, and the payment is not made again', async () => {
    const one = await payer(HOLDER);
    const held = api.hold(isPaid);
    const controller = new AbortController();
    const ended = one.client
      .fetch(usdc(), { signal: controller.signal })
      .catch((error: unknown) => error);
    await held.asked;
    controller.abort('had enough');
    expect(await ended).toBe('had enough');
    await held.release();
    await until('the chain decides', () =>
      one.events.some(({ type }) => type === 'payment.settled') ? true : undefined,
    );
    await failureOf(one.client.fetch(usdc()), 'already_spent');
    expect(kinds(one)).toEqual(['payment']);
  });
});

describe('a client that closes', () => {
  it.each(['getGenesisHash', 'getMultipleAccounts', 'getLatestBlockhash'])(
    'while %s is awaited: the call says so, and nothing is signed when the answer comes',
    async (method) => {
      const one = await payer(HOLDER);
      const held = node.hold(asks(method));
      const ended = failureOf(one.client.fetch(usdc()), 'client_closed');
      await held.asked;
      await one.client.close();
      expect(await ended).toMatchObject({ funds: 'untouched', retry: 'never' });
      await held.release();
      await quiet();
      expect(kinds(one)).toEqual([]);
    },
  );
});
