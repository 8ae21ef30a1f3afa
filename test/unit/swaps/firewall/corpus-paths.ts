import { isExactChangeError } from '../../../../src/errors.js';
import { type FirewallRules, firewallRules } from '../../../../src/swaps/firewall/catalog.js';
import { checkSwap } from '../../../../src/swaps/firewall/instruction-rules.js';
import { checkExposure, foreignAccounts } from '../../../../src/swaps/firewall/exposure.js';
import { extractSwap } from '../../../../src/swaps/firewall/extract.js';
import { inspectTransaction, type InspectionNode } from '../../../../src/swaps/firewall/inspect.js';
import { readExposed } from '../../../../src/swaps/quote/market.js';
import { ownAccountOf, readRawWallet } from '../../../../src/swaps/transaction/read-facts.js';
import type { SwapBuild } from '../../../../src/swaps/provider.js';
import { SLOT, WORLD, type ChainAccount, type SwapCase } from '../../../corpus/index.js';
import { swapDecoders as decoders } from '../../../../src/swaps/sources.js';

const allRules = firewallRules(decoders);

/** The static stages are over: from here on the transaction would be run. */
class Simulated extends Error {}

/** What a static stage made of a case. */
export interface Judgement {
  /** The rule that refused it; undefined if all static stages accepted it. */
  readonly rule: string | undefined;
  /** What the client goes on with. */
  readonly build?: SwapBuild;
}

/** The corpus' chain, as a node shows it. */
function nodeOf({ accounts: changed = new Map() }: SwapCase): InspectionNode {
  const accounts = new Map<string, ChainAccount | null>([...WORLD, ...changed]);
  return {
    accounts: async (addresses) => ({
      slot: Number(SLOT),
      accounts: addresses.map((one) => accounts.get(one) ?? null),
    }),
    rent: async (bytes) => BigInt(bytes + 128) * 6_960n,
    simulate: () => Promise.reject(new Simulated()),
  };
}

/** Judged as it is, up to the simulation. */
export async function judgedAsItIs(
  one: SwapCase,
  rules: FirewallRules = allRules,
): Promise<Judgement> {
  try {
    const { broken } = await inspectTransaction(
      nodeOf(one),
      one.transaction,
      { ...one.expected, decoders },
      {},
      rules,
    );
    // Without a swap in it there is nothing to simulate: only if the rule was taken out that
    // wants one.
    return { rule: broken?.id ?? 'nothing_to_simulate' };
  } catch (error) {
    if (error instanceof Simulated) return { rule: undefined };
    if (isExactChangeError(error, 'account_unusable')) return { rule: error.code };
    throw error;
  }
}

/**
 * As the client does before it composes: takes the one swap out, reads the wallet, checks the swap
 * and what it could reach.
 */
export async function judgedByClient(one: SwapCase): Promise<Judgement> {
  const node = nodeOf(one);
  const { wallet, inputMint, outputMint } = one.expected;
  try {
    const build = await extractSwap(node, one.transaction, wallet, { decoders });
    const { legs } = await readRawWallet(node, wallet, [inputMint, outputMint], {});
    const own = legs.map((leg) => ownAccountOf(wallet, leg).address);
    checkSwap(build.instruction, { ...one.expected, decoders });
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

/** The wallet's accounts are refused by an error of their own, which has the words of the rule. */
function ruleThatRefuses(reason: string): string | undefined {
  return allRules.accounts.find(({ refuses }) => refuses === reason)?.id;
}

/** All stages, without one of their rules. */
export function withoutRule(id: string): FirewallRules {
  const others = <R extends { readonly id: string }>(rules: readonly R[]) =>
    rules.filter((rule) => rule.id !== id);
  const { envelope, tableNames, tables, shape, accounts, surroundings, instruction, exposure } =
    allRules;
  return {
    ...allRules,
    ...{
      envelope: others(envelope),
      tableNames: others(tableNames),
      tables: others(tables),
      shape: others(shape),
    },
    ...{
      accounts: others(accounts),
      surroundings: others(surroundings),
      instruction: others(instruction),
      exposure: others(exposure),
    },
  };
}

/** The rules that need no simulation, in the order in which they are checked. */
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
