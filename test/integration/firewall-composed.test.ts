import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isExactChangeError } from 'exact-change';
import { composeSwap } from '../../src/swaps/transaction/compose.js';
import { extractSwap } from '../../src/swaps/firewall/extract.js';
import { type Composition, checkComposed } from '../../src/swaps/firewall/self-check.js';
import { fetchLookupTables } from '../../src/swaps/firewall/tables.js';
import { nothingReserved } from '../../src/swaps/transaction/plan.js';
import { accountBytes, type Leg, readWallet } from '../../src/swaps/transaction/read-facts.js';
import type { Deal } from '../helpers/estate.js';
import { placesOf } from '../helpers/places.js';
import { inTurn, share } from '../helpers/sampled.js';
import { Trial, type WantedName, wanted, wantedNames } from '../helpers/trial.js';
import { swapDecoders as decoders } from '../../src/swaps/sources.js';

/** The lowest bit, the highest, and all of a byte. */
const MASKS = [0x01, 0x80, 0xff];

/** A message that the client would sign, and what it says that it has composed. */
interface Composed {
  readonly message: Uint8Array;
  readonly said: Composition;
  readonly deal: Deal;
}

let trial: Trial;
const all = new Map<WantedName, Composed>();

beforeAll(async () => {
  trial = await Trial.open('firewall-composed');
  for (const name of wantedNames) all.set(name, await composed(name));
});

afterAll(() => trial.close());

async function composed(name: WantedName): Promise<Composed> {
  const { node, estate, blockhash } = trial;
  const { bytes, terms, deal } = await trial.offer(wanted[name]);
  const { instruction, lookupTables: names } = await extractSwap(node, bytes, estate.wallet, {
    decoders,
  });
  const lookupTables = await fetchLookupTables(node, names);
  const { legs, lamports } = await readWallet(
    node,
    estate.wallet,
    [terms.inputMint, terms.outputMint],
    {},
  );
  const [input, output] = legs;
  if (input === undefined || output === undefined) throw new Error('a swap has two sides');
  const { maxPriorityFee, ...rest } = terms;
  const expected = {
    ...rest,
    inputProgram: input.mint.tokenProgram,
    outputProgram: output.mint.tokenProgram,
  };
  const rentOf = ({ mint }: Leg) => node.rent(accountBytes(mint));
  const rents = {
    walletMinimum: await node.rent(0),
    sourceRent: await rentOf(input),
    outputRent: await rentOf(output),
  };
  const { message, plan } = composeSwap({
    ...{
      expected,
      instruction,
      lookupTables,
      blockhash,
      keepWrapped: false,
      compute: { unitLimit: 200_000, unitPrice: 10_000n },
    },
    facts: {
      ...rents,
      lamports,
      source: input.account,
      output: output.account,
      reserved: nothingReserved,
      leeway: nothingReserved,
    },
  });
  return {
    message,
    deal,
    said: { expected, instruction, floors: plan.floors, lookupTables, maxPriorityFee },
  };
}

function passes({ said }: Composed, message: Uint8Array): boolean {
  try {
    checkComposed(message, said);
    return true;
  } catch (error) {
    if (!isExactChangeError(error, 'self_check_failed')) throw error;
    return false;
  }
}

/**
 * All that may change without the last look noticing. Nothing of it can cost more than was agreed,
 * as the chain itself shows.
 */
const free = [
  'blockhash',
  'unit limit: units',
  'unit price: micro-lamports',
  'create: whether it may be there',
  'wrap: lamports',
  'hold: base units',
  'hold: decimals',
  'floor: lamports',
];

describe.each(wantedNames)('what is composed for %s', (name) => {
  it('passes the last look as it is, and runs', async () => {
    const one = all.get(name)!;
    expect(passes(one, one.message)).toBe(true);
    expect(await trial.runs(one.deal, one.message)).toBe(true);
  });

  it('fails the last look with any byte changed, but for those that cannot cost more than agreed', async () => {
    const one = all.get(name)!;
    const places = placesOf(one.message);
    const passed = new Map<string, Uint8Array[]>();
    for (const [at, byte] of one.message.entries()) {
      for (const mask of share(MASKS, inTurn(MASKS, at))) {
        const changed = one.message.slice();
        changed[at] = byte ^ mask;
        if (passes(one, changed))
          passed.set(places[at]!, [...(passed.get(places[at]!) ?? []), changed]);
      }
    }
    expect([...passed.keys()].filter((place) => !free.includes(place))).toEqual([]);
    // The check leaves these to the chain, which runs or refuses each one: the trial sees that no
    // more is lost than was agreed.
    for (const [place, list] of passed) {
      const run = [];
      for (const changed of list) run.push(await trial.runs(one.deal, changed));
      if (place === 'blockhash') expect(run).not.toContain(false);
      if (place === 'hold: decimals') expect(run).not.toContain(true);
    }
    expect(passed.get('blockhash')).toHaveLength(32 * share(MASKS, inTurn(MASKS, 0)).length);
  });
});
