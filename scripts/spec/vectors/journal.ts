import { availableIn, emptyBalance, forget, heldOf, hold, release, see, spend, type AccountBalance } from '../../../src/journal/account-balance.js';
import { isAttempt } from '../../../src/journal/attempt-json.js';
import { createAttemptStore } from '../../../src/journal/attempt-store.js';
import type { Attempt } from '../../../src/journal/types.js';
import { costFor } from '../../../src/payments/attempt-receipt.js';
import { swapCostAfter } from '../../../src/payments/plan/swap-cost.js';
import { capUse, partsOf } from '../../../src/policy/cap-use.js';
import { capsFor, takenOf, type Cap } from '../../../src/policy/caps.js';
import { checkOffer, checkPayment, checkPlace } from '../../../src/policy/refusals.js';
import { overBudget } from '../../../src/policy/over-budget.js';
import { costOf, type SwapCost } from '../../../src/policy/cost.js';
import { parsePolicy } from '../../../src/policy/policy.js';
import { SOLANA_MAINNET } from '../../../src/network.js';
import { attemptOf, DAY_MS, fullAttemptOf, NOW } from '../../../test/helpers/attempts.js';
import { createRandom, type Random } from '../../../test/simulation/random.js';

const text = (random: Random, most: number) => String(random.int(0, most));
const MINTS = ['mint', 'USDC-mint', 'SOL-mint'];

function swapCost(random: Random): SwapCost {
  const cost = {
    swaps: random.int(1, 2),
    lossMicroUsd: text(random, 900),
    feeMicroUsd: text(random, 900),
    lamports: text(random, 90_000),
    inputs: { [random.pick(MINTS)]: text(random, 2 ** 40) },
    boughtMicroUsd: random.chance(0.5) ? '0' : text(random, 20_000),
    ...(random.chance(0.6)
      ? {
          prices: {
            ...(random.chance(0.8) ? { input: text(random, 2 ** 50) } : {}),
            ...(random.chance(0.5) ? { output: text(random, 2 ** 50) } : {}),
          },
        }
      : {}),
  };
  return Number(cost.lamports) % 5 === 0 ? { ...cost, unpriced: true } : cost;
}

export function drawAttempt(random: Random, id: string): Attempt {
  return attemptOf({
    id,
    ...{
      wallet: random.pick(['w1', 'w1', 'w2']),
      host: random.pick(['a.test', 'a.test:8443', 'b.test.']),
    },
    ...{ payTo: random.pick(['p1', 'p2']), mint: random.pick(MINTS), amount: text(random, 50_000) },
    ...{ fingerprint: random.pick(['f1', 'f2']), at: NOW + random.int(0, 2 * DAY_MS) },
    ...(random.chance(0.8) ? { microUsd: text(random, 50_000) } : { microUsd: undefined as never }),
    ...(random.chance(0.2) ? { idempotencyKey: random.pick(['k1', 'k2']) } : {}),
    ...(random.chance(0.3) ? { swapping: swapCost(random) } : {}),
    ...(random.chance(0.2) ? { swapped: swapCost(random) } : {}),
  });
}

const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export const CAPS: readonly Cap[] = [
  { name: 'maxPerDay', unit: 'USD', limit: 150_000n, windowMs: DAY_MS },
  { name: 'maxTotal', unit: 'USD', limit: 900_000n },
  { name: "maxPerHost['a.test']", unit: 'USD', limit: 90_000n, windowMs: DAY_MS, host: 'a.test' },
  { name: 'limits[0]', unit: 'payments', limit: 6n, windowMs: 60_000 },
  { name: 'limits[1]', unit: 'swaps', limit: 3n, windowMs: DAY_MS },
  { name: 'limits[2]', unit: 'mint', limit: 60_000n, windowMs: DAY_MS, mint: 'mint', payTo: 'p1' },
  { name: 'maxLamportsPerDay', unit: 'lamports', limit: 400_000n, windowMs: DAY_MS },
];

export function moved(random: Random, attempt: Attempt): Attempt {
  const { swapping: _swapping, ...rest } = attempt;
  return random.pick<() => Attempt>([
    () => ({ ...attempt, state: 'signed' }),
    () => ({ ...rest, state: 'unpaid', leftAt: NOW + random.int(0, DAY_MS) }),
    () => ({ ...attempt, state: 'abandoned' }),
    () => ({ ...attempt, state: 'settled', leftAt: NOW + random.int(0, 3 * DAY_MS) }),
    () => ({ ...rest, state: 'unsettled' }),
    () => ({ ...attempt, delivered: true }),
    () => ({ ...attempt, swapping: swapCost(random) }),
    () => ({ ...attempt, swap: { ...fullAttemptOf().swap!, signature: text(random, 3) } }),
  ])();
}

