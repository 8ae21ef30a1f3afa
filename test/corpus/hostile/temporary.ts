import { tokenAccount } from '../accounts.js';
import { ATTACKER, FAKE_MINTS, MINTS, PROGRAMS, WALLET, own } from '../addresses.js';
import { createOwn, draftOf, type Base, type DirectionName } from '../bases.js';
import { transaction } from '../build.js';
import { family, type Attack } from '../case.js';
import {
  closeAccount,
  instruction,
  readonly,
  signer,
  syncNative,
  transferSol,
  writable,
  type FilledInstruction,
} from '../instructions.js';
import {
  close,
  fundTemporary,
  createTemporary,
  recorded,
  RENT,
  TEMPORARY,
  temporaryAt,
  swapThrough,
  type Making,
} from '../temporary.js';

const { wsol, usdc } = MINTS;
const temporary = TEMPORARY.account;
const SOL: readonly DirectionName[] = ['sol-usdc', 'usdc-sol'];

/** Makes attacks from the recorded form, with changed parts. */
const bad =
  (rule: string, directions = SOL) =>
  (
    attack: string,
    change: (from: Base) => Partial<Pick<Base, 'setup' | 'swap' | 'cleanup'>>,
  ): Attack => ({
    ...{ attack, rule, directions },
    make: (from) => transaction(draftOf({ ...recorded(from), ...change(from) })),
  });

const [evil, ofUsdc, ofFake, ofAnotherSeed] = await Promise.all([
  temporaryAt(ATTACKER),
  temporaryAt(WALLET, usdc),
  temporaryAt(WALLET, FAKE_MINTS.wsol),
  temporaryAt(WALLET, wsol, 'token-account'),
]);
const honest = createTemporary(TEMPORARY);

/** Makes the recorded form with another temporary account. */
const elsewhere = (attack: string, making: Making): Attack =>
  bad('one_swap')(attack, (from) => ({
    setup: [...fundTemporary(from, 0n, making.account), createTemporary(making)],
    swap: swapThrough(from, making.account).swap,
    cleanup: [closeAccount(making.account, WALLET, WALLET)],
  }));
const making = (attack: string, change: Partial<FilledInstruction>): Attack =>
  bad('one_swap')(attack, (from) => ({
    setup: [...fundTemporary(from), { ...honest, ...change }],
  }));

/** Temporary accounts made in an unrecorded way, which count as a second instruction of Jupiter. */
const makings: readonly Attack[] = [
  elsewhere('made_at_the_place_of_another', evil),
  elsewhere('made_of_another_mint', { ...ofUsdc, mint: usdc }),
  elsewhere('made_of_a_fake_mint', { ...ofFake, mint: FAKE_MINTS.wsol }),
  elsewhere('made_of_another_seed', ofAnotherSeed),
  elsewhere('made_at_the_own_account', { ...TEMPORARY, account: own(wsol) }),
  making('made_for_another', {
    accounts: honest.accounts.map((one) => (one.address === WALLET ? writable(ATTACKER) : one)),
  }),
  making('made_with_another_bump', createTemporary({ ...TEMPORARY, bump: TEMPORARY.bump - 1 })),
  making('made_by_token_2022', createTemporary({ ...TEMPORARY, tokenProgram: PROGRAMS.token2022 })),
  making('made_with_one_account_more', { accounts: [...honest.accounts, writable(own(usdc))] }),
  making('made_with_one_account_less', { accounts: honest.accounts.slice(0, 4) }),
  making('made_with_a_tail', { data: Uint8Array.of(...honest.data, 0) }),
  making('made_without_a_bump', { data: honest.data.slice(0, 8) }),
];

const misused = bad('temporary_account');
const approve = instruction(
  PROGRAMS.token,
  [writable(temporary), readonly(ATTACKER), signer(WALLET)],
  [4, ...new Uint8Array(8).fill(255)],
);

/**
 * Temporary accounts used in an unrecorded way. In the recorded way, an account is funded, made,
 * used by the swap, and closed into the wallet, each step a single time.
 */
const uses: readonly Attack[] = [
  misused('never_closed', () => ({ cleanup: [] })),
  misused('closed_into_another', () => ({ cleanup: [closeAccount(temporary, ATTACKER, WALLET)] })),
  misused('closed_by_another', () => ({
    cleanup: [{ ...close, accounts: [...close.accounts.slice(0, 2), readonly(ATTACKER)] }],
  })),
  misused('closed_by_a_multisig', () => ({
    cleanup: [{ ...close, accounts: [...close.accounts, signer(WALLET)] }],
  })),
  misused('closed_by_token_2022', () => ({
    cleanup: [closeAccount(temporary, WALLET, WALLET, PROGRAMS.token2022)],
  })),
  misused('closed_with_a_tail', () => ({ cleanup: [{ ...close, data: Uint8Array.of(9, 0) }] })),
  misused('closed_before_the_swap', (from) => ({
    setup: [...fundTemporary(from), honest, close],
    cleanup: [],
  })),
  misused('closed_twice', () => ({ cleanup: [close, close] })),
  misused('made_after_the_swap', (from) => ({
    setup: fundTemporary(from),
    cleanup: [honest, close],
  })),
  misused('made_twice', (from) => ({ setup: [...fundTemporary(from), honest, honest] })),
  misused('made_and_not_used', ({ swap }) => ({ swap })),
  misused('approved_to_another', () => ({ cleanup: [approve, close] })),
  misused('synced', (from) => ({ setup: [...fundTemporary(from), honest, syncNative(temporary)] })),
  misused('funded_once_it_is_made', () => ({
    setup: [honest, transferSol(WALLET, temporary, 1n)],
  })),
  misused('funded_in_parts', (from) => ({
    setup: [transferSol(WALLET, temporary, 1n), ...fundTemporary(from, -1n), honest],
    cleanup: [close, close],
  })),
  misused('funded_at_the_end', () => ({ cleanup: [close, transferSol(WALLET, temporary, RENT)] })),
];

const sold = bad('temporary_funding', ['sol-usdc']);
const there = tokenAccount(PROGRAMS.token, { mint: wsol, owner: WALLET, amount: 5_000_000_000n });

const fundings: readonly Attack[] = [
  sold('funded_with_one_more', (from) => ({ setup: [...fundTemporary(from, 1n), honest] })),
  sold('funded_with_one_less', (from) => ({ setup: [...fundTemporary(from, -1n), honest] })),
  sold('funded_with_all', (from) => ({ setup: [...fundTemporary(from, 1_000_000_000n), honest] })),
  sold('funded_without_rent', (from) => ({ setup: [...fundTemporary(from, -RENT), honest] })),
  sold('funded_with_nothing', () => ({ setup: [honest] })),
  {
    ...bad('temporary_funding')('there_already', () => ({})),
    accounts: () => new Map([[temporary, there]]),
  },
  bad('system_instruction', ['usdc-sol'])('funded_for_a_swap_into_sol', () => ({
    setup: [transferSol(WALLET, temporary, RENT), honest],
  })),
  bad('token_account_creation')('beside_the_own_account', (from) => ({
    setup: [createOwn(wsol), ...fundTemporary(from), honest],
  })),
  bad('close_account')('with_the_own_account_closed', () => ({
    cleanup: [close, closeAccount(own(wsol), WALLET, WALLET)],
  })),
  bad('sync_native')('with_the_own_account_synced', (from) => ({
    setup: [syncNative(own(wsol)), ...fundTemporary(from), honest],
  })),
];

export const temporaryAccounts = [
  ...family('temporary', 'refused', [...makings, ...uses]),
  ...family('temporary-funds', 'defused', fundings),
];
