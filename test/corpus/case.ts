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
  /** Id in the form `family/attack/form/direction`. */
  readonly id: string;
  readonly family: string;
  readonly form: FormName;
  readonly direction: DirectionName;
  /** Value that the service returned: wire bytes, text instead of their base64, or any value. */
  readonly transaction: unknown;
  readonly expected: Expectation;
  /** Swap instruction of the honest transaction from which this case was made. */
  readonly honest: FilledInstruction;
  /** Lookup tables of the honest transaction. */
  readonly tables: readonly string[];
  /** Accounts that differ from {@link WORLD}. */
  readonly accounts?: Accounts;
}

export interface HostileCase extends SwapCase {
  /** Id of the first rule that the transaction breaks. */
  readonly rule: string;
  /**
   * Result if the client extracts only the swap instruction and composes the rest. `refused` means
   * that the same rule refuses it. `defused` means that the client does not use the attack's part.
   */
  readonly path: 'refused' | 'defused';
}

/** A change to honest transactions. */
interface Variation {
  readonly make: (base: Base) => unknown;
  /** Returns accounts of the chain that differ from {@link WORLD}. */
  readonly accounts?: (base: Base) => Accounts;
  readonly forms?: readonly FormName[];
  readonly directions?: readonly DirectionName[];
}

export interface Attack extends Variation {
  readonly attack: string;
  readonly rule: string;
}

/** Returns a function that makes attacks which break this rule first. */
export const breakingRule =
  (rule: string, where: Pick<Attack, 'forms' | 'directions'> = {}) =>
  (attack: string, make: Attack['make']): Attack => ({ attack, rule, ...where, make });

/** A harmless variation of honest transactions. */
export interface Shape extends Variation {
  readonly shape: string;
}

/** Default directions of a family: both directions of SOL, and Token-2022. */
const USUAL: readonly DirectionName[] = ['usdc-usdt', 'sol-usdc', 'usdc-sol', 'usdc-pyusd'];
const COPIES = 4;
/** Coprime to the number of forms (eight), so that neighbouring attacks use different forms. */
const STRIDE = 3;

/**
 * Makes the cases of a family: each attack in up to four instruction forms, each in another
 * direction. Every second case uses lookup tables. The forms and directions rotate from an attack
 * to the next.
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

/** Place of a foreign instruction among the honest instructions. */
export type Spot = 'first' | 'before' | 'after';

/** Adds instructions at the start, right before the swap, or at the end. */
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

/** Replaces parts of the honest transaction. */
export function replacing(
  change: (base: Base) => Partial<Pick<Base, 'compute' | 'setup' | 'cleanup' | 'swap' | 'tables'>>,
) {
  return (from: Base): Uint8Array => transaction(draftOf({ ...from, ...change(from) }));
}

/** Changes the terms of the swap instruction. */
export function changingTerms(change: (terms: Terms, base: Base) => Partial<Terms>) {
  return (from: Base): Uint8Array =>
    transaction(draftOf(withTerms(from, (terms) => change(terms, from))));
}

/** Changes some accounts of the swap instruction. */
export function changingAccounts(change: (base: Base) => Partial<Terms['accounts']>) {
  return changingTerms((terms, from) => ({ accounts: { ...terms.accounts, ...change(from) } }));
}

/** Changes the compiled message of the honest transaction. */
export function rearranging(change: (message: Message) => Message) {
  return (from: Base): Uint8Array => transaction(draftOf(from), change);
}

/** Changes the bytes of the honest transaction. */
export function changingBytes(change: (bytes: Uint8Array) => Uint8Array | string) {
  return (from: Base): Uint8Array | string => change(wire(compile(draftOf(from))));
}

export function formsWhere(test: (form: Form) => boolean): FormName[] {
  return FORM_NAMES.filter((name) => test(FORMS[name]));
}
