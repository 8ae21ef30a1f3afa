import type { Address } from '@solana/kit';
import {
  account,
  concat,
  keyBytes,
  mint,
  tokenAccount,
  type Accounts,
  type TokenAccount,
} from '../accounts.js';
import {
  ATTACKER,
  FAKE_MINTS,
  MINTS,
  PROGRAMS,
  WALLET,
  own,
  someKey,
  tokenProgramOf,
} from '../addresses.js';
import { draftOf, withTerms, type Base, type DirectionName } from '../bases.js';
import { transaction } from '../build.js';
import { family, formsWhere, changingAccounts, changingTerms, type Attack } from '../case.js';
import { readonly, writable } from '../instructions.js';
import { EXPOSED, TABLES, TABLE_ENTRIES } from '../world.js';

/** A token for which the wallet has no account. */
const NOT_HELD = FAKE_MINTS.usdc;

/** Adds writable accounts to those of the venue, for which the wallet also signs. */
const handing = (attack: string, ...addresses: readonly Address[]): Attack => ({
  attack,
  rule: 'exposed_account',
  make: changingTerms(({ venues }) => ({ venues: [...venues, ...addresses.map(writable)] })),
});

/**
 * Adds a multisig's account as writable and the multisig itself as read-only. The wallet's
 * signature counts for the multisig.
 */
const throughMultisig = (attack: string, account: Address, multisig: Address): Attack => ({
  ...{ attack, rule: 'exposed_multisig' },
  make: changingTerms(({ venues }) => ({
    venues: [...venues, writable(account), readonly(multisig)],
  })),
});

const POSITION = someKey(220);
const POSITION_MINT = someKey(222);
const POSITION_HOLDER = someKey(224);

/**
 * Adds a position in a pool as writable, and the wallet's account with the position's NFT as
 * read-only. The position names only the mint of the NFT, and obeys the owner of the account.
 */
const throughPosition = (attack: string, program: Address): Attack => ({
  ...throughMultisig(attack, POSITION, POSITION_HOLDER),
  accounts: () =>
    new Map([
      [POSITION, account(PROGRAMS.whirlpool, concat(new Uint8Array(40), keyBytes(POSITION_MINT)))],
      [POSITION_HOLDER, tokenAccount(program, { mint: POSITION_MINT, owner: WALLET, amount: 1n })],
    ]),
});

const OBEYING_MINT = someKey(140);
const OF_OBEYING_MINT = someKey(138);

/**
 * Adds another owner's account as writable, and its mint as read-only. The mint gives the wallet a
 * power over its accounts: its data have the wallet at an offset.
 */
const throughMint = (
  attack: string,
  program: Address,
  at: number,
  tag: readonly number[],
): Attack => {
  const data = Uint8Array.from(mint(program, 6).data);
  data.set([...tag, ...keyBytes(WALLET)], at);
  const held = { mint: OBEYING_MINT, owner: ATTACKER, amount: 1n };
  return {
    ...throughMultisig(attack, OF_OBEYING_MINT, OBEYING_MINT),
    accounts: () =>
      new Map([
        [OBEYING_MINT, account(program, data)],
        [OF_OBEYING_MINT, tokenAccount(program, held)],
      ]),
  };
};

/** Names an account only by an index of a lookup table, so that its address is hidden. */
function fromTable(from: Base): Uint8Array {
  const swapped = withTerms(from, ({ venues }) => ({
    venues: [...venues, writable(own(MINTS.bonk))],
  }));
  return transaction({
    ...draftOf(swapped),
    tables: { ...from.tables, [TABLES.attackers]: [...TABLE_ENTRIES.attackers] },
  });
}

