import type { Owner } from '../journal/types.js';
import type { PaymentContext } from './context.js';

/** Whose attempts a context reads and writes. */
export function ownerOf({ config }: PaymentContext): Owner {
  return { wallet: config.signer.address, network: config.network };
}
