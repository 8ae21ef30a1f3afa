import { address } from '@solana/kit';
import { SANDBOX_MINTS } from '../mints.js';
import { VENUE, venueBytes } from '../venue/venue.mjs';
import { mintData } from './token.js';
import type { Vm } from './vm.js';

/** Nobody can sign for it. */
const NOBODY = address('11111111111111111111111111111111');

/** Puts the mints at their mainnet addresses and the venue program at Jupiter's. */
export function seed(vm: Vm): void {
  for (const mint of Object.values(SANDBOX_MINTS)) {
    if (mint.symbol === 'SOL') continue; // the runtime brings the native mint
    const data = mintData(mint.tokenProgram, mint.decimals, NOBODY);
    vm.setAccount(mint.address, { lamports: vm.rent(BigInt(data.length)), data, owner: mint.tokenProgram, executable: false });
  }
  vm.addProgram(VENUE, venueBytes());
}
