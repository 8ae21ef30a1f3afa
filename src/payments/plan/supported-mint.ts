import { FundsError } from '../../errors.js';
import type { PinnedMint } from '../../network.js';
import type { Account } from '../../solana/rpc/rpc.js';
import type { PlainMint } from '../../solana/tokens/accounts.js';
import { decodeMint, type Mint, unknownMint } from '../../solana/tokens/decode.js';

// Extensions that do not change the amounts that a transfer takes and delivers.
export const harmlessExtensions: ReadonlySet<string> = new Set([
  'metadataPointer',
  'tokenMetadata',
  'groupPointer',
  'tokenGroup',
  'groupMemberPointer',
  'tokenGroupMember',
  'mintCloseAuthority',
  'interestBearingConfig',
]);

// Extensions that a pinned issuer may have as long as they are idle, which `judgeMint` checks.
export const issuerExtensions: ReadonlySet<string> = new Set([
  'permanentDelegate',
  'transferFeeConfig',
  'transferHook',
  'confidentialTransferMint',
  'confidentialTransferFeeConfig',
  'pausable',
  'defaultAccountState',
  'confidentialMintBurn',
  'scaledUiAmount',
]);

export function judgedMint(
  address: string,
  account: Account | undefined,
  pinned: PinnedMint | undefined,
): PlainMint | FundsError {
  const mint = account === undefined ? undefined : decodeMint(account);
  if (mint === undefined) return unknownMint(address);
  return judgeMint(address, mint, pinned) ?? mint;
}

/** Refuses unknown Token-2022 extensions too, because they may change what a transfer does. */
export function judgeMint(
  address: string,
  mint: Mint,
  pinned: PinnedMint | undefined,
): FundsError | undefined {
  const refuse = (reason: string, next: string) =>
    new FundsError('mint_not_supported', `The mint ${address} ${reason}. ${next}`, {
      details: { mint: address, reason },
    });
  if (
    pinned !== undefined &&
    (pinned.decimals !== mint.decimals || pinned.tokenProgram !== mint.tokenProgram)
  ) {
    return refuse(
      'is not on this network what it is pinned to be',
      'Check that the RPC node serves the right network.',
    );
  }
  if (mint.transferFeeBps > 0)
    return refuse(
      'takes a fee from each transfer, so the payee would get less than the price',
      'Pay with another token.',
    );
  if (mint.transferHookProgram !== undefined)
    return refuse('runs a program of its own on each transfer', 'Pay with another token.');
  if (mint.paused)
    return refuse('is paused by its issuer', 'Try again later or pay with another token.');
  const unknown = mint.extensions.find(
    (name) =>
      !harmlessExtensions.has(name) && !(pinned !== undefined && issuerExtensions.has(name)),
  );
  return unknown === undefined
    ? undefined
    : refuse(
        `has the extension ${unknown}, which is not allowed for it`,
        'Pay with another token.',
      );
}
