import {
  address,
  appendTransactionMessageInstructions,
  blockhash,
  compileTransaction,
  createSolanaRpc,
  createTransactionMessage,
  decompileTransactionMessageFetchingLookupTables,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountsOf } from '../helpers/estate.js';
import { inChaos } from '../helpers/sampled.js';
import { type Participants, crowdedInstructions } from '../helpers/surroundings.js';
import { type Offer, Trial, type WantedName, wanted, wantedNames } from '../helpers/trial.js';

const SEED = 20_261_121;
const RUNS = inChaos ? 400 : 50;
const ATTACKER = address('Attack1111111111111111111111111111111111112');

let trial: Trial;
const casts = new Map<WantedName, { readonly offer: Offer; readonly cast: Participants }>();

beforeAll(async () => {
  trial = await Trial.open('firewall-crowds');
  const { sandbox, estate } = trial;
  const { chain, mints } = sandbox;
  chain.fundSol(ATTACKER, 1_000_000_000n);
  for (const mint of Object.values(mints)) await chain.fundToken(ATTACKER, mint, 1n);
  const loot = await accountsOf(ATTACKER, mints);
  for (const name of wantedNames) {
    const offer = await trial.offer(wanted[name]);
    const good = await instructionsIn(offer.bytes);
    casts.set(name, {
      offer,
      cast: { estate, mints, attacker: ATTACKER, loot, good, deal: offer.deal },
    });
  }
});

afterAll(() => trial.close());

/** Decodes the instructions of a transaction with kit. */
async function instructionsIn(bytes: Uint8Array): Promise<readonly Instruction[]> {
  const { messageBytes } = getTransactionDecoder().decode(bytes);
  const compiled = getCompiledTransactionMessageDecoder().decode(messageBytes);
  return (
    await decompileTransactionMessageFetchingLookupTables(
      compiled,
      createSolanaRpc(trial.sandbox.rpcUrl),
    )
  ).instructions;
}

/** Returns the unsigned transaction, or undefined if it is too large. */
function wireOf(instructions: readonly Instruction[]): Uint8Array | undefined {
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(trial.estate.wallet, draft),
    (draft) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash(trial.blockhash), lastValidBlockHeight: 1_000n },
        draft,
      ),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  );
  const wire = new Uint8Array(getTransactionEncoder().encode(compileTransaction(message)));
  return wire.length > 1_232 ? undefined : wire;
}

describe.each(wantedNames)('a transaction with random instructions around %s', (name) => {
  it('is refused, or takes no more than the terms', async () => {
    const { offer, cast } = casts.get(name)!;
    const { tally } = trial;
    const before = { ...tally };
    let harmful = 0;
    await fc.assert(
      fc.asyncProperty(crowdedInstructions(cast), async (instructions) => {
        const wire = wireOf(instructions);
        fc.pre(wire !== undefined);
        if (await trial.inspect(offer, wire)) return;
        const { losses } = await trial.harm(offer.deal, wire);
        if (losses.length > 0) harmful += 1;
      }),
      { seed: SEED, numRuns: RUNS },
    );
    // The run must have enough transactions that could be signed, and enough that would have cost
    // the wallet more.
    expect(tally.landed - before.landed).toBeGreaterThan(RUNS / 27);
    expect(harmful).toBeGreaterThan(RUNS / 80);
  });
});
