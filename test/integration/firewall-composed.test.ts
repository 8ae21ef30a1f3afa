import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isExactChangeError } from 'exact-change';
import { composeSwap } from '../../src/swaps/transaction/compose.js';
import { extractSwap } from '../../src/swaps/firewall/extract.js';
import { type Composition, checkComposed } from '../../src/swaps/firewall/self-check.js';
import { fetchLookupTables } from '../../src/swaps/firewall/tables.js';
import { nothingReserved } from '../../src/swaps/transaction/plan.js';
import { accountBytes, type Leg, readWallet } from '../../src/swaps/accounts/read-wallet.js';
import type { Deal } from '../helpers/estate.js';
import { placesOf } from '../helpers/places.js';
import { inTurn, share } from '../helpers/sampled.js';
import { Trial, type WantedName, wanted, wantedNames } from '../helpers/trial.js';
import { swapDecoders as decoders } from '../../src/swaps/sources.js';

/** Masks for the lowest bit, the highest bit and all bits of a byte. */
const MASKS = [0x01, 0x80, 0xff];

/** A message that the client would sign, and the composition that it claims. */
interface Composed {
  readonly message: Uint8Array;
  readonly composition: Composition;
  readonly deal: Deal;
}

let trial: Trial;
const swaps = new Map<WantedName, Composed>();

beforeAll(async () => {
  trial = await Trial.open('firewall-composed');
  for (const name of wantedNames) swaps.set(name, await compose(name));
});

afterAll(() => trial.close());

async function compose(name: WantedName): Promise<Composed> {
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
    sourceRent: await rentOf(input),
    outputRent: await rentOf(output),
    sourceExcess: 0n,
    outputExcess: 0n,
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
    composition: { expected, instruction, floors: plan.floors, lookupTables, maxPriorityFee },
  };
}

function passes({ composition }: Composed, message: Uint8Array): boolean {
  try {
    checkComposed(message, composition);
    return true;
  } catch (error) {
    if (!isExactChangeError(error, 'self_check_failed')) throw error;
    return false;
  }
}

/**
 * Places that the self-check does not compare. The chain shows that no change of them costs more
 * than the terms.
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

describe.each(wantedNames)('the message that the client composes for %s', (name) => {
  it('passes the self-check and runs on the chain', async () => {
    const composed = swaps.get(name)!;
    expect(passes(composed, composed.message)).toBe(true);
    expect(await trial.runs(composed.deal, composed.message)).toBe(true);
  });

  it('fails the self-check with any changed byte that could cost more than the terms', async () => {
    const composed = swaps.get(name)!;
    const places = placesOf(composed.message);
    const passed = new Map<string, Uint8Array[]>();
    for (const [at, byte] of composed.message.entries()) {
      for (const mask of share(MASKS, inTurn(MASKS, at))) {
        const changed = composed.message.slice();
        changed[at] = byte ^ mask;
        if (passes(composed, changed))
          passed.set(places[at]!, [...(passed.get(places[at]!) ?? []), changed]);
      }
    }
    expect([...passed.keys()].filter((place) => !free.includes(place))).toEqual([]);
    // The chain runs or refuses each of these messages, and the trial checks that no loss exceeds
    // the terms.
    for (const [place, list] of passed) {
      const run = [];
      for (const changed of list) run.push(await trial.runs(composed.deal, changed));
      if (place === 'blockhash') expect(run).not.toContain(false);
      if (place === 'hold: decimals') expect(run).not.toContain(true);
    }
    expect(passed.get('blockhash')).toHaveLength(32 * share(MASKS, inTurn(MASKS, 0)).length);
  });
});
