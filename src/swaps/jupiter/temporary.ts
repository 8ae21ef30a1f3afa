import { JUPITER_PROGRAM, SYSTEM_PROGRAM, TOKEN_PROGRAM, WSOL_MINT } from '../../network.js';
import { addressBytes } from '../../solana/address.js';
import { programAddress } from '../../solana/tokens/accounts.js';
import type { Address, Instruction } from '../../solana/types.js';
import { names } from '../firewall/placed-instructions.js';

/** Anchor's number for `create_token_account`. */
const CREATE = [0x93, 0xf1, 0x7b, 0x64, 0xf4, 0x84, 0xae, 0x76];

/**
 * Jupiter's account for the SOL of one swap, if this instruction makes it for this wallet with
 * exactly what the recorded ones name: `/swap` makes it if a wallet's own wrapped SOL account is to
 * be left alone. In every recorded transaction it is the first address of these seeds.
 */
export function temporaryOf(
  { program, accounts, data }: Instruction,
  wallet: Address,
): Address | undefined {
  if (
    program !== JUPITER_PROGRAM ||
    data.length !== CREATE.length + 1 ||
    !CREATE.every((byte, index) => data[index] === byte)
  )
    return undefined;
  const { address, bump } = programAddress(
    [new TextEncoder().encode('token_account'), addressBytes(wallet), addressBytes(WSOL_MINT)],
    JUPITER_PROGRAM,
  );
  const made = [address, wallet, WSOL_MINT, TOKEN_PROGRAM, SYSTEM_PROGRAM];
  return data[CREATE.length] === bump && names({ accounts }, made) ? address : undefined;
}
