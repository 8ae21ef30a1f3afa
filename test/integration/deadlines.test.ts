import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { isExactChangeError, type ClientOptions, type EventName } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemRuntime } from '../../src/internal/runtime.js';
import { listOf } from '../helpers/attempts.js';
import { closePayers, failureOf, payerOn, recordingSigner, type Payer } from '../helpers/payer.js';
import { startRelay, type Held, type Passing, type Relay } from '../helpers/relay.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller, type Seller } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

// Peers that never answer, or answer too late. Each call must end by its own timeouts, before the
// test's, and report the fate of the money. Nothing may be signed or sent for it afterwards.

/** Long enough for peers that answer, on a busy machine. Other timeouts keep their defaults. */
const QUICK = { rpc: 2_000, jupiter: 500, terms: 300, payment: 1_000, signer: 300 } as const;
const only = (name: keyof typeof QUICK) => ({ timeouts: { [name]: QUICK[name] } });

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
/** Relays in front of the services of the sandbox. */
let node: Relay;
let jupiter: Relay;
let api: Relay;
/** Accepts connections and never sends a byte. */
let mute: Server;
const sockets = new Set<Socket>();
let mutePort: number;
/** No program listens here, and fetch does not block it. A test could not keep a free port free. */
const GONE_PORT = 2;

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
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  // The server listens on TCP, so its address is neither the name of a pipe nor null.
  mutePort = (mute.address() as AddressInfo).port;
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
const asks = (method: string) => (request: Passing) => new RegExp(`"${method}"`).test(request.body);
const kinds = ({ signed }: Payer) => signed.map(({ kind }) => kind);

type Funds = Partial<Record<MintSymbol, string>>;

const createPayer = (funds: Funds, options: ClientOptions = {}) =>
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

/** Every public call that sends a request. */
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
  receipts: { funds: {}, run: ({ client }) => listOf(client.receipts()) },
} as const satisfies Record<string, Call>;
type Name = keyof typeof CALLS;
const NAMES = Object.keys(CALLS) as Name[]; // The keys of a literal.

/** Returns `ok`, or the code, funds and step of the error; a foreign error fails the test. */
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
 * Makes all calls, each with a new wallet; returns outcomes and failed payers. The calls that must
 * fail come last, because a busy machine needs longer for the others: they have more time.
 */
async function callAll(
  failing: readonly Name[],
  timeouts: NonNullable<ClientOptions['timeouts']>,
  options: ClientOptions = {},
) {
  const make = (names: readonly Name[], more: ClientOptions) =>
    Promise.all(
      names.map(async (name) => {
        const call: Call = CALLS[name];
        const payer = await createPayer(call.funds, { ...options, ...more });
        return { name, payer, outcome: await outcomeOf(call.run(payer)) };
      }),
    );
  const others = NAMES.filter((name) => !failing.includes(name));
  const calls = [
    ...(await make(others, { timeouts: { ...timeouts, rpc: 3 * QUICK.rpc } })),
    ...(await make(failing, { timeouts })),
  ];
  const failed = calls.filter(({ outcome }) => outcome !== 'ok').map(({ payer }) => payer);
  return {
    outcomes: Object.fromEntries(calls.map(({ name, outcome }) => [name, outcome])),
    failed,
  };
}

const expected = (outcome: string, ...failing: readonly Name[]) =>
  Object.fromEntries(NAMES.map((name) => [name, failing.includes(name) ? outcome : 'ok']));

