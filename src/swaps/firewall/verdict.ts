import { formatUiAmount } from '../../amount.js';
import { pinnedMint } from '../../network.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapCall, SwapDecoder } from '../provider.js';
import type { Outlay } from './outlay.js';
import { firewallRules, type FirewallStage, ruleTexts } from './catalog.js';
import { programName } from './decoders.js';
import type { SwapExpectation } from './instruction-rules.js';
import type { RuleText } from './rule.js';

/** An amount of a token in base units, as decimal text. */
export interface TokenAmount {
  readonly mint: string;
  readonly amount: string;
}

/** What became of one rule. */
export interface RuleOutcome extends RuleText {
  readonly stage: FirewallStage;
  /** `unchecked` if an earlier one was broken; the guard also if there is none. */
  readonly outcome: 'passed' | 'broken' | 'unchecked';
}

/**
 * What a foreign swap transaction does to a wallet. Plain data, safe to show: no text in it comes
 * from the transaction.
 */
export interface SwapVerdict {
  /** Every rule passed. */
  readonly accepted: boolean;
  /** The rule that it broke; undefined if it was accepted. */
  readonly broken: RuleText | undefined;
  /** A few sentences for a person. */
  readonly summary: string;
  /**
   * At most; undefined if the transaction was refused before that was known, as are the next
   * two.
   */
  readonly leaves: TokenAmount | undefined;
  /** At least. */
  readonly arrives: TokenAmount | undefined;
  /** In lamports, as decimal text; the priority fee at most, rent for accounts that stay. */
  readonly fees:
    { readonly network: string; readonly priority: string; readonly rent: string } | undefined;
  /** Every program that it calls, with its name. */
  readonly programs: readonly { readonly address: string; readonly name: string | undefined }[];
  /**
   * It ends in instructions that hold it to this when it lands, whatever the venue does by then.
   * Without them the bounds are those of a simulation: sign {@link recomposed} instead.
   */
  readonly guarded: boolean;
  /**
   * All rules, in the order in which they are checked; if the guard stops the simulation, there
   * is nothing for the rules before it to look at.
   */
  readonly rules: readonly RuleOutcome[];
  /**
   * The same swap, taken out, composed anew and closed by the guard, unsigned; undefined if the
   * swap itself was refused, or it is guarded already.
   */
  readonly recomposed:
    { readonly transaction: string; readonly lastValidBlockHeight: string } | undefined;
}

/** What an inspection found out. */
export interface Findings {
  readonly broken: RuleText | undefined;
  readonly outcomes: ReadonlyMap<string, 'passed' | 'broken'>;
  /** With their accounts spelled out. */
  readonly instructions: readonly Instruction[];
  /** The tokens, once the chain has told their programs. */
  readonly expected: Pick<SwapExpectation, 'inputMint' | 'outputMint'> | undefined;
  /** What the instruction says, once its rules have passed. */
  readonly call: SwapCall | undefined;
  readonly outlay: Outlay | undefined;
  readonly guarded: boolean;
}

export type Verdict = Omit<SwapVerdict, 'recomposed'>;

/** Puts into words and numbers what was found. */
export function verdictOf(
  found: Findings,
  network: string,
  decoders: readonly SwapDecoder[],
): Verdict {
  const { broken, outcomes, instructions, expected, call, outlay, guarded } = found;
  const facts = {
    leaves: expected && call && { mint: expected.inputMint, amount: call.maxIn.toString() },
    arrives: expected && call && { mint: expected.outputMint, amount: call.minOut.toString() },
    fees: outlay && {
      network: `${outlay.networkFee}`,
      priority: `${outlay.priorityFee}`,
      rent: `${outlay.rent}`,
    },
    programs: [...new Set(instructions.map(({ program }) => program))].map((address) => ({
      address,
      name: programName(decoders, address),
    })),
  };
  return {
    accepted: broken === undefined,
    broken: broken && { id: broken.id, refuses: broken.refuses, why: broken.why },
    summary: broken === undefined ? accepted(found, network) : refused(broken),
    ...facts,
    guarded,
    rules: ruleTexts(firewallRules(decoders)).map(({ stage, rule: { id, refuses, why } }) => ({
      ...{ stage, id, refuses, why },
      outcome: outcomes.get(id) ?? 'unchecked',
    })),
  };
}

function refused({ id, refuses, why }: RuleText): string {
  return `Do not sign it: ${refuses} (rule ${id}). ${why}`;
}

function accepted({ expected, call, outlay, guarded }: Findings, network: string): string {
  if (expected === undefined || call === undefined || outlay === undefined)
    throw new TypeError('an accepted swap is known');
  const { source, output } = {
    source: outlay.floors.tokens[0]?.account,
    output: outlay.floors.tokens[1]?.account,
  };
  const text = (mint: Address, amount: bigint, decimals: number | undefined) =>
    decimals === undefined
      ? `${amount} base units of ${mint}`
      : `${formatUiAmount(amount, decimals)} ${tokenName(mint, network)}`;
  const rent =
    outlay.rent === 0n ? '' : ` and ${outlay.rent} lamports of rent for accounts of its own`;
  return [
    `It takes at most ${text(expected.inputMint, call.maxIn, source?.decimals)} and brings at least ${text(expected.outputMint, call.minOut, output?.decimals)},`,
    `for up to ${outlay.networkFee + outlay.priorityFee} lamports of fees${rent}.`,
    guarded
      ? 'It ends in a guard that holds it to that when it lands.'
      : 'That is what it does in a simulation; nothing in it holds it to that when it lands.',
  ].join(' ');
}

/** The symbol of a pinned token: any other mint can call itself what it likes. */
function tokenName(mint: Address, network: string): string {
  return pinnedMint(network, mint)?.symbol ?? mint;
}
