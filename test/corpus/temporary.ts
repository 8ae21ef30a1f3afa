import { getAddressEncoder, getProgramDerivedAddress, type Address } from '@solana/kit';
import { MINTS, PROGRAMS, WALLET, own } from './addresses.js';
import { withTerms, type Base } from './bases.js';
import { discriminator } from './forms.js';
import {
  closeAccount,
  instruction,
  payer,
  readonly,
  transferSol,
  writable,
  type FilledInstruction,
} from './instructions.js';

/** Rent of a token account in lamports. */
export const RENT = 2_039_280n;

/** Returns the address and bump of the temporary account that Jupiter makes for a swap's SOL. */
export async function temporaryAt(
  owner: Address,
  mint: Address = MINTS.wsol,
  seed = 'token_account',
) {
  const encode = (key: Address) => getAddressEncoder().encode(key);
  const [account, bump] = await getProgramDerivedAddress({
    programAddress: PROGRAMS.jupiter,
    seeds: [seed, encode(owner), encode(mint)],
  });
  return { account, bump };
}

export const TEMPORARY = await temporaryAt(WALLET);

export interface Making {
  readonly account: Address;
  readonly bump: number;
  readonly user?: Address;
  readonly mint?: Address;
  readonly tokenProgram?: Address;
}

/** Makes Jupiter's instruction `create_token_account`. */
export function createTemporary({
  account,
  bump,
  user = WALLET,
  mint = MINTS.wsol,
  tokenProgram = PROGRAMS.token,
}: Making): FilledInstruction {
  const metas = [
    writable(account),
    payer(user),
    readonly(mint),
    readonly(tokenProgram),
    readonly(PROGRAMS.system),
  ];
  return instruction(PROGRAMS.jupiter, metas, [...discriminator('create_token_account'), bump]);
}

export const close = closeAccount(TEMPORARY.account, WALLET, WALLET);

/** Makes the transfer that funds the account before its creation. */
export function fundTemporary(
  { expected }: Base,
  more = 0n,
  to: Address = TEMPORARY.account,
): FilledInstruction[] {
  return expected.inputMint === MINTS.wsol
    ? [transferSol(WALLET, to, RENT + expected.maxIn + more)]
    : [];
}

/** Returns the honest swap with a temporary account instead of the wallet's wrapped SOL account. */
export function swapThrough(from: Base, account: Address = TEMPORARY.account): Base {
  const moved = (address: Address) => (address === own(MINTS.wsol) ? account : address);
  return withTerms(from, ({ accounts, venues }) => ({
    accounts: {
      ...accounts,
      source: moved(accounts.source),
      destination: moved(accounts.destination),
    },
    venues: venues.map((meta) => ({ ...meta, address: moved(meta.address) })),
  }));
}

/** Returns the recorded form: transfer (if SOL is sold), creation, swap, close. */
export function recorded(from: Base): Base {
  return {
    ...swapThrough(from),
    setup: [...fundTemporary(from), createTemporary(TEMPORARY)],
    cleanup: [close],
  };
}