const exposures: readonly Attack[] = [
  handing('third_ata', own(MINTS.bonk)),
  handing('auxiliary_account', EXPOSED.auxiliary),
  handing('auxiliary_account_2022', EXPOSED.auxiliary2022),
  handing('delegated_account', EXPOSED.delegated),
  handing('closable_account', EXPOSED.closable),
  handing('own_mint', EXPOSED.mint),
  handing('own_mint_2022', EXPOSED.mint2022),
  handing('multisig', EXPOSED.multisig),
  handing('multisig_2022', EXPOSED.multisig2022),
  handing('stake', EXPOSED.stake),
  handing('stake_to_withdraw', EXPOSED.stakeWithdrawn),
  handing('nonce', EXPOSED.nonce),
  handing('lookup_table', EXPOSED.table),
  handing('program', EXPOSED.programData),
  handing('program_buffer', EXPOSED.programBuffer),
  handing('program_of_loader_v4', EXPOSED.loaderV4),
  handing('vote', EXPOSED.vote),
  handing('loan', EXPOSED.loan),
  handing('behind_harmless_ones', someKey(254), ATTACKER, EXPOSED.stake),
  { ...handing('compressed_asset', EXPOSED.tree), rule: 'exposed_tree' },
  { ...handing('compressed_asset_of_metaplex', EXPOSED.treeOfMetaplex), rule: 'exposed_tree' },
  { ...handing('compressed_token_of_light', EXPOSED.treeOfLight), rule: 'exposed_tree' },
  {
    attack: 'account_that_is_yet_to_come',
    rule: 'exposed_vacancy',
    make: changingTerms(({ venues }) => ({
      venues: [...venues, writable(own(NOT_HELD)), readonly(NOT_HELD)],
    })),
  },
  {
    ...{ attack: 'account_that_is_yet_to_come_and_has_lamports', rule: 'exposed_vacancy' },
    make: changingTerms(({ venues }) => ({
      venues: [...venues, writable(own(NOT_HELD)), readonly(NOT_HELD)],
    })),
    accounts: () => new Map([[own(NOT_HELD), account(PROGRAMS.system)]]),
  },
  throughMultisig('account_of_a_multisig', EXPOSED.ofMultisig, EXPOSED.multisig),
  throughMultisig('account_of_a_multisig_2022', EXPOSED.ofMultisig2022, EXPOSED.multisig2022),
  throughPosition('position_of_an_nft', PROGRAMS.token),
  throughPosition('position_of_an_nft_2022', PROGRAMS.token2022),
  {
    attack: 'another_own_account_read_only',
    rule: 'exposed_multisig',
    make: changingTerms(({ venues }) => ({ venues: [...venues, readonly(own(MINTS.bonk))] })),
  },
  throughMint('account_of_a_mint_that_it_may_freeze', PROGRAMS.token, 46, [1, 0, 0, 0]),
  throughMint('account_of_a_mint_that_it_may_move', PROGRAMS.token2022, 166, [12, 0, 32, 0]),
  { attack: 'third_ata_from_lut', rule: 'exposed_account', make: fromTable },
  {
    ...{ attack: 'as_a_vault', rule: 'exposed_account', forms: formsWhere(({ shared }) => shared) },
    make: changingAccounts(() => ({ vaultIn: EXPOSED.auxiliary })),
  },
  {
    ...{
      attack: 'as_the_other_vault',
      rule: 'exposed_account',
      forms: formsWhere(({ shared }) => shared),
    },
    make: changingAccounts(() => ({ vaultOut: own(MINTS.bonk) })),
  },
];

type Side = 'input' | 'output';

/** Makes the honest swap for a wallet with a changed account, for example with a delegate. */
const finding = (
  attack: string,
  rule: string,
  side: Side,
  change: Partial<TokenAccount>,
  directions?: readonly DirectionName[],
): Attack => ({
  ...{ attack: `${side}_${attack}`, rule, make: (from) => transaction(draftOf(from)) },
  accounts: ({ expected }) => {
    const mint = side === 'input' ? expected.inputMint : expected.outputMint;
    const held = { mint, owner: WALLET, amount: 1_000_000_000n, ...change };
    return new Map([[own(mint), tokenAccount(tokenProgramOf(mint), held)]]);
  },
  ...(directions === undefined ? {} : { directions }),
});

const bothSides = (attack: string, rule: string, change: Partial<TokenAccount>): Attack[] => [
  finding(attack, rule, 'input', change),
  finding(attack, rule, 'output', change),
];

/** Puts another kind of account at the address of the wallet's token account. */
const lying = (attack: string, owner: (base: Base) => Address, data: Uint8Array): Attack => ({
  ...{ attack, rule: 'own_account_kind', make: (from) => transaction(draftOf(from)) },
  accounts: (from): Accounts =>
    new Map([[own(from.expected.outputMint), account(owner(from), data)]]),
});

const before: readonly Attack[] = [
  ...bothSides('of_another_mint', 'own_account_kind', { mint: MINTS.bonk }),
  ...bothSides('of_another_owner', 'own_account_owner', { owner: ATTACKER }),
  ...bothSides('frozen', 'own_account_frozen', { frozen: true }),
  ...bothSides('delegate_set_before', 'own_account_delegate', { delegate: ATTACKER }),
  ...bothSides('foreign_close_authority', 'own_account_close_authority', {
    closeAuthority: ATTACKER,
  }),
  finding(
    'wrapped_with_foreign_close_authority',
    'own_account_close_authority',
    'input',
    { closeAuthority: ATTACKER },
    ['sol-usdc', 'wsol-usdc'],
  ),
  finding('wrapped_with_a_delegate', 'own_account_delegate', 'output', { delegate: ATTACKER }, [
    'usdc-sol',
    'usdc-wsol',
  ]),
  lying(
    'of_the_other_program',
    ({ expected }) =>
      expected.outputProgram === PROGRAMS.token ? PROGRAMS.token2022 : PROGRAMS.token,
    new Uint8Array(165),
  ),
  lying('of_an_unknown_program', () => someKey(248), new Uint8Array(165)),
  lying(
    'of_the_right_program_and_empty',
    ({ expected }) => expected.outputProgram,
    new Uint8Array(),
  ),
  lying('with_data_of_the_system_program', () => PROGRAMS.system, new Uint8Array(8)),
  finding('needs_a_memo', 'own_account_memo', 'input', { needsMemo: true }, ['pyusd-usdc']),
  finding('needs_a_memo', 'own_account_memo', 'output', { needsMemo: true }, ['usdc-pyusd']),
  finding('is_confidential', 'own_account_confidential', 'output', { isConfidential: true }, [
    'usdc-pyusd',
  ]),
];

export const exposure = [
  ...family('exposure', 'refused', exposures),
  ...family('own-accounts', 'refused', before),
];
