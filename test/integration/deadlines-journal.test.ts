import {
  isExactChangeError,
  memoryJournal,
  type Attempt,
  type ClientOptions,
  type Journal,
} from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { beforeAll, describe, expect, it } from 'vitest';
import { recovery } from '../../src/payments/on-demand.js';
import { listOf } from '../helpers/attempts.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { UNUSED, usedByCap } from '../helpers/worth.js';

// A journal or a hook that never answers: each call must end by its own timeouts, sign nothing that
// is not recorded, and send nothing.

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

type Funds = Partial<Record<MintSymbol, string>>;
type Method = 'reserve' | 'put' | 'raise' | 'release' | 'similar' | 'attempts' | 'used';

const HOLDER: Funds = { USDC: '1' };
const SWAPPER: Funds = { SOL: '0.1', BONK: '5000000' };
const QUICK: ClientOptions = { timeouts: { journal: 300 } };
const never = () => new Promise<never>(() => undefined);
const usdc = () => `${sandbox.apiUrl}/usdc`;
const kinds = ({ signed }: Payer) => signed.map(({ kind }) => kind);

// Steps that answer must do so within the limit, and these load their code at the first call.
beforeAll(async () => {
  await Promise.all([memoryJournal().release('none'), recovery()]);
});

/** A journal in memory with a method that never answers for the attempts that `hangs` chooses. */
function hanging(method: Method, hangs: (attempt: Attempt) => boolean = () => true): Journal {
  const inner = memoryJournal();
  const hung: Pick<Journal, Method> = {
    reserve: (attempt, caps) => (hangs(attempt) ? never() : inner.reserve(attempt, caps)),
    put: (attempt) => (hangs(attempt) ? never() : inner.put(attempt)),
    raise: never,
    release: never,
    similar: never,
    attempts: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }),
    used: never,
  };
  return { ...inner, [method]: hung[method] };
}

const createPayer = (funds: Funds, options: ClientOptions) =>
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
  receipts: { funds: {}, run: (client) => listOf(client.receipts()) },
  resume: { funds: {}, run: (client) => client.resume() },
} as const satisfies Record<string, Call>;
type Name = keyof typeof CALLS;
const NAMES = Object.keys(CALLS) as Name[]; // The keys of a literal.

async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    return `${error.code} ${error.funds}`;
  }
}

/** Gives work in the background the time that a swap and a payment of another wallet take. */
async function quiet(): Promise<void> {
  const other = await payerOn(sandbox, SWAPPER, { autoSwap: true });
  expect((await other.client.fetch(usdc())).status).toBe(200);
}

describe('a journal with a method that never answers', () => {
  it.each<[method: Method, failing: readonly Name[]]>([
    ['reserve', ['fetch', 'fetch with a swap', 'pay']],
    ['put', ['fetch', 'fetch with a swap', 'pay']],
    ['raise', ['fetch with a swap']],
    ['similar', ['fetch', 'fetch with a swap']],
    ['attempts', ['fetch', 'fetch with a swap', 'pay', 'receipts', 'resume']],
    ['used', ['plan', 'spent']],
    ['release', []],
  ])(
    'ends each call that needs %s by timeouts.journal, and nothing is sent',
    async (method, failing) => {
      const calls = await Promise.all(
        NAMES.map(async (name) => {
          const call: Call = CALLS[name];
          const payer = await createPayer(call.funds, { journal: hanging(method) });
          return { name, payer, outcome: await outcomeOf(call.run(payer.client)) };
        }),
      );
      // The journal may hold an earlier payment for the same call that the client cannot read.
      const funds = (name: Name) =>
        /^fetch|^resume/.test(name) && (method === 'similar' || method === 'attempts')
          ? 'uncertain'
          : 'untouched';
      const expected = NAMES.map((name) => [
        name,
        failing.includes(name) ? `journal_unavailable ${funds(name)}` : 'ok',
      ]);
      expect(Object.fromEntries(calls.map(({ name, outcome }) => [name, outcome]))).toEqual(
        Object.fromEntries(expected),
      );
      await quiet();
      const failed = calls.filter(({ outcome }) => outcome !== 'ok');
      expect(
        failed
          .flatMap(({ payer }) => payer.events.map(({ type }) => type))
          .filter((type) => /sent|swap\.confirmed/.test(type)),
      ).toEqual([]);
      // Only `put` comes after a signature: the client records a signed payment before it sends it.
      expect(failed.flatMap(({ payer }) => kinds(payer)).length).toBe(method === 'put' ? 3 : 0);
    },
  );
});

describe('a journal that stops answering', () => {
  it('keeps a signed payment from being sent after its swap', async () => {
    const payer = await createPayer(SWAPPER, {
      journal: hanging('put', ({ payment }) => payment !== undefined),
    });
    const error = await failureOf(payer.client.fetch(usdc()), 'journal_unavailable');
    expect(error).toMatchObject({ funds: 'swapped', moved: [{ kind: 'swap' }] });
    expect(payer.events.map(({ type }) => type)).not.toContain('payment.sent');
  });

  it('frees the budget of a reservation that it made without an answer', async () => {
    const inner = memoryJournal();
    const journal: Journal = {
      ...inner,
      reserve: (attempt, caps) => inner.reserve(attempt, caps).then(never),
    };
    const payer = await createPayer(HOLDER, { journal });
    await failureOf(payer.client.fetch(usdc()), 'journal_unavailable');
    expect(await usedByCap(payer.client)).toEqual(UNUSED);
  });
});

describe('policy.approve that never answers', () => {
  it.each([
    ['a payment', HOLDER],
    ['a swap', SWAPPER],
  ] as const)(
    'refuses %s after timeouts.signer, and a late yes signs nothing',
    async (_, funds) => {
      let answer: (yes: boolean) => void = () => undefined;
      const approve = () => new Promise<boolean>((resolve) => (answer = resolve));
      const payer = await createPayer(funds, { policy: { approve }, timeouts: { signer: 300 } });
      const error = await failureOf(payer.client.fetch(usdc()), 'approval_refused');
      expect(error).toMatchObject({ funds: 'untouched', moved: [] });
      answer(true);
      await quiet();
      expect(kinds(payer)).toEqual([]);
      expect(await usedByCap(payer.client)).toEqual(UNUSED);
    },
  );
});
