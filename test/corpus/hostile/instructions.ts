import { AccountRole } from '@solana/kit';
import { ATTACKER, PROGRAMS, someKey } from '../addresses.js';
import { base, type Expectation } from '../bases.js';
import { FORM_NAMES } from '../forms.js';
import { signer, type FilledInstruction } from '../instructions.js';

/** A swap instruction alone, as a service returns it instead of a whole transaction. */
export interface HostileInstruction {
  /** Id in the form `attack/form`. */
  readonly id: string;
  readonly instruction: FilledInstruction;
  readonly expected: Expectation;
  readonly rule: string;
}

interface Attack {
  readonly attack: string;
  readonly rule: string;
  readonly change: (honest: FilledInstruction) => FilledInstruction;
}

/**
 * Attacks that reach the rules only as a single instruction. In a whole transaction, earlier rules
 * count the signers and find the swap by its program.
 */
const ATTACKS: readonly Attack[] = [
  {
    attack: 'jupiter_of_old',
    rule: 'swap_program',
    change: (honest) => ({ ...honest, programAddress: PROGRAMS.jupiterV4 }),
  },
  {
    attack: 'unknown_program',
    rule: 'swap_program',
    change: (honest) => ({ ...honest, programAddress: someKey(248) }),
  },
  {
    attack: 'token_program',
    rule: 'swap_program',
    change: (honest) => ({ ...honest, programAddress: PROGRAMS.token }),
  },
  {
    attack: 'second_signer',
    rule: 'extra_signer',
    change: (honest) => ({ ...honest, accounts: [...honest.accounts, signer(ATTACKER)] }),
  },
  {
    attack: 'vault_signs',
    rule: 'extra_signer',
    change: (honest) => ({
      ...honest,
      accounts: honest.accounts.map((meta, at) =>
        at === honest.accounts.length - 4 ? { ...meta, role: AccountRole.WRITABLE_SIGNER } : meta,
      ),
    }),
  },
  ...[PROGRAMS.token, PROGRAMS.jupiter].map((program): Attack => ({
    attack: program === PROGRAMS.token ? 'token_program_writable' : 'jupiter_writable',
    rule: 'swap_programs',
    change: (honest) => ({
      ...honest,
      accounts: honest.accounts.map((meta) =>
        meta.address === program ? { ...meta, role: AccountRole.WRITABLE } : meta,
      ),
    }),
  })),
];

export const hostileInstructions: readonly HostileInstruction[] = ATTACKS.flatMap(
  ({ attack, rule, change }) =>
    FORM_NAMES.map((form) => {
      const { swap, expected } = base(form, 'usdc-usdt', false);
      return { id: `${attack}/${form}`, instruction: change(swap), expected, rule };
    }),
);
