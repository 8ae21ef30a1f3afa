import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SOLANA_MAINNET, pinnedMint } from '../../../src/network.js';
import { capsFor, takenOf, type Cap, type Spend } from '../../../src/policy/caps.js';
import { capsForSpends } from '../../../src/policy/cap-use.js';
import { checkPayment } from '../../../src/policy/refusals.js';
import type { SwapCost } from '../../../src/policy/cost.js';
import type { LimitOptions } from '../../../src/policy/limits.js';
import { parse } from './parse.js';

const MINTS = [
  pinnedMint(SOLANA_MAINNET, 'USDC')!.mint,
  'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263',
] as const;
const PAYEES = [
  '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
  '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
] as const;
const NAMES = ['a.test', 'b.test', '__proto__', '[::1]'] as const;
const WINDOWS = { minute: 60_000, hour: 3_600_000, day: 86_400_000, total: undefined } as const;

/**
 * A spend, and its name and port, so that the model need not read its host. A swap alone has no
 * host and no payee.
 */
interface Made {
  readonly spend: Spend;
  readonly name: string;
  readonly port: string;
}

const units = fc.integer({ min: 0, max: 9 }).map(String);
const swap: fc.Arbitrary<SwapCost> = fc.record({
  ...{
    swaps: fc.integer({ min: 0, max: 2 }),
    lossMicroUsd: units,
    feeMicroUsd: units,
    lamports: units,
    boughtMicroUsd: units,
  },
  inputs: fc.dictionary(fc.constantFrom(...MINTS), units),
});

const madeAt = (names: readonly string[]) =>
  fc
    .record({
      name: fc.constantFrom(...names),
      dot: fc.constantFrom('', '.'),
      port: fc.constantFrom('', ':8443', ':4021'),
      payTo: fc.constantFrom(...PAYEES, ''),
      mint: fc.constantFrom(...MINTS),
      amount: fc.integer({ min: 1, max: 20 }),
      usd: fc.option(fc.integer({ min: 1, max: 20 })),
      swapped: fc.option(swap, { nil: undefined }),
      swapping: fc.option(swap, { nil: undefined }),
    })
    .map(({ dot, port, payTo, mint, amount, usd, swapped, swapping, ...drawn }): Made => {
      const name = payTo === '' ? '' : drawn.name;
      const host = name === '' ? '' : `${name}${name.startsWith('[') ? '' : dot}${port}`;
      const swaps = { ...(swapped && { swapped }), ...(swapping && { swapping }) };
      return {
        spend: {
          host,
          payTo,
          mint,
          amount: `${amount}`,
          ...(usd === null ? {} : { microUsd: `${usd}` }),
          ...swaps,
        },
        name,
        port,
      };
    });

const over = fc.oneof(
  { withCrossShrink: true },
  fc.constant(undefined),
  fc.constant('*'),
  fc
    .tuple(fc.constantFrom(...NAMES), fc.constantFrom('', ':8443'))
    .map(([name, port]) => name + port),
);
const measure = fc.oneof(
  fc.integer({ min: 0, max: 60 }).map((n) => ({ usd: `0.0000${`${n}`.padStart(2, '0')}` })),
  fc.record({ amount: fc.bigInt({ min: 0n, max: 60n }), mint: fc.constantFrom(...MINTS) }),
  fc.record({ payments: fc.integer({ min: 0, max: 6 }) }),
  fc.record({ swaps: fc.integer({ min: 0, max: 6 }) }),
  fc.record({ lamports: fc.bigInt({ min: 0n, max: 60n }) }),
);

/** A limit without undefined fields, as a caller writes it. */
const limit = fc
  .record({
    measure,
    host: over,
    payee: fc.constantFrom(undefined, '*', ...PAYEES),
    mint: fc.constantFrom(undefined, ...MINTS),
    per: fc.constantFrom(
      'payment' as const,
      'minute' as const,
      'hour' as const,
      'day' as const,
      'total' as const,
    ),
  })
  .map(({ measure: how, host, payee, mint, per }): LimitOptions => {
    const only = mint === undefined ? {} : { mint };
    return {
      ...only,
      ...how,
      per: ('payments' in how || 'swaps' in how) && per === 'payment' ? 'hour' : per,
      ...(host === undefined ? {} : { host }),
      ...(payee === undefined ? {} : { payee }),
    };
  });

/** Whether a limit, by its documentation, concerns a spend. */
function isAbout(
  { host, payee, mint, amount }: LimitOptions,
  { spend, name, port }: Made,
): boolean {
  const isPayment = spend.payTo !== '';
  const byHost = [undefined, name, name + port].includes(host) || (host === '*' && isPayment);
  const byPayee = [undefined, spend.payTo].includes(payee) || (payee === '*' && isPayment);
  const isSwappedFrom = amount !== undefined && mint !== undefined && swappedFrom(spend, mint) > 0n;
  return byHost && byPayee && ([undefined, spend.mint].includes(mint) || isSwappedFrom);
}

