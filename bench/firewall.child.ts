import { VersionedTransaction } from '@solana/web3.js';
import { readTables, type ReadTable, type TableReader } from '../src/solana/transactions/tables.js';
import { resolveInstructions } from '../src/solana/transactions/resolve.js';
import { envelopeRules, readTransaction } from '../src/swaps/firewall/envelope.js';
import { swapRules, swapSubject } from '../src/swaps/firewall/instruction-rules.js';
import { enforce } from '../src/swaps/firewall/rule.js';
import { shapeRules } from '../src/swaps/firewall/shape.js';
import { surroundingsRules } from '../src/swaps/firewall/surroundings.js';
import { tableNameRules, tableRules } from '../src/swaps/firewall/tables.js';
import { temporaryIn } from '../src/swaps/firewall/temporary.js';
import { type SwapCase, SLOT, WORLD, legitimate } from '../test/corpus/index.js';
import { paired } from './measure.js';
import { swapDecoders as decoders } from '../src/swaps/sources.js';
import { isSwap } from '../src/swaps/firewall/decoders.js';

const ROUNDS = 41;
const TIMES = 100;
const WARM_UP = 2_000;

/** A swap that passes, as bytes, with the lookup tables that it names. */
interface Judged {
  readonly bytes: Uint8Array;
  readonly expected: SwapCase['expected'];
  readonly tables: readonly ReadTable[];
}

// What the rules take that ask no network, for the smallest, the middle and the largest swap of the
// corpus: decoding, envelope, lookup tables that are read already, shape, surroundings and the
// instruction. Beside it what web3.js takes to decode the same bytes, which it does without a
// question. Microseconds. code.ts compiles it first, and reads what it prints.

/** The tables lie in memory. */
const node: TableReader = {
  accounts: (addresses) => {
    const accounts = new Map<string, ReturnType<(typeof WORLD)['get']>>(WORLD);
    return Promise.resolve({
      slot: Number(SLOT),
      accounts: addresses.map((one) => accounts.get(one) ?? null),
    });
  },
};

async function judgedOf({ transaction, expected }: SwapCase): Promise<Judged | undefined> {
  const decoded = readTransaction(transaction);
  if (decoded === undefined || !(transaction instanceof Uint8Array)) return undefined;
  const names = decoded.lookups.map(({ table }) => table);
  return { bytes: transaction, expected, tables: await readTables(node, names) };
}

/** Of a temporary account: the rent of a token account, as the corpus has it. */
const VACANT = { rent: 2_039_280n, vacant: true };

/** Throws for the first rule that it breaks: what is measured must be a judgement to its end. */
function judge({ bytes, expected, tables }: Judged): void {
  const decoded = readTransaction(bytes);
  enforce(envelopeRules, { decoded, wallet: expected.wallet });
  const { lookups = [] } = decoded ?? {};
  enforce(
    tableNameRules,
    lookups.map(({ table }) => table),
  );
  enforce(tableRules, { tables, lookups });
  const instructions = decoded === undefined ? undefined : resolveInstructions(decoded, tables);
  enforce(shapeRules, { decoders, instructions, wallet: expected.wallet });
  const found = instructions ?? [];
  const swapAt = found.findIndex((one) => isSwap(decoders, one, expected.wallet));
  const swap = found[swapAt];
  if (swap === undefined) throw new Error('no swap');
  const temporary = temporaryIn(decoders, found, expected.wallet);
  const agreed = { ...expected, decoders, temporary };
  const { maxPriorityFee } = expected;
  enforce(surroundingsRules, {
    instructions: found,
    swapAt,
    expected: agreed,
    maxPriorityFee,
    temporary: temporary === undefined ? undefined : VACANT,
  });
  enforce(swapRules(decoders), swapSubject(swap, agreed));
}

function repeat(work: () => unknown, times: number): number {
  const from = performance.now();
  for (let left = times; left > 0; left -= 1) work();
  return ((performance.now() - from) * 1_000) / times;
}

const passing = legitimate.filter(({ accounts }) => accounts === undefined);
const all = (await Promise.all(passing.map(judgedOf)))
  .filter((one) => one !== undefined)
  .sort((a, b) => a.bytes.length - b.bytes.length);
const figures = [0, all.length >> 1, all.length - 1].map((at) => {
  const one = all[at]!;
  const ours = () => judge(one);
  const other = () => VersionedTransaction.deserialize(one.bytes);
  for (const work of [ours, other]) repeat(work, WARM_UP);
  const rounds = Array.from({ length: ROUNDS }, () => ({
    ours: repeat(ours, TIMES),
    other: repeat(other, TIMES),
  }));
  return { ...paired(rounds), note: `${one.bytes.length} bytes` };
});
process.stdout.write(JSON.stringify(figures));
