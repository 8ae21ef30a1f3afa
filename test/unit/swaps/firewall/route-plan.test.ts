import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { v1Forms, v2Forms } from '../../../../src/swaps/jupiter/layout.js';
import { NUMBERS_V1_BYTES, routePlanEnd } from '../../../../src/swaps/jupiter/route-plan.js';

type Bytes = readonly number[];

const u32 = (value: number): Bytes => [
  value & 255,
  (value >> 8) & 255,
  (value >> 16) & 255,
  value >>> 24,
];
const zeros = (length: number): Bytes => new Array<number>(length).fill(0);
const planOf = (steps: readonly Bytes[]): Bytes => [...u32(steps.length), ...steps.flat()];
const step = (...swap: Bytes): Bytes => [...swap, 100, 0, 1];
const end = (plan: Bytes) => routePlanEnd(Uint8Array.from(plan), 0);

// The content of each swap after its tag, repeated here in another order than in the source.
const some = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => [...bytes]);
const below = (size: number) => fc.nat(size - 1).map((tag) => [tag]);
const inOrder = (...parts: readonly fc.Arbitrary<number[]>[]) =>
  fc.tuple(...parts).map((contents) => contents.flat());
const maybe = (part: fc.Arbitrary<number[]>) => fc.oneof(below(1), inOrder(fc.constant([1]), part));
const many = (part: fc.Arbitrary<number[]>, most = 32) =>
  fc.array(part, { maxLength: most }).map((items) => [...u32(items.length), ...items.flat()]);
const flag = below(2);
const slices = many(some(2));
const tagged = (layouts: readonly (readonly [fc.Arbitrary<number[]>, Bytes])[]) =>
  layouts.flatMap(([content, tags]) =>
    tags.map((tag) => [tag, inOrder(fc.constant([tag]), content)] as const),
  );
const anyOf = (options: ReturnType<typeof tagged>) =>
  fc.oneof(...options.map(([, bytes]) => bytes));

const candidate = anyOf(
  tagged([
    [fc.constant([]), [3, 4, 6, 11, 13, 18]],
    [flag, [1, 5, 7, 8, 9, 12, 14]],
    [inOrder(some(8), flag), [0, 2]],
    [inOrder(flag, maybe(slices)), [10]],
    [inOrder(some(56), flag), [15]],
    [inOrder(some(64), flag), [16]],
    [inOrder(some(80), flag), [17]],
  ]),
);
const oneByte = [
  8, 12, 15, 16, 17, 18, 21, 23, 24, 27, 28, 39, 58, 60, 61, 64, 85, 89, 94, 95, 104, 106, 107, 110,
  116, 117, 119, 121, 125,
];
const oneByteSince = [
  127, 129, 136, 141, 145, 151, 152, 153, 160, 162, 164, 174, 177, 178, 181, 182, 184, 189, 192,
  193, 194, 196,
];
const layouts: readonly (readonly [fc.Arbitrary<number[]>, Bytes])[] = [
  [flag, [...oneByte, ...oneByteSince]],
  [below(8), [132, 172]],
  [below(3), [171]],
  [some(1), [170]],
  [some(2), [71]],
  [some(4), [33, 41]],
  [some(5), [44, 45]],
  [some(8), [81, 82, 159]],
  [some(10), [43, 135]],
  [some(16), [29, 122]],
  [some(48), [123]],
  [inOrder(flag, flag), [155, 167, 187, 191]],
  [inOrder(some(1), flag, flag), [42]],
  [inOrder(flag, some(1)), [86]],
  [inOrder(flag, some(4)), [161]],
  [inOrder(flag, some(16)), [126]],
  [inOrder(some(8), flag), [87, 118, 157]],
  [inOrder(some(56), flag), [185]],
  [inOrder(some(64), flag), [186]],
  [inOrder(some(80), flag), [190]],
  [inOrder(flag, maybe(some(1))), [183]],
  [inOrder(flag, maybe(slices)), [47, 103]],
  [inOrder(flag, many(some(1), 200)), [120]],
  [slices, [75]],
  [inOrder(many(candidate), maybe(some(1))), [111]],
  [inOrder(many(inOrder(candidate, some(4))), some(2)), [146]],
];
const doubted = [165, 166, 168];
const laden = new Set(layouts.flatMap(([, tags]) => tags));
const bare = Array.from({ length: 197 }, (_, tag) => tag).filter(
  (tag) => !laden.has(tag) && !doubted.includes(tag),
);
const swaps = tagged([...layouts, [fc.constant([]), bare]]);
const plans = fc
  .array(inOrder(anyOf(swaps), some(3)), { maxLength: 32, size: 'small' })
  .map(planOf);

