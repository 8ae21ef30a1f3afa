import { firewallRules } from '../../../src/swaps/firewall/catalog.js';
import { inspectTransaction, type InspectionNode } from '../../../src/swaps/firewall/inspect.js';
import { swapRules, swapSubject } from '../../../src/swaps/firewall/instruction-rules.js';
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

/** The static stages are over: from here on the transaction would be run. */
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
      accounts: addresses.map((one) => accounts.get(one) ?? null),
    }),
    rent: async (bytes) => rent(bytes),
    simulate: () => Promise.reject(new Simulated()),
  };
}

/** The rule that refuses a transaction as it is; null if only a simulation could. */
async function verdictOn(one: SwapCase): Promise<string | null> {
  try {
    const terms = { ...one.expected, decoders };
    const { broken } = await inspectTransaction(
      nodeOf(one),
      one.transaction,
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
 * The corpus: the chain, what was agreed, and each transaction with the rule that stops it. Bytes
 * are written as what differs from an earlier row.
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
  for (const one of [...legitimate, ...hostile]) {
    const { id, transaction, expected, accounts } = one;
    const terms = JSON.stringify(expected, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    if (!agreed.has(terms)) {
      agreed.set(terms, agreed.size);
      rows.push({ of: 'agreed', terms: expected });
    }
    const given =
      transaction instanceof Uint8Array
        ? { bytes: write(transaction) }
        : typeof transaction === 'string'
          ? { text: transaction }
          : {};
    // No bytes at all, or more than any transaction has: the tests make those themselves.
    if (Object.keys(given).length === 0 || lengthOf(transaction) > LONGEST) continue;
    const changed = accounts === undefined ? undefined : Object.fromEntries(accounts);
    rows.push({
      of: 'case',
      id,
      agreed: agreed.get(terms),
      ...given,
      changed,
      out: await verdictOn(one),
    });
  }
  const rules = swapRules(decoders);
  const instructions = hostileInstructions.map(({ id, instruction, expected }) => ({
    ...{ of: 'instruction', id, expected, instruction: fromKit(instruction) },
    out: brokenBy(rules, swapSubject(fromKit(instruction), { ...expected, decoders }))?.id ?? null,
  }));
  return [...rows, ...instructions];
}
