import {
  isExactChangeError,
  memoryJournal,
  type Attempt,
  type ClientOptions,
  type Journal,
} from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { UNUSED, usedByCap } from '../helpers/worth.js';

// A journal that never answers, and a hook that never does: each call has to end by its own
// timeouts with nothing signed that is not on record, and nothing sent.

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

type Funds = Partial<Record<MintSymbol, string>>;
type Method = 'reserve' | 'put' | 'raise' | 'release' | 'similar' | 'attempts' | 'used';

const HOLDER: Funds = { USDC: '1' };
const SWAPPER: Funds = { SOL: '0.1', BONK: '5000000' };
const QUICK: ClientOptions = { timeouts: { journal: 300 } };
const never = () => new Promise<never>(() => undefined);
const usdc = () => `${sandbox.apiUrl}/usdc`;
const kinds = ({ signed }: Payer) => signed.map(({ kind }) => kind);

/** A journal in memory, of which one method never answers for the attempts that are chosen. */
function hanging(method: Method, which: (attempt: Attempt) => boolean = () => true): Journal {
  const inner = memoryJournal();
  const hung: Pick<Journal, Method> = {
    reserve: (attempt, caps) => (which(attempt) ? never() : inner.reserve(attempt, caps)),
    put: (attempt) => (which(attempt) ? never() : inner.put(attempt)),
    raise: never,
    release: never,
    similar: never,
    attempts: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }),
    used: never,
  };
  return { ...inner, [method]: hung[method] };
}

const payer = (funds: Funds, options: ClientOptions) =>
  payerOn(sandbox, funds, { autoSwap: true, ...QUICK, ...options });

interface Call {
  readonly funds: Funds;
  readonly run: (client: Payer['client']) => Promise<unknown>;
}

const CALLS = {
  fetch: { funds: HOLDER, run: (client) => client.fetch(usdc()) },
  'fetch with a swap': { funds: SWAPPER, run: (client) => client.fetch(usdc()) },
  pay: { funds: HOLDER, run: async (client) => client.pay(await fetch(usdc())) },
  plan: { funds: HOLDER, run: (client) => client.plan(usdc()) },
  swap: {
    funds: SWAPPER,
    run: (client) =>
      client.swap({
        inputMint: sandbox.mints.BONK.address,
        outputMint: 'USDC',
        amount: '100000000000',
      }),
  },
  balance: { funds: HOLDER, run: (client) => client.balance('USDC') },
  warm: { funds: HOLDER, run: (client) => client.warm() },
  spent: { funds: {}, run: (client) => client.spent() },
  receipts: { funds: {}, run: (client) => listed(client) },
  resume: { funds: {}, run: (client) => client.resume() },
} as const satisfies Record<string, Call>;
type Name = keyof typeof CALLS;
const NAMES = Object.keys(CALLS) as Name[]; // The keys of a literal.

async function listed(client: Payer['client']): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const receipt of client.receipts()) all.push(receipt);
  return all;
}

async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    return `${error.code} ${error.funds}`;
  }
}

/** Whatever was under way has had the time that a whole swap and payment of another call take. */
async function quiet(): Promise<void> {
  const other = await payerOn(sandbox, SWAPPER, { autoSwap: true });
  expect((await other.client.fetch(usdc())).status).toBe(200);
}

describe('a journal whose one method never answers', () => {
  it.each<[method: Method, failing: readonly Name[]]>([
    ['reserve', ['fetch', 'fetch with a swap', 'pay']],
    ['put', ['fetch', 'fetch with a swap', 'pay']],
    ['raise', ['fetch with a swap']],
    ['similar', ['fetch', 'fetch with a swap']],
    ['attempts', ['fetch', 'fetch with a swap', 'pay', 'receipts', 'resume']],
    ['used', ['plan', 'spent']],
    ['release', []],
  ])(
    '%s: each call that needs it ends by timeouts.journal, and nothing is sent',
    async (method, failing) => {
      const all = await Promise.all(
        NAMES.map(async (name) => {
          const call: Call = CALLS[name];
          const one = await payer(call.funds, { journal: hanging(method) });
          return { name, one, outcome: await outcomeOf(call.run(one.client)) };
        }),
      );
      // An earlier payment for the same call may be what cannot be read.
      const funds = (name: Name) =>
        name.startsWith('fetch') && (method === 'similar' || method === 'attempts')
          ? 'uncertain'
          : 'untouched';
      const expected = NAMES.map((name) => [
        name,
        failing.includes(name) ? `journal_unavailable ${funds(name)}` : 'ok',
      ]);
      expect(Object.fromEntries(all.map(({ name, outcome }) => [name, outcome]))).toEqual(
        Object.fromEntries(expected),
      );
      await quiet();
      const failed = all.filter(({ outcome }) => outcome !== 'ok');
      expect(
        failed
          .flatMap(({ one }) => one.events.map(({ type }) => type))
          .filter((type) => /sent|swap\.confirmed/.test(type)),
      ).toEqual([]);
      // What was signed had to be written down before it might leave.
      expect(failed.flatMap(({ one }) => kinds(one)).length).toBe(method === 'put' ? 3 : 0);
    },
  );
});