/** Gives work in the background the time that a swap and a payment of another wallet take. */
async function quiet(): Promise<void> {
  const other = await payerOn(sandbox, SWAPPER, { autoSwap: true });
  expect((await other.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
}

const PAYING = ['fetch', 'fetch with a swap', 'pay'] as const;

describe('a node that never answers', () => {
  it.each<[method: string, failing: readonly Name[]]>([
    ['getGenesisHash', [...PAYING, 'plan', 'swap', 'warm']],
    ['getMultipleAccounts', [...PAYING, 'plan', 'swap', 'balance', 'balance of all', 'warm']],
    // A swap from SOL or a pinned token does not list all accounts.
    ['getTokenAccountsByOwner', ['balance of all', 'warm']],
    ['getLatestBlockhash', [...PAYING, 'swap', 'warm']],
    // The client compares each blockhash with the height of the epoch info.
    ['getEpochInfo', [...PAYING, 'swap', 'warm']],
    ['getMinimumBalanceForRentExemption', ['fetch with a swap', 'plan', 'swap']],
    ['simulateTransaction', ['fetch with a swap', 'swap']],
  ])(
    'ends each call that needs %s by timeouts.rpc, and a late answer signs nothing',
    async (method, failing) => {
      const held = node.hold(asks(method));
      const balances = method === 'getGenesisHash' ? (['balance', 'balance of all'] as const) : [];
      const { outcomes, failed } = await callAll([...failing, ...balances], only('rpc').timeouts);
      const outcome = `timeout untouched ${method === 'getEpochInfo' ? 'getLatestBlockhash' : method}`;
      expect(outcomes).toEqual({
        ...expected(outcome, ...failing),
        // balance() names the method that it asked for, not the check of the network. Of two
        // parallel requests, either may end first.
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

  it('delays no call that moves no money when it withholds what only follows a payment', async () => {
    node.hold(asks('get(RecentPrioritizationFees|SignaturesForAddress|FirstAvailableBlock)'));
    expect((await callAll([], {})).outcomes).toEqual(expected(''));
  });

  // A node that refuses says so at once, and a busy machine may hear of it late.
  it.each([
    ['takes connections and is silent', () => mutePort, 'timeout untouched', only('rpc').timeouts],
    ['refuses connections', () => GONE_PORT, 'rpc_unavailable untouched', {}],
  ])('ends each call that needs it when it %s', async (_, port, outcome, timeouts) => {
    const needing = NAMES.filter(
      (name) => !['quote', 'resume', 'spent', 'receipts'].includes(name),
    );
    const { outcomes, failed } = await callAll(needing, timeouts, {
      rpcUrl: `http://127.0.0.1:${port()}`,
    });
    const codes = Object.fromEntries(
      Object.entries(outcomes).map(([name, text]) => [name, text.split(' ').slice(0, 2).join(' ')]),
    );
    expect(codes).toEqual(expected(outcome, ...needing));
    expect(failed.flatMap(kinds)).toEqual([]);
  });
});

describe('the offers of one 402', () => {
  it('are compared for 30 seconds at most, even with a longer timeouts.jupiter', async () => {
    const mint = await sandbox.createMint({ decimals: 6, picoUsd: 1_000_000n });
    const accepts = [offerOf(sandbox, { asset: mint.address, amount: '10000' })];
    const seller = await startSeller((_, response) =>
      answerTerms(response, { x402Version: 2, accepts }),
    );
    sellers.push(seller);
    const payer = await createPayer(SWAPPER, { timeouts: { jupiter: 600_000 } });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    onTestFinished(() => void vi.useRealTimers());
    const held = jupiter.hold(() => true);
    const failing = failureOf(payer.client.fetch(seller.url), 'timeout');
    await held.asked;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await failing).toMatchObject({
      funds: 'untouched',
      retry: 'fresh',
      details: { step: 'choose', timeoutMs: 30_000 },
    });
    await held.release();
    expect(kinds(payer)).toEqual([]);
  });
});

/** Moves the clock of the clients forward; every other clock stays. */
function jump(ms: number): void {
  const { now } = systemRuntime;
  vi.spyOn(systemRuntime, 'now').mockImplementation(() => now() + ms);
}

describe('a node that stops answering after a swap was signed', () => {
  it('lets the swap expire twice, and nothing is paid, when sendTransaction hangs', async () => {
    const payer = await createPayer(SWAPPER, only('rpc'));
    const held = node.hold(asks('sendTransaction'));
    payer.client.on('swap.signed', () => sandbox.controls.node.warp());
    const error = await failureOf(payer.client.fetch(usdc()), 'swap_expired');
    expect(error).toMatchObject({ funds: 'untouched', moved: [] });
    await held.release();
    await quiet();
    expect(kinds(payer)).toEqual(['swap', 'swap']);
    expect((await payer.client.balance('USDC'))[0]?.amount).toBe('0');
  });

  it.each<[what: string, methods: readonly string[], ms: number]>([
    // confirm.ts: a minute without any status, or five minutes without a decision.
    ['status', ['getSignatureStatuses'], 61_000],
    ['block height and no send', ['sendTransaction', 'getEpochInfo'], 301_000],
  ])('ends the call as uncertain when it answers no %s', async (_, methods, ms) => {
    const payer = await createPayer(SWAPPER, only('rpc'));
    let held: ReturnType<typeof node.hold>[] = [];
    const asked = new Promise<void>((resolve) =>
      payer.client.on('swap.signed', () => {
        held = methods.map((method) => node.hold(asks(method)));
        void held[0]?.asked.then(() => resolve());
      }),
    );
    const failure = failureOf(payer.client.fetch(usdc()), 'swap_uncertain');
    await asked;
    jump(ms);
    const error = await failure;
    expect(error).toMatchObject({ funds: 'uncertain', moved: [] });
    await Promise.all(held.map((gate) => gate.release()));
    await quiet();
    expect(kinds(payer)).toEqual(['swap']);
  });
});

/** A closed payer with a settled payment and a lost response. */
async function paidWithoutResponse(): Promise<Payer> {
  const payer = await createPayer(HOLDER, only('payment'));
  const held = api.hold(isPaid);
  await failureOf(payer.client.fetch(usdc()), 'payment_uncertain');
  await held.release();
  await payer.client.close();
  return payer;
}

describe('a node that stops answering after a payment was sent', () => {
  it.each([
    ['getGenesisHash', 'rpc'],
    ['getEpochInfo', 'rpc'],
    ['getSignaturesForAddress', 'rpc'],
    ['getSignaturesForAddress', 'payment'],
  ] as const)(
    'ends a repeated call and resume() when %s hangs, by timeouts.%s, and nothing is signed',
    async (method, timeout) => {
      const payer = await paidWithoutResponse();
      node.hold(asks(method));
      const again = payer.again({ rpcUrl: node.url, ...only(timeout) });
      const error = await failureOf(again.fetch(usdc()), 'payment_uncertain');
      expect(error).toMatchObject({ funds: 'uncertain', cause: { code: 'timeout' } });
      // The first request has checked the network, so resume() asks no genesis hash.
      if (method !== 'getGenesisHash')
        expect(
          await failureOf(payer.again({ rpcUrl: node.url, ...only(timeout) }).resume(), 'timeout'),
        ).toMatchObject({ funds: 'uncertain', retry: 'same' });
      expect(kinds(payer)).toEqual(['payment']);
    },
  );
});

describe('a Jupiter that never answers', () => {
  const QUOTING = ['fetch with a swap', 'plan', 'swap', 'quote'] as const;
  const QUOTES = (request: Passing) =>
    request.path.includes('/quote') || request.path.includes('/build');

  it('ends each call that needs a quote by timeouts.jupiter', async () => {
    const held = jupiter.hold(QUOTES);
    const { outcomes, failed } = await callAll(QUOTING, only('jupiter').timeouts);
    expect(outcomes).toEqual(expected('timeout untouched jupiter', ...QUOTING));
    await held.release();
    await quiet();
    expect(failed.flatMap(kinds)).toEqual([]);
  });

  it.each([
    [
      'takes connections and is silent',
      () => mutePort,
      'timeout untouched jupiter',
      only('jupiter').timeouts,
    ],
    ['refuses connections', () => GONE_PORT, 'jupiter_unavailable untouched', {}],
  ])('ends each call that needs a quote when it %s', async (_, port, outcome, timeouts) => {
    const { outcomes } = await callAll(QUOTING, timeouts, {
      jupiterUrl: `http://127.0.0.1:${port()}`,
    });
    expect(outcomes).toEqual(expected(outcome, ...QUOTING));
  });
});

describe('a seller that never answers', () => {
  it('makes it uncertain after timeouts.payment even when fetch ignores signals', async () => {
    const hangs: typeof fetch = (input, init) =>
      new Headers(init?.headers).has('payment-signature')
        ? new Promise(() => undefined)
        : fetch(input, init);
    const payer = await createPayer(HOLDER, { fetch: hangs, ...only('payment') });
    const error = await failureOf(payer.client.fetch(usdc()), 'payment_uncertain');
    expect(error.funds).toBe('uncertain');
    expect(kinds(payer)).toEqual(['payment']);
  });

  it.each(['fetch', 'plan', 'pay', 'parse'] as const)(
    'ends %s by timeouts.terms when the body of the 402 never ends, and nothing is signed',
    async (name) => {
      const seller = await startSeller((_, response) => {
        response.writeHead(402, { 'content-type': 'application/json' });
        response.write('{"x402Version":1,"accepts":[');
      });
      sellers.push(seller);
      const payer = await createPayer(HOLDER, only('terms'));
      const { client } = payer;
      const call = {
        fetch: () => client.fetch(seller.url),
        plan: () => client.plan(seller.url),
        pay: async () => client.pay(await fetch(seller.url)),
        parse: async () => client.parse(await fetch(seller.url)),
      }[name];
      expect(await outcomeOf(call())).toBe('timeout untouched payment_required');
      expect(kinds(payer)).toEqual([]);
    },
  );

  it('rejects the payment when the body of the 402 to the paid request never ends', async () => {
    const payer = await createPayer(HOLDER, only('terms'));
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
    const error = await failureOf(payer.client.fetch(`${seller.url}/usdc`), 'payment_rejected');
    expect(error.funds).toBe('uncertain');
    expect(kinds(payer)).toEqual(['payment']);
  });
});

describe('a signer that answers after its call has ended', () => {
  /** A payer with a signer that delays signatures of `kind` until the test calls `answer`. */
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
      ...(await createPayer({}, { signer: { address, signMessage }, ...options })),
      answer,
      asked,
    };
  }

  /** Counts transactions, not calls: a swap that takes long to land is sent again. */
  const sentSince = () => {
    const sent = new Set<unknown>();
    sandbox.controls.node.intercept = (method, params, next) => {
      if (method === 'sendTransaction') sent.add((params as unknown[])[0]);
      return next();
    };
    const before = sandbox.controls.api.served.length;
    return () => [sent.size, sandbox.controls.api.served.length - before];
  };

  it.each<[name: Name, kind: 'swap' | 'payment', code: string]>([
    ['fetch with a swap', 'swap', 'signing_failed untouched'],
    ['pay', 'payment', 'signing_failed untouched'],
  ])('ends %s by timeouts.signer, and sends no late signature', async (name, kind, code) => {
    const call: Call = CALLS[name];
    const payer = await slow(kind, call.funds, only('signer'));
    const sent = sentSince();
    expect(await outcomeOf(call.run(payer))).toBe(code);
    payer.answer();
    await quiet();
    // The call in `quiet` sends a swap, its payment goes through the facilitator, and the API
    // serves it.
    expect(sent()).toEqual([2, 1]);
  });

  it.each<[name: Name, kind: 'swap' | 'payment']>([
    ['fetch', 'payment'],
    ['swap', 'swap'],
  ])('ends %s when the caller aborts, and sends no late signature', async (name, kind) => {
    const call: Call = CALLS[name];
    const payer = await slow(kind, call.funds, {});
    const sent = sentSince();
    const controller = new AbortController();
    const ended = call.run(payer, controller.signal).catch((error: unknown) => error);
    await payer.asked;
    controller.abort('had enough');
    expect(await ended).toBe('had enough');
    payer.answer();
    await quiet();
    expect(sent()).toEqual([2, 1]);
  });
});

describe('a call that its caller aborts', () => {
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
    'rejects with the reason while it waits for %s, and a late answer signs nothing',
    async (_, hold) => {
      // For a token that is not pinned, the client lists all token accounts of the wallet.
      const payer = await createPayer(SWAPPER, { swapFrom: [sandbox.mints.BONK.address] });
      const held = hold();
      const controller = new AbortController();
      const ended = payer.client
        .fetch(usdc(), { signal: controller.signal })
        .catch((error: unknown) => error);
      await held.asked;
      controller.abort('had enough');
      expect(await ended).toBe('had enough');
      await held.release();
      await quiet();
      expect(kinds(payer)).toEqual([]);
      expect(payer.events.map(({ type }): EventName => type)).not.toContain('payment.sent');
    },
  );
});

describe('a client that closes during a call', () => {
  it.each(['getGenesisHash', 'getMultipleAccounts', 'getLatestBlockhash'])(
    'rejects it with client_closed while it waits for %s, and a late answer signs nothing',
    async (method) => {
      const payer = await createPayer(HOLDER);
      const held = node.hold(asks(method));
      const ended = failureOf(payer.client.fetch(usdc()), 'client_closed');
      await held.asked;
      await payer.client.close();
      expect(await ended).toMatchObject({ funds: 'untouched', retry: 'never' });
      await held.release();
      await quiet();
      expect(kinds(payer)).toEqual([]);
    },
  );
});
