import { transferChecked } from '../../solana/transactions/instructions.js';
import {
  allocateNothing,
  dropCloseAuthority,
  revoke,
  transferLamports,
} from '../../solana/transactions/swap-instructions.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { OwnAccount } from '../transaction/own-account.js';
import type { GuardsFound } from './guards-found.js';

/** What must be true of one of the wallet's accounts when the transaction ends. */
export interface TokenFloor {
  readonly account: OwnAccount;
  /** Base units. */
  readonly least: bigint;
  /** Closed by the transaction itself: nothing is left that could be guarded. */
  readonly closed: boolean;
}

/**
 * What must be true when the transaction ends; if not, all of it fails and the wallet loses the
 * network fee alone.
 */
export interface Floors {
  readonly wallet: Address;
  readonly lamports: bigint;
  readonly tokens: readonly TokenFloor[];
}

/**
 * The guard, made of pinned programs alone. Revoking takes away an approval; moving the least that
 * must be there to the same account fails if less is there, or if the wallet no longer owns
 * it; dropping the close authority fails if it is another wallet's.
 * Revoking comes first: a venue that has made itself the owner can make the wallet its delegate and
 * the one that may close, and a delegate may move and revoke. The last one fails too if the
 * wallet was assigned to another program, or was given data, as a nonce account has. Of a wallet
 * without lamports it allocates no bytes, which fails for both and does nothing else: a transfer of
 * zero would not notice.
 */
export function guard(floors: Floors): Instruction[] {
  const { wallet, lamports } = floors;
  const tokens = floors.tokens
    .filter((token) => !token.closed)
    .flatMap((token) => guardToken(wallet, token));
  const last =
    lamports === 0n
      ? allocateNothing({ account: wallet })
      : transferLamports({ from: wallet, to: wallet, lamports });
  return [...tokens, last];
}

function guardToken(authority: Address, { account, least }: TokenFloor): Instruction[] {
  const { address, mint, decimals, tokenProgram } = account;
  return [
    revoke({ account: address, authority, tokenProgram }),
    transferChecked({
      source: address,
      mint,
      destination: address,
      authority,
      amount: least,
      decimals,
      tokenProgram,
    }),
    dropCloseAuthority({ account: address, authority, tokenProgram }),
  ];
}

/** Whether the guards at the end of a transaction hold it to these floors at least. */
export function holds({ tokens, lamports }: GuardsFound, floors: Floors): boolean {
  const open = floors.tokens.filter((token) => !token.closed);
  const kept = open.every(({ account, least }) => {
    const own = tokens.filter((guarded) => guarded.account === account.address);
    const revoked = own.findIndex(({ kind }) => kind === 'revoke');
    const isOwned = own.some(
      ({ kind, amount }, index) => kind === 'least' && amount >= least && index > revoked,
    );
    return revoked !== -1 && isOwned && own.some(({ kind }) => kind === 'close_authority');
  });
  return kept && lamports !== undefined && lamports >= floors.lamports;
}