describe('a journal that falls silent', () => {
  it('release: the reason of the failure is told', async () => {
    const one = await payer({}, { journal: hanging('release') });
    const error = await failureOf(one.client.fetch(usdc()), 'insufficient_funds');
    expect(error.funds).toBe('untouched');
  });

  it('once a swap is signed: it is not sent', async () => {
    const one = await payer(SWAPPER, { journal: hanging('put', ({ swap }) => swap !== undefined) });
    const error = await failureOf(one.client.fetch(usdc()), 'journal_unavailable');
    expect(error).toMatchObject({ funds: 'untouched', moved: [] });
    await quiet();
    expect(kinds(one)).toEqual(['swap']);
    // The wallet is free.
    expect((await one.again({ autoSwap: true }).fetch(usdc())).status).toBe(200);
  });

  it('once the payment is signed, after a swap: it is not sent', async () => {
    const one = await payer(SWAPPER, {
      journal: hanging('put', ({ payment }) => payment !== undefined),
    });
    const error = await failureOf(one.client.fetch(usdc()), 'journal_unavailable');
    expect(error).toMatchObject({ funds: 'swapped', moved: [{ kind: 'swap' }] });
    expect(one.events.map(({ type }) => type)).not.toContain('payment.sent');
  });

  it('once the answer is there: the caller gets it, and is warned', async () => {
    const one = await payer(HOLDER, { journal: hanging('put', ({ delivered }) => delivered) });
    expect(await (await one.client.fetch(usdc())).json()).toMatchObject({ ok: true });
    expect(one.events.map(({ type }) => type)).toContain('warning');
  });

  it('in the middle of a reservation that it makes all the same: the budget is free again', async () => {
    const inner = memoryJournal();
    const journal: Journal = {
      ...inner,
      reserve: (attempt, caps) => inner.reserve(attempt, caps).then(never),
    };
    const one = await payer(HOLDER, { journal });
    await failureOf(one.client.fetch(usdc()), 'journal_unavailable');
    expect(await usedByCap(one.client)).toEqual(UNUSED);
  });

  it('when its caller gives up: the call ends all the same, and nothing is sent', async () => {
    const one = await payer(HOLDER, { journal: hanging('put') });
    const controller = new AbortController();
    const stop = one.client.on('payment.chosen', () => {
      stop();
      controller.abort('had enough');
    });
    expect(
      await one.client
        .fetch(usdc(), { signal: controller.signal })
        .catch((error: unknown) => error),
    ).toBe('had enough');
    expect(one.events.map(({ type }) => type)).not.toContain('payment.sent');
  });
});

describe('policy.approve that never answers', () => {
  it.each([
    ['a payment', HOLDER],
    ['a swap', SWAPPER],
  ] as const)(
    '%s: refused when timeouts.signer has passed, nothing is signed, and a late yes changes nothing',
    async (_, funds) => {
      let answer: (yes: boolean) => void = () => undefined;
      const approve = () => new Promise<boolean>((resolve) => (answer = resolve));
      const one = await payer(funds, { policy: { approve }, timeouts: { signer: 300 } });
      const error = await failureOf(one.client.fetch(usdc()), 'approval_refused');
      expect(error).toMatchObject({ funds: 'untouched', moved: [] });
      answer(true);
      await quiet();
      expect(kinds(one)).toEqual([]);
      expect(await usedByCap(one.client)).toEqual(UNUSED);
    },
  );

  it('ends with its caller', async () => {
    let tell = (): void => undefined;
    const asked = new Promise<void>((resolve) => (tell = resolve));
    const approve = () => (tell(), never());
    const one = await payer(HOLDER, { policy: { approve } });
    const controller = new AbortController();
    const call = one.client
      .fetch(usdc(), { signal: controller.signal })
      .catch((error: unknown) => error);
    await asked;
    controller.abort('had enough');
    expect(await call).toBe('had enough');
    expect(kinds(one)).toEqual([]);
  });
});
