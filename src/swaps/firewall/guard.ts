import { transferChecked } from '../../solana/transactions/instructions.js';
import {
  allocateNothing,
  dropCloseAuthority,
  revoke,
  transferLamports,
} from '../../solana/transactions/swap-instructions.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { OwnAccount } from '../accounts/own-account.js';
import type { GuardsFound } from './guards-found.js';

/** The least that a token account of the wallet must hold when the transaction ends. */
export interface TokenFloor {
  readonly account: OwnAccount;
  /** Base units. */
  readonly least: bigint;
  /** Whether the transaction itself closes the account, which leaves nothing to guard. */
  readonly closed: boolean;
}

/**
 * What the wallet must hold when the transaction ends. If it holds less, the whole transaction
 * fails and costs the wallet only the network fee.
 */
export interface Floors {
  readonly wallet: Address;
  readonly lamports: bigint;
  readonly tokens: readonly TokenFloor[];
}

/**
 * Composes the guard, which calls pinned programs alone. For each token account:
 * - `Revoke` takes away an approval. It comes first: a venue that owns the account can make the
 *   wallet its delegate and close authority. A delegate may transfer and revoke.
 * - The account transfers its least balance to itself. This fails if it holds less, or if the
 *   wallet no longer owns it.
 * - Dropping the close authority fails if it belongs to another wallet.
 *
 * The last instruction transfers the least lamports from the wallet to itself. It also fails if the
 * wallet was assigned to another program or given data, as a nonce account has. A transfer of zero
 * would not fail then, so a wallet that may have no lamports allocates zero bytes instead.
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
export function guardsHold({ tokens, lamports }: GuardsFound, floors: Floors): boolean {
  const staying = floors.tokens.filter((token) => !token.closed);
  const areGuarded = staying.every(({ account, least }) => {
    const guards = tokens.filter((guarded) => guarded.account === account.address);
    const revokedAt = guards.findIndex(({ kind }) => kind === 'revoke');
    const isOwned = guards.some(
      ({ kind, amount }, index) => kind === 'least' && amount >= least && index > revokedAt,
    );
    return revokedAt !== -1 && isOwned && guards.some(({ kind }) => kind === 'close_authority');
  });
  return areGuarded && lamports !== undefined && lamports >= floors.lamports;
}
