import { formatUiAmount } from '../../amount.js';
import { pinnedMint } from '../../network.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapCall, SwapDecoder } from '../provider.js';
import type { Outlay } from './outlay.js';
import { firewallRules, type FirewallStage, ruleTexts } from './catalog.js';
import { programName } from './decoders.js';
import type { ForeignSwap } from './extract.js';
import type { SwapExpectation } from './swap-rules.js';
import type { RuleText } from './rule.js';

/** An amount of a token in base units, as decimal text. */
export interface TokenAmount {
  readonly mint: string;
  readonly amount: string;
}

/** A rule and the result of its check. */
export interface RuleOutcome extends RuleText {
  readonly stage: FirewallStage;
  /** `unchecked` if an earlier rule was broken; for the rule `guard`, also if there is no guard. */
  readonly outcome: 'passed' | 'broken' | 'unchecked';
}

/**
 * What a foreign swap transaction does to a wallet. Plain data, safe to show: no text in it comes
 * from the transaction.
 */
export interface SwapVerdict {
  /** Whether every rule passed. */
  readonly accepted: boolean;
  /** The rule that the transaction broke; undefined if it was accepted. */
  readonly broken: RuleText | undefined;
  /** The verdict in a few sentences for a person. */
  readonly summary: string;
  /**
   * The most that leaves the wallet. Like `arrives` and `fees`, undefined if the transaction was
   * refused before the amount was known.
   */
  readonly leaves: TokenAmount | undefined;
  /** The least that arrives. */
  readonly arrives: TokenAmount | undefined;
  /** Lamports as decimal text: the priority fee at most, and the rent for accounts that stay. */
  readonly fees:
    { readonly network: string; readonly priority: string; readonly rent: string } | undefined;
  /** Every program that the transaction calls, with its name if it is known. */
  readonly programs: readonly { readonly address: string; readonly name: string | undefined }[];
  /**
   * Whether the transaction ends in instructions that enforce these amounts when it lands, whatever
   * the venue does by then. If not, only a simulation shows them: sign {@link recomposed} instead.
   */
  readonly guarded: boolean;
  /**
   * All rules, in the order in which they are checked. If the guard stops the simulation, the
   * stages `simulation` and `inner` stay `unchecked`.
   */
  readonly rules: readonly RuleOutcome[];
  /**
   * An unsigned transaction with the same swap, composed anew and closed by the guard. Undefined if
   * the original is guarded, or if its swap was refused or cannot be composed.
   */
  readonly recomposed:
    { readonly transaction: string; readonly lastValidBlockHeight: string } | undefined;
}

export interface Findings {
  readonly broken: RuleText | undefined;
  /** By id of the rule. */
  readonly outcomes: ReadonlyMap<string, 'passed' | 'broken'>;
  readonly instructions: readonly Instruction[];
  /** Undefined if the transaction cannot be read, or has not exactly one swap. */
  readonly foreign: ForeignSwap | undefined;
  /** The mints of the swap; undefined until they are read from the chain. */
  readonly expected: Pick<SwapExpectation, 'inputMint' | 'outputMint'> | undefined;
  /** The decoded swap; undefined until its rules have passed. */
  readonly call: SwapCall | undefined;
  readonly outlay: Outlay | undefined;
  readonly guarded: boolean;
}

export type Verdict = Omit<SwapVerdict, 'recomposed'>;

export function verdictOf(
  findings: Findings,
  network: string,
  decoders: readonly SwapDecoder[],
): Verdict {
  const { broken, outcomes, instructions, expected, call, outlay, guarded } = findings;
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
    summary: broken === undefined ? accepted(findings, network) : refused(broken),
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
  const [source, output] = outlay.floors.tokens.map(({ account }) => account);
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

/** Returns the symbol of a pinned token, else the mint: other mints can claim any symbol. */
function tokenName(mint: Address, network: string): string {
  return pinnedMint(network, mint)?.symbol ?? mint;
}
