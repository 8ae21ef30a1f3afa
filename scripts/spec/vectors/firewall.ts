import { firewallRules } from '../../../src/swaps/firewall/catalog.js';
import { inspectTransaction, type InspectionNode } from '../../../src/swaps/firewall/inspect.js';
import { swapRules, swapSubject } from '../../../src/swaps/firewall/swap-rules.js';
import { brokenBy } from '../../../src/swaps/firewall/rule.js';
import { swapDecoders as decoders } from '../../../src/swaps/sources.js';
import { isExactChangeError } from '../../../src/errors.js';
import {
  hostile,
  hostileInstructions,
  legitimate,
  SLOT,
  WORLD,
  type ChainAccount,
  type SwapCase,
} from '../../../test/corpus/index.js';
import { fromKit } from '../../../test/unit/swaps/support.js';
import { createDeltas } from './deltas.js';

/** Thrown when the static stages are over and the simulation would begin. */
class Simulated extends Error {}

const LONGEST = 4_000;
const lengthOf = (transaction: unknown): number =>
  transaction instanceof Uint8Array || typeof transaction === 'string' ? transaction.length : 0;

const rent = (bytes: number) => BigInt(bytes + 128) * 6_960n;

function nodeOf({ accounts: changed = new Map() }: SwapCase): InspectionNode {
  const accounts = new Map<string, ChainAccount | null>([...WORLD, ...changed]);
  return {
    accounts: async (addresses) => ({
      slot: Number(SLOT),
      accounts: addresses.map((address) => accounts.get(address) ?? null),
    }),
    rent: async (bytes) => rent(bytes),
    simulate: () => Promise.reject(new Simulated()),
  };
}

/** Returns the id of the static rule that refuses a case; null if only a simulation could. */
async function verdictOn(swapCase: SwapCase): Promise<string | null> {
  try {
    const terms = { ...swapCase.expected, decoders };
    const { broken } = await inspectTransaction(
      nodeOf(swapCase),
      swapCase.transaction,
      terms,
      {},
      firewallRules(decoders),
    );
    return broken?.id ?? null;
  } catch (error) {
    if (error instanceof Simulated) return null;
    if (isExactChangeError(error, 'account_unusable')) return error.details.reason;
    throw error;
  }
}

/**
 * Vectors of the corpus: the chain, the agreed terms, and each transaction with the rule that stops
 * it. Bytes are written as their difference from an earlier row.
 */
export async function firewall(): Promise<unknown[]> {
  const write = createDeltas();
  const agreed = new Map<string, number>();
  const rows: unknown[] = [
    {
      of: 'world',
      slot: SLOT,
      accounts: Object.fromEntries(WORLD),
      rent: { per: 6_960, over: 128 },
    },
  ];
  for (const swapCase of [...legitimate, ...hostile]) {
    const { id, transaction, expected, accounts } = swapCase;
    const terms = JSON.stringify(expected, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    if (!agreed.has(terms)) {
      agreed.set(terms, agreed.size);
      rows.push({ of: 'agreed', terms: expected });
    }
    const content =
      transaction instanceof Uint8Array
        ? { bytes: write(transaction) }
        : typeof transaction === 'string'
          ? { text: transaction }
          : {};
    // The tests of both languages make cases without bytes, or with too many bytes, themselves.
    if (Object.keys(content).length === 0 || lengthOf(transaction) > LONGEST) continue;
    const changed = accounts === undefined ? undefined : Object.fromEntries(accounts);
    rows.push({
      of: 'case',
      id,
      agreed: agreed.get(terms),
      ...content,
      changed,
      out: await verdictOn(swapCase),
    });
  }
  const rules = swapRules(decoders);
  const instructions = hostileInstructions.map(({ id, instruction, expected }) => ({
    ...{ of: 'instruction', id, expected, instruction: fromKit(instruction) },
    out: brokenBy(rules, swapSubject(fromKit(instruction), { ...expected, decoders }))?.id ?? null,
  }));
  return [...rows, ...instructions];
}