/** Vectors of an attempt store: sequences of calls with their answers. */
export function stores(): unknown[] {
  return Array.from({ length: 24 }, (_, index) => {
    const random = createRandom(`spec/stores/${index}`);
    const store = createAttemptStore();
    const known: Attempt[] = [];
    const calls = Array.from({ length: 30 }, (_, at) => {
      const caps = CAPS.filter(() => random.chance(0.6));
      const owner = { wallet: random.pick(['w1', 'w2']), network: 'network' };
      const now = NOW + random.int(0, 3 * DAY_MS);
      const earlier = known.length === 0 ? undefined : random.pick(known);
      const call =
        earlier === undefined
          ? 'reserve'
          : random.pick(['reserve', 'put', 'put', 'raise', 'release', 'used', 'similar']);
      if (call === 'reserve') {
        const attempt = json(drawAttempt(random, `id-${at}`));
        const out = store.refusal(attempt, caps) ?? null;
        if (out === null) {
          store.keep(attempt);
          known.push(attempt);
        }
        return {
          call,
          attempt,
          caps,
          out: out !== null && 'taken' in out ? { taken: out.taken.id } : out,
        };
      }
      if (call === 'put' || call === 'raise') {
        const attempt = json(moved(random, earlier!));
        try {
          const before = store.replacing(attempt, call === 'raise' ? caps : []);
          const isFull = before !== undefined && 'cap' in before;
          const isKept = before !== undefined && !isFull;
          if (isKept) {
            store.keep(attempt);
            known[known.indexOf(earlier!)] = attempt;
          }
          return {
            call,
            attempt,
            ...(call === 'raise' ? { caps } : {}),
            out: isFull ? before : { kept: isKept },
          };
        } catch (error) {
          return {
            call,
            attempt,
            ...(call === 'raise' ? { caps } : {}),
            refused: (error as Error).message,
          };
        }
      }
      if (call === 'release') {
        const isReleased = store.releasable(earlier!.id) !== undefined;
        if (isReleased) store.remove(earlier!.id);
        return { call, id: earlier!.id, out: isReleased };
      }
      if (call === 'used') return { call, owner, now, caps, out: store.used(owner, caps, now) };
      const key = random.chance(0.5) ? undefined : random.pick(['k1', 'k2']);
      const fingerprint = random.pick(['f1', 'f2']);
      return {
        call,
        owner,
        fingerprint,
        key,
        out: store.similar(owner, fingerprint, key).map(({ id }) => id),
      };
    });
    return { calls };
  });
}

type Step = { readonly step: string; readonly [name: string]: unknown };

/** Vectors of an account's balance: sequences of steps with the available amount. */
export function balances(): unknown[] {
  return Array.from({ length: 40 }, (_, index) => {
    const random = createRandom(`spec/balances/${index}`);
    let balance: AccountBalance = emptyBalance;
    const steps = Array.from({ length: 16 }, () => {
      const id = random.pick(['a', 'b', 'c']);
      const amount = BigInt(random.int(0, 100));
      const least = (balance.known?.amount ?? 0n) - heldOf(balance);
      const known = {
        // Holds explain every second reading.
        amount: least > 0n && random.chance(0.5) ? least : amount,
        at: random.int(0, 50) * random.pick([1, 1, 1_000]),
        ...(random.chance(0.7) ? { slot: random.int(0, 30) } : {}),
      };
      const slot = random.chance(0.7) ? random.int(0, 30) : undefined;
      const moved = random.chance(0.7) ? 0n : BigInt(random.int(-20, 20));
      const made = random.pick<() => [Step, AccountBalance]>([
        () => [{ step: 'see', known, moved }, see(balance, known, moved)],
        () => [{ step: 'see', known, moved }, see(balance, known, moved)],
        () => [{ step: 'hold', id, amount }, hold(balance, id, amount)],
        () => [{ step: 'hold', id, amount }, hold(balance, id, amount)],
        () => [{ step: 'release', id }, release(balance, id)],
        () => [{ step: 'spend', id, slot }, spend(balance, id, slot)],
        () => [{ step: 'forget' }, forget(balance)],
      ])();
      balance = made[1];
      const available = availableIn(balance, { from: 10, to: Infinity });
      return { ...made[0], held: heldOf(balance), available: available ?? null };
    });
    return { steps, out: balance };
  });
}

