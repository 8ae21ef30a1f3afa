import { address, type Address } from '@solana/kit';
import { MINTS } from '../mints.js';
import type { ChainAccount, SandboxMint } from '../types.js';
import { VENUE, venueBytes } from '../venue/venue.mjs';
import { mintData } from './token.js';
import type { Vm } from './vm.js';

/** An authority for which no key exists. */
const NO_KEY = address('11111111111111111111111111111111');

/** Writes the mints at their mainnet addresses, and the swap program at Jupiter's address. */
export function seed(vm: Vm): void {
  for (const mint of MINTS) {
    if (mint.symbol === 'SOL') continue; // The runtime provides the native mint.
    vm.setAccount(
      mint.address,
      mintAccount(mint, (bytes) => vm.rent(bytes)),
    );
  }
  vm.addProgram(VENUE, venueBytes());
}

/** Makes the account of a mint. `authority` may mint and freeze; by default no key can. */
export function mintAccount(
  mint: SandboxMint,
  rent: (bytes: bigint) => bigint,
  authority: Address = NO_KEY,
): ChainAccount {
  const data = mintData(mint.decimals, authority, mint.symbol === 'PYUSD');
  return { lamports: rent(BigInt(data.length)), data, owner: mint.tokenProgram, executable: false };
}
