import {
  ATTACKER,
  FAKE_MINTS,
  MINTS,
  OWN_PYUSD_OF_WRONG_PROGRAM,
  OWN_WSOL_OF_WRONG_PROGRAM,
  PROGRAMS,
  SYSVARS,
  WALLET,
  own,
  theirs,
} from '../addresses.js';
import { createOwn } from '../bases.js';
import { adding, family, type Attack, type Spot } from '../case.js';
import {
  createAccount,
  instruction,
  readonly,
  signer,
  writable,
  type Creation,
  type FilledInstruction,
} from '../instructions.js';
import { EXPOSED } from '../world.js';

const { usdc, wsol, bonk, pyusd } = MINTS;

/** The wallet's wrapped SOL account, which every swap may create. */
const HONEST: Creation = {
  payer: WALLET,
  account: own(wsol),
  owner: WALLET,
  mint: wsol,
  tokenProgram: PROGRAMS.token,
};

const bad = (attack: string, made: FilledInstruction, spot: Spot = 'before'): Attack => ({
  attack,
  rule: 'token_account_creation',
  make: adding(spot, () => [made]),
});

const creating = (attack: string, change: Partial<Creation>, data?: readonly number[]): Attack =>
  bad(attack, createAccount({ ...HONEST, ...change }, data));

const honest = createAccount(HONEST);

const creations: readonly Attack[] = [
  creating('ata_for_evil', { account: theirs(usdc), owner: ATTACKER, mint: usdc }),
  creating('ata_for_evil_as_create', { account: theirs(usdc), owner: ATTACKER, mint: usdc }, []),
  creating('ata_of_another_mint', { account: own(bonk), mint: bonk }),
  creating('ata_of_a_fake_mint', { account: own(FAKE_MINTS.usdc), mint: FAKE_MINTS.usdc }),
  creating('ata_at_another_address', { account: EXPOSED.auxiliary }),
  creating('ata_of_the_attacker_in_our_name', { account: theirs(wsol) }),
  creating('ata_of_the_wrong_program', {
    account: OWN_WSOL_OF_WRONG_PROGRAM,
    tokenProgram: PROGRAMS.token2022,
  }),
  creating('ata_of_pyusd_of_the_wrong_program', {
    account: OWN_PYUSD_OF_WRONG_PROGRAM,
    mint: pyusd,
    tokenProgram: PROGRAMS.token,
  }),
  creating('ata_of_a_foreign_program', { tokenProgram: PROGRAMS.raydium }),
  creating('ata_operation_3', {}, [3]),
  creating('ata_operation_255', {}, [255]),
  creating('ata_with_a_tail', {}, [1, 0]),
  bad('ata_after_the_swap', createOwn(wsol), 'after'),
  bad('ata_with_more_accounts', {
    ...honest,
    accounts: [...honest.accounts, readonly(SYSVARS.rent), writable(own(bonk))],
  }),
  bad('ata_with_fewer_accounts', { ...honest, accounts: honest.accounts.slice(0, 5) }),
  bad('ata_without_accounts', { ...honest, accounts: [] }),
  bad('ata_paid_by_somebody_else', {
    ...honest,
    accounts: [writable(ATTACKER), ...honest.accounts.slice(1)],
  }),
  bad(
    'ata_recover_nested',
    instruction(
      PROGRAMS.associatedToken,
      [
        ...[
          writable(EXPOSED.auxiliary),
          readonly(usdc),
          writable(theirs(usdc)),
          writable(own(usdc)),
        ],
        ...[readonly(usdc), signer(WALLET), readonly(PROGRAMS.token)],
      ],
      [2],
    ),
  ),
];

export const creation = family('creation', 'defused', creations);