/** Vectors of values that are attempts, or not. */
export function attempts(): unknown[] {
  const whole = json(fullAttemptOf({ id: 'id' })) as unknown as Record<string, unknown>;
  const spoils: readonly (readonly [string, unknown])[] = [
    ...['id', 'url', 'host', 'mint', 'amount', 'state', 'delivered', 'at'].map(
      (name) => [name, undefined] as const,
    ),
    ...([
      ['at', '1'],
      ['at', true],
      ['at', 1.5],
      ['delivered', 1],
      ['state', 'paid'],
      ['state', 'toString'],
    ] as const),
    ...([
      ['amount', 10],
      ['amount', '-1'],
      ['amount', '1e3'],
      ['amount', ''],
      ['amount', '１'],
      ['amount', '12\n'],
    ] as const),
    ...([
      ['microUsd', '1.5'],
      ['microUsd', null],
      ['leftAt', '7'],
      ['leftAt', 7],
      ['idempotencyKey', 7],
    ] as const),
    ...([
      ['swap', {}],
      ['swap', null],
      ['swap', { ...(whole['swap'] as object), quoted: {} }],
    ] as const),
    ...([['swap', { ...(whole['swap'] as object), outcome: { state: 'failed' } }]] as const),
    ...([
      [
        'swap',
        { ...(whole['swap'] as object), outcome: { state: 'failed', code: 'swap_expired' } },
      ],
    ] as const),
    ...([
      ['swapped', { swaps: -1 }],
      ['swapping', 7],
      ['doubt', 7],
      ['more', { fields: true }],
    ] as const),
  ];
  const rows = [
    whole,
    ...spoils.map(([name, value]) => ({ ...whole, [name]: value })),
    null,
    [],
    'text',
  ];
  return rows.map((row) => ({ in: json(row), out: isAttempt(json(row)) }));
}

const POLICY = parsePolicy(
  {
    maxPerPayment: '0.04',
    maxPerHour: '0.10',
    maxPerHost: { 'a.test': '0.05' },
    limits: [
      { usd: '0.06', per: 'day', host: '*' },
      { usd: '0.02', per: 'payment', payee: 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9' },
      { payments: 30, per: 'minute' },
      { amount: '900', mint: 'USDC', per: 'payment' },
      { swaps: 2, per: 'hour', payee: '*' },
      { lamports: '60000', per: 'payment', payee: '*' },
    ],
    deny: { hosts: ['*.evil.test', 'bad.test'], schemes: ['upto'] },
    allow: { networks: ['solana'] },
  },
  SOLANA_MAINNET,
);

/** Vectors of the cost of attempts, and of the answers of caps. */
export function costs(): unknown[] {
  const drawn = Array.from({ length: 150 }, (_, index) => {
    const random = createRandom(`spec/costs/${index}`);
    const paying = json(drawAttempt(random, 'id'));
    // Every tenth attempt is a swap without a payment, so without a host and a payee.
    const alone = { host: '', payTo: '', amount: '0', microUsd: '0' };
    const attempt = index % 10 === 0 ? { ...paying, ...alone } : paying;
    const isPaid = random.chance(0.7);
    const refusal = checkPayment(POLICY, attempt);
    const caps = capsFor(POLICY, attempt);
    const outcome = random.pick([
      { state: 'failed', code: 'swap_expired' },
      { state: 'failed', code: 'swap_failed', feeLamports: '5000' },
      { state: 'failed', code: 'swap_failed' },
      {
        state: 'confirmed',
        inAmount: text(random, 2 ** 30),
        outAmount: text(random, 2 ** 30),
        feeLamports: '5000',
        rentLamports: '0',
      },
      { state: 'confirmed', inAmount: '1', outAmount: '1', feeLamports: '5000' },
    ] as const);
    const swap = random.chance(0.8) ? fullAttemptOf().swap : undefined;
    const used = caps.map((cap) => takenOf(cap, attempt));
    const [cap] = caps;
    return {
      ...{
        attempt,
        isPaid,
        cost: costOf(attempt, isPaid),
        receipt: costFor(attempt, 5_000n, isPaid),
      },
      refusal: refusal && {
        code: refusal.code,
        message: refusal.message,
        details: refusal.details,
      },
      caps: caps.map((limit, at) => ({ ...limit, takes: used[at] })),
      use:
        cap &&
        capUse(
          cap,
          used[0] ?? 0n,
          partsOf(cap).map((part) => takenOf(part, attempt)),
        ),
      over: cap && overBudget(cap, 7n, used[0] ?? 0n).message,
      ...{ outcome, swap },
      after: swapCostAfter(json({ ...attempt, ...(swap && { swap }) }), outcome) ?? null,
    };
  });
  const hosts = [
    'x.evil.test',
    'evil.test',
    'bad.test:8443',
    'good.test',
    'bad.test.',
    'notevil.test',
  ];
  const offers = [
    { payTo: 'p', mint: 'm', network: 'solana', scheme: 'exact' },
    { payTo: 'p', mint: 'm', network: 'solana-devnet', scheme: 'exact' },
    { payTo: 'p', mint: 'm', network: 'solana', scheme: ' UpTo ' },
  ];
  return [
    ...drawn,
    ...hosts.map((host) => ({ host, out: checkPlace(POLICY, host)?.details ?? null })),
    ...offers.map((offer) => ({ offer, out: checkOffer(POLICY, offer)?.details ?? null })),
  ];
}