describe('routePlanEnd', () => {
  const [ROUTE, SHARED] = ['e517cb977ae3ad2a', 'c1209b3341d69c81'];
  const real: readonly (readonly [string, string, bigint, bigint, number, number])[] = [
    [ROUTE, '0100000019640001f82e010000000000c1ad0900000000002b0005', 77_560n, 634_305n, 43, 5],
    [
      ROUTE,
      '01000000120064000180f0fa02000000005d34700000000000320000',
      50_000_000n,
      7_353_437n,
      50,
      0,
    ],
    [
      ROUTE,
      '010000002f010064000180841e00000000003da9170000000000320000',
      2_000_000n,
      1_550_653n,
      50,
      0,
    ],
    [
      ROUTE,
      '0100000048640001497ecc010000000046f5828e04000000ac0355',
      30_178_889n,
      19_570_816_326n,
      940,
      85,
    ],
    [
      ROUTE,
      '020000005f006400015f016401027e12de0e00000000def5fb0200000000320000',
      249_434_750n,
      50_066_910n,
      50,
      0,
    ],
    [
      SHARED,
      '0e030000003d016400011a64010234640203402c420600000000e953780100000000500000',
      105_000_000n,
      24_663_017n,
      80,
      0,
    ],
  ];

  it.each(real)(
    'finds the numbers of a swap that was sent to mainnet (%s %s)',
    (discriminator, hex, first, second, slippage, fee) => {
      const data = Uint8Array.from(Buffer.from(discriminator + hex, 'hex'));
      const at = routePlanEnd(data, v1Forms.get(discriminator)?.plan ?? Number.NaN) ?? Number.NaN;
      expect(data.length - at).toBe(NUMBERS_V1_BYTES);
      const view = new DataView(data.buffer, at);
      expect([view.getBigUint64(0, true), view.getBigUint64(8, true)]).toEqual([first, second]);
      expect([view.getUint16(16, true), view.getUint8(18)]).toEqual([slippage, fee]);
    },
  );

  it.each(swaps)(
    'ends at the end of a plan with swap %i, whatever follows, and refuses the plan cut anywhere',
    (_, swap) => {
      fc.assert(
        fc.property(swap, some(3), some(40), (content, rest, behind) => {
          const plan = planOf([[...content, ...rest]]);
          expect(end([...plan, ...behind])).toBe(plan.length);
          expect(plan.filter((_, length) => end(plan.slice(0, length)) !== undefined)).toEqual([]);
        }),
        { numRuns: 20 },
      );
    },
  );

  it('ends at the end of any plan, wherever it begins, also inside a larger buffer', () => {
    fc.assert(
      fc.property(
        plans,
        fc.uint8Array({ maxLength: 20 }),
        fc.uint8Array({ maxLength: 40 }),
        (plan, before, behind) => {
          const buffer = Uint8Array.from([255, 255, 255, ...before, ...plan, ...behind]);
          expect(routePlanEnd(buffer.subarray(3), before.length)).toBe(before.length + plan.length);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('leaves a second set of numbers that follows the set that counts', () => {
    fc.assert(
      fc.property(plans, some(NUMBERS_V1_BYTES), some(NUMBERS_V1_BYTES), (plan, taken, shown) => {
        const data = [...plan, ...taken, ...shown];
        expect(data.length - (end(data) ?? Number.NaN)).toBe(2 * NUMBERS_V1_BYTES);
      }),
      { numRuns: 200 },
    );
  });

  it('refuses any plan that is cut anywhere', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        expect(plan.filter((_, length) => end(plan.slice(0, length)) !== undefined)).toEqual([]);
      }),
      { numRuns: 50 },
    );
    expect(routePlanEnd(Uint8Array.from(planOf([step(0)])), 99)).toBeUndefined();
  });

  it('refuses swaps with unknown bytes, alone and after other swaps', () => {
    const unknown = [...doubted, ...Array.from({ length: 59 }, (_, tag) => 197 + tag)];
    for (const tag of unknown) {
      expect(end([...planOf([[tag]]), ...zeros(100)])).toBeUndefined();
      expect(end([...planOf([step(0), [tag]]), ...zeros(100)])).toBeUndefined();
    }
    expect(new Set([...unknown, ...swaps.map(([tag]) => tag)]).size).toBe(256);
  });

  const invalid: readonly (readonly [string, Bytes])[] = [
    ['a bool of 2', [8, 2]],
    ['a side of 2', [12, 2]],
    ['a bool of 255 behind an id', [87, ...zeros(8), 255]],
    ['the second of two bools', [191, 1, 2]],
    ['an unknown kind of Hylo swap', [132, 8]],
    ['an unknown kind of Sanctum swap', [171, 3]],
    ['an unknown tranche', [182, 2]],
    ['an option with an invalid tag', [47, 1, 2]],
    ['an option of a byte with an invalid tag', [183, 0, 7]],
    ['an option behind a list', [111, ...u32(0), 2]],
    ['an unknown candidate', [111, ...u32(1), 19, 0]],
    ['a candidate with a bool of 2', [146, ...u32(1), 5, 2, ...zeros(4), 1, 1]],
    ['a bool of 2 at the end of a router call', [190, ...zeros(80), 2]],
  ];

  it.each(invalid)('refuses %s', (_, swap) => {
    expect(end([...planOf([step(...swap)]), ...zeros(100)])).toBeUndefined();
  });

  const enough = zeros(4_000);
  const numerous: readonly (readonly [string, number, (count: number) => Bytes])[] = [
    ['steps', 32, (count) => [...u32(count), ...enough]],
    ['slices of accounts', 32, (count) => [...u32(1), 75, ...u32(count), ...enough]],
    ['slices in an option', 32, (count) => [...u32(1), 103, 0, 1, ...u32(count), ...enough]],
    ['candidates', 32, (count) => [...u32(1), 111, ...u32(count), ...enough]],
    ['candidates with their shares', 32, (count) => [...u32(1), 146, ...u32(count), ...enough]],
    [
      'slices of a candidate',
      32,
      (count) => [...u32(1), 111, ...u32(1), 10, 0, 1, ...u32(count), ...enough],
    ],
    ['bytes of a fill', 1_232, (count) => [...u32(1), 120, 0, ...u32(count), ...enough]],
  ];

  it.each(numerous)('refuses more %s than %i, even if the data has that many', (_, most, bytes) => {
    expect(end(bytes(most))).toBeDefined();
    for (const count of [most + 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff])
      expect(end(bytes(count))).toBeUndefined();
  });

  it('never throws for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(220), (data, from) => {
        const at = routePlanEnd(data, from) ?? data.length;
        expect(at).toBeLessThanOrEqual(data.length);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a V1 form', () => {
  const accounts = {
    route:
      'tokenProgram user source destination destinationOverride destinationMint feeAccount eventAuthority self',
    exact_out_route:
      'tokenProgram user source destination destinationOverride sourceMint destinationMint feeAccount token2022Program eventAuthority self',
    shared_accounts_route:
      'tokenProgram - user source - - destination sourceMint destinationMint feeAccount token2022Program eventAuthority self',
    shared_accounts_exact_out_route:
      'tokenProgram - user source - - destination sourceMint destinationMint feeAccount token2022Program eventAuthority self',
  };

  it.each(Object.entries(accounts))(
    'has the accounts and the discriminator of the program for %s',
    async (name, order) => {
      const digest = await crypto.subtle.digest(
        'SHA-256',
        new TextEncoder().encode(`global:${name}`),
      );
      const {
        name: found,
        mode,
        plan,
        ...positions
      } = v1Forms.get(Buffer.from(digest.slice(0, 8)).toString('hex')) ?? {};
      expect(found).toBe(name);
      expect(mode).toBe(name.includes('exact_out') ? 'ExactOut' : 'ExactIn');
      expect(plan).toBe(name.startsWith('shared') ? 9 : 8);
      const wanted = order.split(' ').map((account, at) => [account, at] as const);
      expect(positions).toEqual(Object.fromEntries(wanted.filter(([account]) => account !== '-')));
    },
  );

  it.each([...v2Forms.values()])('names no account behind its last in $name', (form) => {
    const { name: _name, mode: _mode, amounts: _amounts, self, ...others } = form;
    expect(Math.max(...Object.values(others))).toBe(self - 1);
  });
});
