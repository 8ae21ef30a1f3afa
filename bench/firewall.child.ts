import { VersionedTransaction } from '@solana/web3.js';
import { readTables, type ReadTable, type TableReader } from '../src/solana/transactions/tables.js';
import { resolveInstructions } from '../src/solana/transactions/resolve.js';
import { envelopeRules, readTransaction } from '../src/swaps/firewall/envelope.js';
import { swapRules, swapSubject } from '../src/swaps/firewall/swap-rules.js';
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

/** The bytes of a swap that passes the firewall, with its lookup tables. */
interface Judged {
  readonly bytes: Uint8Array;
  readonly expected: SwapCase['expected'];
  readonly tables: readonly ReadTable[];
}

// Measures the rules that need no network, for the smallest, the middle and the largest swap of the
// corpus: decoding, envelope, lookup tables in memory, shape, surroundings and the instruction. For
// comparison, web3.js decodes the same bytes, which also needs no network. Prints microseconds.
// code.ts compiles this file first, and reads its output.

/** A node that reads the lookup tables from memory. */
const node: TableReader = {
  accounts: (addresses) => {
    const accounts = new Map<string, ReturnType<(typeof WORLD)['get']>>(WORLD);
    return Promise.resolve({
      slot: Number(SLOT),
      accounts: addresses.map((address) => accounts.get(address) ?? null),
    });
  },
};

async function judgedOf({ transaction, expected }: SwapCase): Promise<Judged | undefined> {
  const decoded = readTransaction(transaction);
  if (decoded === undefined || !(transaction instanceof Uint8Array)) return undefined;
  const names = decoded.lookups.map(({ table }) => table);
  return { bytes: transaction, expected, tables: await readTables(node, names) };
}

/** State of a temporary account: missing, with the rent of a token account in the corpus. */
const VACANT = { rent: 2_039_280n, vacant: true };

/** Runs all rules. Throws if the swap breaks a rule, because the bench must measure all of them. */
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
  const swapAt = found.findIndex((item) => isSwap(decoders, item, expected.wallet));
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
const swaps = (await Promise.all(passing.map(judgedOf)))
  .filter((swap) => swap !== undefined)
  .sort((a, b) => a.bytes.length - b.bytes.length);
const figures = [0, swaps.length >> 1, swaps.length - 1].map((at) => {
  const swap = swaps[at]!;
  const ours = () => judge(swap);
  const other = () => VersionedTransaction.deserialize(swap.bytes);
  for (const work of [ours, other]) repeat(work, WARM_UP);
  const rounds = Array.from({ length: ROUNDS }, () => ({
    ours: repeat(ours, TIMES),
    other: repeat(other, TIMES),
  }));
  return { ...paired(rounds), note: `${swap.bytes.length} bytes` };
});
process.stdout.write(JSON.stringify(figures));