function swapsOf({ swapped, swapping }: Spend): SwapCost[] {
  return [swapped, swapping].filter((cost) => cost !== undefined);
}

function swappedFrom(spend: Spend, mint: string): bigint {
  return swapsOf(spend).reduce((sum, { inputs }) => sum + BigInt(inputs[mint] ?? 0), 0n);
}

/** Whether two spends share one cap of the limit. */
function shares({ host, payee }: LimitOptions, a: Made, b: Made): boolean {
  return (host !== '*' || a.name === b.name) && (payee !== '*' || a.spend.payTo === b.spend.payTo);
}

function sizeIn({ usd, amount, payments, swaps, mint }: LimitOptions, spend: Spend): bigint {
  const sum = (pick: (swap: SwapCost) => string | number) =>
    swapsOf(spend).reduce((total, cost) => total + BigInt(pick(cost)), 0n);
  if (payments !== undefined) return 1n;
  if (swaps !== undefined) return sum((cost) => cost.swaps);
  if (amount !== undefined)
    return (spend.mint === mint ? BigInt(spend.amount) : 0n) + swappedFrom(spend, mint ?? '');
  if (usd === undefined) return sum((cost) => cost.lamports);
  const rest = BigInt(spend.microUsd ?? 0) - sum((cost) => cost.boughtMicroUsd);
  return (
    (rest > 0n ? rest : 0n) + sum((cost) => cost.lossMicroUsd) + sum((cost) => cost.feeMicroUsd)
  );
}

function limitOf({ usd, amount, payments, swaps, lamports }: LimitOptions): bigint {
  return usd !== undefined
    ? BigInt(usd.slice(2))
    : BigInt(amount ?? payments ?? swaps ?? lamports ?? -1);
}

const made = madeAt(NAMES);
// A service that has no journal plans payments of callers that name no URL.
const madeAnywhere = madeAt([...NAMES, '']);
const limits = fc.array(limit, { maxLength: 4 });
const cases = fc.record({
  limits,
  spends: fc.array(made, { maxLength: 12 }),
  next: made,
});

describe('any set of limits', () => {
  it('counts the same as a naive reading of the limits', () => {
    fc.assert(
      fc.property(cases, ({ limits, spends, next }) => {
        const policy = parse({ limits });
        const caps = new Map(capsFor(policy, next.spend).map((cap) => [cap.name, cap]));
        for (const [index, limit] of limits.entries()) {
          const cap = caps.get(`limits[${index}]`);
          expect(cap !== undefined).toBe(limit.per !== 'payment' && isAbout(limit, next));
          if (cap === undefined || limit.per === 'payment') continue;
          const same = spends.filter((past) => isAbout(limit, past) && shares(limit, past, next));
          const used = spends.reduce((sum, { spend }) => sum + takenOf(cap, spend), 0n);
          expect(used).toBe(same.reduce((sum, { spend }) => sum + sizeIn(limit, spend), 0n));
          expect([takenOf(cap, next.spend), cap.limit, cap.windowMs]).toEqual([
            sizeIn(limit, next.spend),
            limitOf(limit),
            WINDOWS[limit.per],
          ]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a single payment if a naive reading refuses it', () => {
    fc.assert(
      fc.property(limits, madeAnywhere, (limits, next) => {
        const about = limits.filter((limit) => limit.per === 'payment' && isAbout(limit, next));
        const tooMuch = about.some((limit) => sizeIn(limit, next.spend) > limitOf(limit));
        const capped = about.some(
          ({ amount, mint }) => amount !== undefined && mint === next.spend.mint,
        );
        const unpriced = next.spend.microUsd === undefined && !capped;
        expect(checkPayment(parse({ limits }), next.spend)?.code).toBe(
          tooMuch ? 'amount_over_limit' : unpriced ? 'price_unknown' : undefined,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is shown with every cap that counts a spend, each cap once', () => {
    const key = ({ name, host, payTo }: Cap) => `${name} ${host} ${payTo}`;
    fc.assert(
      fc.property(cases, ({ limits, spends }) => {
        const policy = parse({ limits });
        const seen = capsForSpends(policy, new Set(spends.map(({ spend }) => spend)));
        const keys = seen.map(key);
        expect(new Set(keys).size).toBe(keys.length);
        for (const { spend } of spends)
          for (const cap of capsFor(policy, spend)) expect(keys).toContain(key(cap));
        const each = seen.filter((cap) =>
          limits.some(
            (limit, index) =>
              cap.name === `limits[${index}]` && [limit.host, limit.payee].includes('*'),
          ),
        );
        const takes = (cap: Cap, spend: Spend) =>
          takenOf(cap, spend) + takenOf({ ...cap, unit: 'payments' }, spend) > 0n;
        for (const cap of each) expect(spends.some(({ spend }) => takes(cap, spend))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
