import type { Accounts } from './accounts.js';
import {
  base,
  draftOf,
  instructionsOf,
  withTerms,
  type Base,
  type DirectionName,
  type Expectation,
} from './bases.js';
import { transaction, wire, compile, type Message } from './build.js';
import { FORMS, FORM_NAMES, type Form, type FormName, type Terms } from './forms.js';
import type { FilledInstruction } from './instructions.js';

export interface SwapCase {
  /** `family/attack/form/direction`. */
  readonly id: string;
  readonly family: string;
  readonly form: FormName;
  readonly direction: DirectionName;
  /**
   * What the service returned: wire bytes, what stands for their base64, or something else
   * altogether.
   */
  readonly transaction: unknown;
  readonly expected: Expectation;
  /** The swap instruction of the honest transaction that this one was made from. */
  readonly honest: FilledInstruction;
  /** The lookup tables of that one. */
  readonly tables: readonly string[];
  /** Accounts that differ from the world's. */
  readonly accounts?: Accounts;
}

export interface HostileCase extends SwapCase {
  /** The first rule that it breaks. */
  readonly rule: string;
  /**
   * What becomes of it if the client takes the one swap instruction out of it and composes the
   * rest: refused by the same rule, or defused, as nothing that was wrong with it is taken.
   */
  readonly path: 'refused' | 'defused';
}

/** One way to change honest transactions. */
interface Variation {
  readonly make: (base: Base) => unknown;
  /** Of the chain, if they differ from the world's. */
  readonly accounts?: (base: Base) => Accounts;
  readonly forms?: readonly FormName[];
  readonly directions?: readonly DirectionName[];
}

export interface Attack extends Variation {
  readonly attack: string;
  readonly rule: string;
}

/** A way in which honest transactions differ from each other. */
export interface Shape extends Variation {
  readonly shape: string;
}

/** The directions that every family is tried in: both ways of SOL, and Token-2022. */
const USUAL: readonly DirectionName[] = ['usdc-usdt', 'sol-usdc', 'usdc-sol', 'usdc-pyusd'];
const COPIES = 4;
/**
 * Has no divisor in common with the eight forms, so that neighbouring attacks meet different ones.
 */
const STRIDE = 3;

/**
 * The cases of a family: each attack in up to four instruction forms, each in another direction and
 * every second one with lookup tables, turned a little further from one attack to the next.
 */
export function family(
  name: string,
  path: HostileCase['path'],
  attacks: readonly Attack[],
): HostileCase[] {
  return attacks.flatMap((one, turn) =>
    spread(one, turn).map((from) => ({
      ...swapCase(name, one.attack, one, from),
      rule: one.rule,
      path,
    })),
  );
}

export function shapes(all: readonly Shape[]): SwapCase[] {
  return all.flatMap((one, turn) =>
    spread(one, turn).map((from) => swapCase('legitimate', one.shape, one, from)),
  );
}

function spread({ forms = FORM_NAMES, directions = USUAL }: Variation, turn: number): Base[] {
  const count = Math.min(COPIES, forms.length * directions.length);
  const bases = Array.from({ length: count }, (_, copy) => {
    const form = forms[(turn + STRIDE * copy) % forms.length] ?? 'route_v2';
    const direction = directions[(turn + copy) % directions.length] ?? 'usdc-usdt';
    return base(form, direction, (turn + copy) % 2 === 1);
  });
  return [...new Map(bases.map((one) => [`${one.form}/${one.direction}`, one])).values()];
}

export function swapCase(
  name: string,
  variation: string,
  { make, accounts }: Variation,
  from: Base,
): SwapCase {
  const { form, direction, expected, swap } = from;
  const id = `${name}/${variation}/${form}/${direction}`;
  try {
    const common = {
      id,
      family: name,
      form,
      direction,
      expected,
      honest: swap,
      tables: Object.keys(from.tables),
      transaction: make(from),
    };
    return accounts === undefined ? common : { ...common, accounts: accounts(from) };
  } catch (cause) {
    throw new Error(`The case ${id} cannot be built.`, { cause });
  }
}

/** Where a foreign instruction is put among the honest ones. */
export type Spot = 'first' | 'before' | 'after';

/** Adds instructions: before all others, right before the swap, or at the end. */
export function adding(spot: Spot, extra: (base: Base) => readonly FilledInstruction[]) {
  return (from: Base): Uint8Array => {
    const more = extra(from);
    const { compute, setup, swap, cleanup } = from;
    const all = {
      first: [...more, ...instructionsOf(from)],
      before: [...compute, ...setup, ...more, swap, ...cleanup],
      after: [...instructionsOf(from), ...more],
    };
    return transaction(draftOf(from, all[spot]));
  };
}

/** Other parts than the honest ones. */
export function replacing(
  change: (base: Base) => Partial<Pick<Base, 'compute' | 'setup' | 'cleanup' | 'swap' | 'tables'>>,
) {
  return (from: Base): Uint8Array => transaction(draftOf({ ...from, ...change(from) }));
}

/** A swap that says something else. */
export function saying(change: (terms: Terms, base: Base) => Partial<Terms>) {
  return (from: Base): Uint8Array =>
    transaction(draftOf(withTerms(from, (terms) => change(terms, from))));
}

/** The same with some of the accounts. */
export function naming(change: (base: Base) => Partial<Terms['accounts']>) {
  return saying((terms, from) => ({ accounts: { ...terms.accounts, ...change(from) } }));
}

/** The honest transaction, its message rearranged after it was compiled. */
export function rearranging(change: (message: Message) => Message) {
  return (from: Base): Uint8Array => transaction(draftOf(from), change);
}

/** The honest bytes, spoilt. */
export function spoiling(change: (bytes: Uint8Array) => Uint8Array | string) {
  return (from: Base): Uint8Array | string => change(wire(compile(draftOf(from))));
}

export function formsWhere(test: (form: Form) => boolean): FormName[] {
  return FORM_NAMES.filter((name) => test(FORMS[name]));
}
