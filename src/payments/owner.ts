import type { Owner } from '../journal/types.js';
import type { Core } from './context.js';

/** Whose attempts a core reads and writes. */
export function ownerOf({ config }: Core): Owner {
  return { wallet: config.signer.address, network: config.network };
}
