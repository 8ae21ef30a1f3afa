import { isExactChangeError } from '../../../../src/errors.js';
import { type FirewallRules, firewallRules } from '../../../../src/swaps/firewall/catalog.js';
import { checkSwap } from '../../../../src/swaps/firewall/swap-rules.js';
import { checkExposure, foreignAccounts } from '../../../../src/swaps/firewall/exposure.js';
import { extractSwap } from '../../../../src/swaps/firewall/extract.js';
import { inspectTransaction, type InspectionNode } from '../../../../src/swaps/firewall/inspect.js';
import { readExposed } from '../../../../src/swaps/firewall/read-exposed.js';
import { readRawWallet } from '../../../../src/swaps/accounts/read-wallet.js';
import { readOwnAccount } from '../../../../src/swaps/accounts/own-account.js';
import type { SwapBuild } from '../../../../src/swaps/provider.js';
import { SLOT, WORLD, type ChainAccount, type SwapCase } from '../../../corpus/index.js';
import { swapDecoders as decoders } from '../../../../src/swaps/sources.js';

const allRules = firewallRules(decoders);

/** Thrown where the simulation would start, after all static stages. */
class Simulated extends Error {}

/** The result of the static stages for a case. */
export interface Judgement {
  /** The rule that refused it; undefined if all static stages accepted it. */
  readonly rule: string | undefined;
  /** The build that the client continues with. */
  readonly build?: SwapBuild;
}

/** The chain of the corpus, as a node shows it. */
function nodeOf({ accounts: changed = new Map() }: SwapCase): InspectionNode {
  const accounts = new Map<string, ChainAccount | null>([...WORLD, ...changed]);
  return {
    accounts: async (addresses) => ({
      slot: Number(SLOT),
      accounts: addresses.map((address) => accounts.get(address) ?? null),
    }),
    rent: async (bytes) => BigInt(bytes + 128) * 6_960n,
    simulate: () => Promise.reject(new Simulated()),
  };
}

/** Judges a transaction as it is, up to the simulation. */
export async function judgedAsItIs(
  swapCase: SwapCase,
  rules: FirewallRules = allRules,
): Promise<Judgement> {
  try {
    const { broken } = await inspectTransaction(
      nodeOf(swapCase),
      swapCase.transaction,
      { ...swapCase.expected, decoders },
      {},
      rules,
    );
    // Without a swap there is nothing to simulate. This happens only without the rule that
    // requires a swap.
    return { rule: broken?.id ?? 'nothing_to_simulate' };
  } catch (error) {
    if (error instanceof Simulated) return { rule: undefined };
    if (isExactChangeError(error, 'account_unusable')) return { rule: error.code };
    throw error;
  }
}

/**
 * Judges a transaction as the client does before it composes: takes the swap out, reads the wallet,
 * and checks the swap and the accounts that it can reach.
 */
export async function judgedByClient(swapCase: SwapCase): Promise<Judgement> {
  const node = nodeOf(swapCase);
  const { wallet, inputMint, outputMint } = swapCase.expected;
  try {
    const build = await extractSwap(node, swapCase.transaction, wallet, { decoders });
    const { legs } = await readRawWallet(node, wallet, [inputMint, outputMint], {});
    const own = legs.map((leg) => readOwnAccount(wallet, leg).address);
    checkSwap(build.instruction, { ...swapCase.expected, decoders });
    checkExposure(
      wallet,
      await readExposed(node, foreignAccounts(build.instruction, [wallet, ...own]), {}),
    );
    return { rule: undefined, build };
  } catch (error) {
    if (isExactChangeError(error, 'unsafe_swap')) return { rule: error.details.rule };
    if (isExactChangeError(error, 'account_unusable'))
      return { rule: ruleThatRefuses(error.details.reason) };
    throw error;
  }
}

/** The rule behind an account_unusable error, which has the text of the rule as its reason. */
function ruleThatRefuses(reason: string): string | undefined {
  return allRules.accounts.find(({ refuses }) => refuses === reason)?.id;
}

/** All stages without a rule. */
export function withoutRule(id: string): FirewallRules {
  const remaining = <R extends { readonly id: string }>(rules: readonly R[]) =>
    rules.filter((rule) => rule.id !== id);
  const { envelope, tableNames, tables, shape, accounts, surroundings, instruction, exposure } =
    allRules;
  return {
    ...allRules,
    ...{
      envelope: remaining(envelope),
      tableNames: remaining(tableNames),
      tables: remaining(tables),
      shape: remaining(shape),
    },
    ...{
      accounts: remaining(accounts),
      surroundings: remaining(surroundings),
      instruction: remaining(instruction),
      exposure: remaining(exposure),
    },
  };
}

/** Ids of the rules that need no simulation, in the order of the checks. */
export function staticRuleIds(): string[] {
  const { envelope, tableNames, tables, shape, accounts, surroundings, instruction, exposure } =
    allRules;
  return [
    envelope,
    tableNames,
    tables,
    shape,
    accounts,
    surroundings,
    instruction,
    exposure,
  ].flatMap((stage) => stage.map(({ id }) => id));
}
