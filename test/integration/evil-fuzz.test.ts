import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PLANNED, startStage, STEPWISE, SWAP, trial, type Stage } from '../helpers/evil-audit.js';
import { write, type EvilLie } from '../helpers/evil-front.js';
import { inChaos } from '../helpers/sampled.js';

/** A change of the bytes of an answer or of its JSON; `at` and `from` are shares of its length. */
type Change =
  | { readonly kind: 'flip' | 'transaction'; readonly at: number; readonly bit: number }
  | { readonly kind: 'cut' | 'drop'; readonly at: number }
  | { readonly kind: 'double'; readonly at: number; readonly length: number }
  | { readonly kind: 'insert'; readonly at: number; readonly text: string }
  | { readonly kind: 'leaf'; readonly at: number; readonly value: unknown }
  | { readonly kind: 'copy'; readonly at: number; readonly from: number };

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const odd = fc.constantFrom<unknown>(
  ...[
    null,
    0,
    -1,
    1e300,
    '',
    '0',
    '1',
    '18446744073709551615',
    '18446744073709551616',
    '-1',
    '1e3',
    true,
    false,
    [],
    {},
  ],
  ...[
    'swap_required',
    'ready_to_present',
    'ExactIn',
    'ExactOut',
    'AAAA'.repeat(100),
    { __proto__: { polluted: true } },
  ],
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('flip' as const, 'transaction' as const),
    at: share,
    bit: fc.nat(7),
  }),
  fc.record({ kind: fc.constantFrom('cut' as const, 'drop' as const), at: share }),
  fc.record({
    kind: fc.constant('double' as const),
    at: share,
    length: fc.integer({ min: 1, max: 64 }),
  }),
  fc.record({
    kind: fc.constant('insert' as const),
    at: share,
    text: fc.constantFrom('"', '{', ',', '0', '\\u0000', '\u0000', '9', '}}'),
  }),
  fc.record({ kind: fc.constant('leaf' as const), at: share, value: odd }),
  fc.record({ kind: fc.constant('copy' as const), at: share, from: share }),
);

interface Leaf {
  readonly value: unknown;
  set(value: unknown): void;
  drop(): void;
}

function leavesOf(value: unknown): Leaf[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.keys(value).flatMap((key) => {
    const inner: unknown = Reflect.get(value, key);
    const own = {
      value: inner,
      set: (replacement: unknown) => void Reflect.set(value, key, replacement),
      drop: () => void Reflect.deleteProperty(value, key),
    };
    return [own, ...leavesOf(inner)];
  });
}

const placed = <T>(list: readonly T[], at: number): T | undefined =>
  list[Math.floor(at * list.length)];

function inJson(bytes: Buffer, alter: (leaves: readonly Leaf[]) => void): Buffer {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    alter(leavesOf(value));
    return Buffer.from(JSON.stringify(value));
  } catch {
    // An earlier change has broken the JSON.
    return bytes;
  }
}

const flipped = (bytes: Buffer, at: number, bit: number): Buffer => {
  const changed = Buffer.from(bytes);
  const place = Math.floor(at * bytes.length);
  if (place < bytes.length) changed.writeUInt8(bytes.readUInt8(place) ^ (1 << bit), place);
  return changed;
};

function changed(bytes: Buffer, one: Change): Buffer {
  const place = Math.floor(one.at * bytes.length);
  switch (one.kind) {
    case 'flip':
      return flipped(bytes, one.at, one.bit);
    case 'cut':
      return bytes.subarray(0, place);
    case 'double':
      return Buffer.concat([bytes.subarray(0, place + one.length), bytes.subarray(place)]);
    case 'insert':
      return Buffer.concat([
        bytes.subarray(0, place),
        Buffer.from(one.text),
        bytes.subarray(place),
      ]);
    case 'leaf':
      return inJson(bytes, (leaves) => placed(leaves, one.at)?.set(one.value));
    case 'drop':
      return inJson(bytes, (leaves) => placed(leaves, one.at)?.drop());
    case 'copy':
      return inJson(bytes, (leaves) =>
        placed(leaves, one.at)?.set(placed(leaves, one.from)?.value),
      );
    case 'transaction':
      return inJson(bytes, (leaves) => {
        // Only a transaction is such a long text without spaces.
        const built = leaves.filter(
          ({ value }) => typeof value === 'string' && /^[A-Za-z0-9+/=]{400,}$/.test(value),
        );
        for (const leaf of built)
          leaf.set(
            flipped(Buffer.from(String(leaf.value), 'base64'), one.at, one.bit).toString('base64'),
          );
      });
  }
}

const lieOf = (changes: readonly Change[]): EvilLie => ({
  answers: (response, honest) =>
    write(response, { ...honest, bytes: changes.reduce(changed, honest.bytes) }),
});

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const RUNS = inChaos ? 50 : 10;
const SEED = 20_261_123;

describe.concurrent.each([PLANNED, STEPWISE, SWAP])(
  'a service with randomly changed answers: $name',
  (way) => {
    it('gets no signature beyond the terms, and each error has a text of the client', async () => {
      const ends = new Set<string>();
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
          const { end, session } = await trial(stage, way, lieOf(changes), {
            options: { ...way.bait?.options, timeouts: { service: 5_000 } },
          });
          expect(session.told.length).toBeGreaterThan(0);
          ends.add(end);
        }),
        { numRuns: RUNS, seed: SEED },
      );
      // Both ends occur: the client does not read every changed part.
      expect(ends).toEqual(new Set(['done', 'refused']));
    });
  },
);
