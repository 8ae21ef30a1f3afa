import { isExactChangeError } from '../../errors.js';
import { WSOL_MINT } from '../../network.js';
import type { CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import { readTables } from '../../solana/transactions/tables.js';
import { resolveInstructions } from '../../solana/transactions/resolve.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapCall } from '../provider.js';
import {
  accountExists,
  decodeHeldAccount,
  type OwnAccount,
  readOwnAccount,
} from '../accounts/own-account.js';
import { readExcess } from '../accounts/excess.js';
import { type RawLeg, readRawWallet, rentedBytes } from '../accounts/read-wallet.js';
import type { OwnAccountSubject } from '../accounts/own-account-rules.js';
import { type Outlay, outlayOf, type WalletBefore } from './outlay.js';
import { readCreationCosts, readTemporary } from './read-temporary.js';
import { type FirewallRules, firewallRules } from './catalog.js';
import { isSwap, temporaryOf } from './decoders.js';
import { readTransaction } from './envelope.js';
import { exposureSubject, foreignAccounts } from './exposure.js';
import { readExposed } from './read-exposed.js';
import type { ForeignSwap } from './extract.js';
import { guardsHold } from './guard.js';
import { guardsIn } from './guards-found.js';
import { type SwapExpectation, swapSubject } from './swap-rules.js';
import type { SurroundingsSubject } from './placed-instructions.js';
import { refusal, type Rule, type RuleText } from './rule.js';
import { guardRule, isGuardFailure, simulationSubject, watchedAccounts } from './simulation.js';
import { closesWrapped, createdIn } from './surroundings.js';
import { temporaryIn } from './temporary.js';
import type { Findings } from './verdict.js';

export type InspectionNode = Pick<Rpc, 'accounts' | 'rent' | 'simulate'>;

/** Bounds of a swap, without the token programs: the inspection reads those from the chain. */
export type SwapTerms = Omit<SwapExpectation, 'inputProgram' | 'outputProgram'> & {
  /** Lamports. */
  readonly maxPriorityFee: bigint;
};

/**
 * Judges a foreign transaction as it is, by every rule, and drops no part of it. A broken rule is a
 * finding, not an error. Rejects with `TransportError` if the node fails, and with `unknown_mint`,
 * `mint_not_supported` or `account_unusable` for the mints and the wallet of the terms.
 */
export async function inspectTransaction(
  node: InspectionNode,
  transaction: unknown,
  terms: SwapTerms,
  options: CallOptions = {},
  rules: FirewallRules = firewallRules(terms.decoders),
): Promise<Findings> {
  const inspection = new Inspection(node, terms, options, rules);
  try {
    await inspection.run(transaction);
  } catch (error) {
    // A broken rule only ends the inspection. Any other error is for the caller.
    if (!isExactChangeError(error, 'unsafe_swap') || inspection.broken === undefined) throw error;
  }
  return inspection;
}

/** One inspection. Each stage leaves its findings for the next stage and for the verdict. */
class Inspection implements Findings {
  broken: RuleText | undefined;
  readonly outcomes = new Map<string, 'passed' | 'broken'>();
  instructions: readonly Instruction[] = [];
  foreign: ForeignSwap | undefined;
  expected: SwapExpectation | undefined;
  call: SwapCall | undefined;
  outlay: Outlay | undefined;
  guarded = false;

  constructor(
    private readonly node: InspectionNode,
    private readonly terms: SwapTerms,
    private readonly options: CallOptions,
    private readonly rules: FirewallRules,
  ) {}

  async run(transaction: unknown): Promise<void> {
    const { decoders, wallet, inputMint, outputMint } = this.terms;
    const { rules, node, options } = this;
    const decoded = readTransaction(transaction);
    this.check(rules.envelope, { decoded, wallet });
    const { lookups = [], message = new Uint8Array() } = decoded ?? {};
    const names = lookups.map(({ table }) => table);
    this.check(rules.tableNames, names);
    const tables = await readTables(node, names, { ...options, fresh: true });
    this.check(rules.tables, { tables, lookups });
    const instructions = decoded === undefined ? undefined : resolveInstructions(decoded, tables);
    this.instructions = instructions ?? [];
    this.check(rules.shape, { decoders, instructions, wallet });
    const swapAt = this.instructions.findIndex((instruction) =>
      isSwap(decoders, instruction, wallet),
    );
    const swap = this.instructions[swapAt];
    // Happens only if `rules` lacks the rule `one_swap`.
    if (swap === undefined) return;
    this.foreign = {
      ...{ instructions: this.instructions, swapAt, swap, lookupTables: names },
      temporary: temporaryIn(decoders, this.instructions, wallet),
    };

    const facts = await readRawWallet(node, wallet, [inputMint, outputMint, WSOL_MINT], options);
    const { slot, lamports } = facts;
    const temporary = await readTemporary(node, this.foreign.temporary, {
      ...options,
      minContextSlot: slot,
    });
    const legs = facts.legs.map((leg) =>
      temporary !== undefined && leg.token.mint === WSOL_MINT ? { ...leg, ...temporary.leg } : leg,
    );
    const [input, output, wrapped] = legs;
    if (input === undefined || output === undefined || wrapped === undefined)
      throw new TypeError('a leg was not read');
    const programs = {
      inputProgram: input.token.tokenProgram,
      outputProgram: output.token.tokenProgram,
    };
    this.expected = { ...this.terms, ...programs, temporary: temporary?.leg.address };
    const { instructions: resolved, expected } = this;
    const subject = {
      instructions: resolved,
      swapAt,
      expected,
      maxPriorityFee: this.terms.maxPriorityFee,
      temporary,
    };
    const touched = closesWrapped(subject) ? [input, output, wrapped] : [input, output];
    this.checkAll(
      rules.accounts,
      touched.flatMap((leg) => this.accountSubject(leg)),
    );
    this.check(rules.surroundings, subject);
    const swapping = swapSubject(swap, this.expected);
    this.check(rules.instruction, swapping);
    this.call = swapping.call;

    const ownAddresses = [wallet, input.address, output.address];
    const created = [
      ...createdIn(subject),
      ...(temporary === undefined ? [] : [temporary.leg.address]),
    ];
    const later = { ...options, minContextSlot: slot };
    const excessOf = async (leg: RawLeg): Promise<[Address, bigint]> => {
      const account = readOwnAccount(wallet, leg);
      return [leg.address, await readExcess(node, wallet, account, rentedBytes(leg), later)];
    };
    const [exposed, makings, ...excess] = await Promise.all([
      readExposed(node, foreignAccounts(swap, ownAddresses), later),
      readCreationCosts(node, wallet, created, legs, options),
      excessOf(input),
      excessOf(output),
    ]);
    this.check(rules.exposure, exposureSubject(wallet, exposed));
    // Compare addresses, because the wrapped SOL account can also be the input or the output.
    const isTouched = ({ address }: RawLeg) => touched.some((leg) => leg.address === address);
    const accountOf = (leg: RawLeg): OwnAccount => {
      const account = readOwnAccount(wallet, isTouched(leg) ? leg : { ...leg, account: null });
      return { ...account, uncounted: makings.get(leg.address)?.uncounted ?? account.uncounted };
    };
    const rents = new Map([...makings].map(([address, { takes }]) => [address, takes]));
    const before = {
      lamports,
      rents,
      excess: new Map(excess),
      source: accountOf(input),
      output: accountOf(output),
      wrapped: accountOf(wrapped),
    };
    await this.simulate(message, subject, before, slot);
  }

  private async simulate(
    message: Uint8Array,
    subject: SurroundingsSubject,
    before: WalletBefore,
    readAt: number,
  ): Promise<void> {
    const { rules, node, options } = this;
    // Use the instruction's own amounts: the rules have checked them against the terms.
    const { maxIn, minOut } = this.call ?? this.terms;
    this.outlay = outlayOf(
      { ...subject, expected: { ...subject.expected, maxIn, minOut } },
      before,
    );
    const { floors } = this.outlay;
    const guards = guardsIn(subject);
    this.guarded = guardsHold(guards, floors) && !this.outlay.leavesExcess;
    const guardFrom =
      subject.instructions.length - guards.tokens.length - (guards.lamports === undefined ? 0 : 1);
    const wire = assembleTransaction(message, new Map());
    const simulation = await node.simulate(wire, watchedAccounts(floors), {
      ...options,
      minContextSlot: readAt,
    });
    if (isGuardFailure(simulation, guardFrom)) this.break(guardRule);
    this.check(rules.simulation, simulationSubject(simulation, { floors, readAt }));
    const own = floors.tokens.map(({ account }) => account.address);
    const { decoders } = this.terms;
    const madeAt = subject.instructions.findIndex(
      (instruction) => temporaryOf(decoders, instruction, floors.wallet) !== undefined,
    );
    this.check(rules.inner, {
      inner: simulation.inner,
      swapIndex: subject.swapAt,
      madeAt,
      wallet: floors.wallet,
      own,
    });
    if (this.guarded) this.outcomes.set(guardRule.id, 'passed');
  }

  /** Returns the wallet's account of a leg for the rules; no subject if it does not exist yet. */
  private accountSubject({ account, token: { mint, tokenProgram } }: RawLeg): OwnAccountSubject[] {
    return accountExists(account)
      ? [{ wallet: this.terms.wallet, mint, held: decodeHeldAccount(account, tokenProgram) }]
      : [];
  }

  private check<Subject>(rules: readonly Rule<Subject>[], subject: Subject): void {
    this.checkAll(rules, [subject]);
  }

  /** Goes rule by rule: a rule counts as passed only if all subjects pass it. */
  private checkAll<Subject>(rules: readonly Rule<Subject>[], subjects: readonly Subject[]): void {
    for (const rule of rules) {
      if (!subjects.every((subject) => rule.passes(subject))) this.break(rule);
      this.outcomes.set(rule.id, 'passed');
    }
  }

  private break(rule: RuleText): never {
    this.outcomes.set(rule.id, 'broken');
    this.broken = rule;
    throw refusal(rule);
  }
}
