import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Handed, handedOn, withByte, withMeta } from '../helpers/handed.js';
import { eachNth, inChaos, inTurn, share } from '../helpers/sampled.js';
import { wantedNames } from '../helpers/trial.js';

const SEED = 20_261_121;
/** Masks for the lowest bit, the highest bit and all bits of a byte. */
const MASKS = [0x01, 0x80, 0xff];

const sample = eachNth(wantedNames, 2);

let handed: Handed;

beforeAll(async () => {
  handed = await handedOn('firewall-mutated-swap');
});

afterAll(() => handed.trial.close());

// In chaos, `handed.test.ts` makes each of these changes and more.
describe.each(inChaos ? [] : sample)('the swap instruction of %s', (name) => {
  it('is signed when it is unchanged', async () => {
    expect(await handed.hand(name, (swap) => swap)).toBe(true);
  });

  it('is refused or takes no more than the terms with any byte changed', async () => {
    const { tally } = handed.trial;
    const before = { ...tally };
    for (const [at, byte] of handed.swaps[name].data.entries()) {
      for (const mask of inTurn(MASKS, at))
        await handed.hand(name, (swap) => withByte(swap, at, byte ^ mask));
    }
    // Changes of the route plan land, and changes of a number in favour of the wallet.
    expect(tally.landed - before.landed).toBeGreaterThan(3);
    expect(tally.refused - before.refused).toBeGreaterThan(16);
  });

  it('is refused or takes no more than the terms with any account replaced', async () => {
    const { tally } = handed.trial;
    const { accounts } = handed.swaps[name];
    const before = tally.refused;
    for (const at of accounts.keys()) {
      for (const address of handed.telling)
        await handed.hand(name, (swap) => withMeta(swap, at, { address }));
    }
    expect(tally.refused - before).toBeGreaterThan((accounts.length * handed.telling.length) / 2);
  });
});

describe.each(share(wantedNames, sample))('the swap instruction of %s', (name) => {
  it('is refused or takes no more than the terms with several bytes and accounts changed', () => {
    const { accounts, data } = handed.swaps[name];
    const byte = fc.tuple(fc.nat({ max: data.length - 1 }), fc.nat({ max: 255 }));
    const account = fc.tuple(
      fc.nat({ max: accounts.length - 1 }),
      fc.nat({ max: handed.interesting.length - 1 }),
      fc.boolean(),
    );
    return fc.assert(
      fc.asyncProperty(
        fc.array(byte, { maxLength: 2 }),
        fc.array(account, { maxLength: 2 }),
        async (bytes, replaced) => {
          await handed.hand(name, (swap) => {
            const written = bytes.reduce((now, [at, value]) => withByte(now, at, value), swap);
            return replaced.reduce(
              (now, [at, n, writable]) =>
                withMeta(now, at, { address: handed.interesting[n]!, writable }),
              written,
            );
          });
        },
      ),
      { seed: SEED, numRuns: 100 },
    );
  });
});
