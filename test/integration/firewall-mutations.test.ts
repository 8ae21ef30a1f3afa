import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eachNth, inChaos, inTurn } from '../helpers/sampled.js';
import { type Offer, Trial, type WantedName, wanted, wantedNames } from '../helpers/trial.js';
import { anyText } from '../helpers/any-text.js';

let trial: Trial;
const offers = new Map<WantedName, Offer>();

beforeAll(async () => {
  trial = await Trial.open('firewall-mutations');
  for (const name of wantedNames) offers.set(name, await trial.offer(wanted[name]));
});

afterAll(() => trial.close());

const SEED = 20_261_121;
/** Masks for the lowest bit, the highest bit and all bits of a byte. */
const MASKS = [0x01, 0x80, 0xff];
const BYTES = [0, 1, 0x80, 0xff];

/**
 * Judges a transaction by `inspectSwap` and by the client. Each refuses it with a typed error or
 * accepts it. The trial then signs and runs it and compares the losses with the terms.
 */
async function judge(offer: Offer, transaction: unknown): Promise<void> {
  await trial.inspect(offer, transaction);
  await trial.extract(offer, transaction);
}

const spliced = (
  bytes: Uint8Array,
  at: number,
  drop: number,
  insert: readonly number[],
): Uint8Array =>
  Uint8Array.from([...bytes.subarray(0, at), ...insert, ...bytes.subarray(at + drop)]);

describe.each(inChaos ? wantedNames : eachNth(wantedNames, 4, 1))(
  'the transaction of %s',
  (name) => {
    it('is accepted unchanged by inspectSwap and by the client', async () => {
      const offer = offers.get(name)!;
      expect(await trial.inspect(offer, offer.bytes)).toBe(true);
      expect(await trial.extract(offer, offer.bytes)).toBe(true);
    });

    it('is refused or takes no more than the terms with any byte changed', async () => {
      const offer = offers.get(name)!;
      const before = { ...trial.tally };
      for (let at = 0; at < offer.bytes.length; at += 1) {
        for (const mask of inChaos ? MASKS : inTurn(MASKS, at))
          await judge(offer, spliced(offer.bytes, at, 1, [offer.bytes[at]! ^ mask]));
      }
      // Some bytes are free, such as the blockhash and the compute budget; most are not.
      const { refused, accepted, landed } = trial.tally;
      expect(accepted - before.accepted).toBeGreaterThan(inChaos ? 96 : 32);
      expect(landed - before.landed).toBeGreaterThan(inChaos ? 10 : 3);
      expect(refused - before.refused).toBeGreaterThan(4 * (accepted - before.accepted));
    });

    it('is refused or takes no more than the terms when shortened or extended', async () => {
      const offer = offers.get(name)!;
      for (let at = 0; at < offer.bytes.length; at += 1) {
        await judge(offer, offer.bytes.subarray(0, at));
        await judge(offer, spliced(offer.bytes, at, 1, []));
        for (const byte of inChaos ? BYTES : inTurn(BYTES, at))
          await judge(offer, spliced(offer.bytes, at, 0, [byte]));
      }
    });
  },
);

describe('a malformed transaction', () => {
  const places = fc.nat({ max: 1_232 });

  it('is refused or takes no more than the terms when it mixes parts of two transactions', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...wantedNames),
        fc.constantFrom(...wantedNames),
        fc.array(fc.tuple(places, places, fc.nat({ max: 80 })), { minLength: 1, maxLength: 4 }),
        fc.uint8Array({ maxLength: 8 }),
        async (name, otherName, moves, noise) => {
          const [offer, other] = [offers.get(name)!, offers.get(otherName)!];
          const bytes = moves.reduce((now, [to, from, length]) => {
            const part = [
              ...other.bytes.subarray(
                from % other.bytes.length,
                (from % other.bytes.length) + length,
              ),
              ...noise,
            ];
            return spliced(now, to % now.length, part.length, part);
          }, offer.bytes);
          await judge(offer, bytes);
        },
      ),
      { seed: SEED, numRuns: inChaos ? 500 : 100 },
    ));

  it('is refused when it is random bytes or text', () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 1_400 }),
          fc.uint8Array({ maxLength: 1_400 }).map((bytes) => Buffer.from(bytes).toString('base64')),
          anyText({ maxLength: 2_000 }),
          fc.base64String({ maxLength: 2_000 }),
        ),
        fc.constantFrom(...wantedNames),
        async (transaction, name) => {
          expect(await trial.inspect(offers.get(name)!, transaction)).toBe(false);
          expect(await trial.extract(offers.get(name)!, transaction)).toBe(false);
        },
      ),
      { seed: SEED, numRuns: inChaos ? 2_000 : 400 },
    ));

  it('is refused when it is any other value', () =>
    fc.assert(
      fc.asyncProperty(
        fc.anything({ withTypedArray: true, withBigInt: true, withNullPrototype: true }),
        async (transaction) => {
          const offer = offers.get('route_v2, USDC to USDT')!;
          expect(await trial.inspect(offer, transaction)).toBe(false);
          expect(await trial.extract(offer, transaction)).toBe(false);
        },
      ),
      { seed: SEED, numRuns: 500 },
    ));
});
