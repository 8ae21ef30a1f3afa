import * as library from 'exact-change';
import { createSeedSigner, verifySignature } from '../../src/solana/keys.js';

// What tests reach from inside the page: the packed package, and the key signer, which it does not
// export.
const exposed = { ...library, createSeedSigner, verifySignature };

declare global {
  var exactChange: typeof exposed;
}

globalThis.exactChange = exposed;
