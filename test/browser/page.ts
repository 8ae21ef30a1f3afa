import * as library from 'exact-change';
import { createSeedSigner } from '../../src/solana/keys.js';
import { verifySignature } from '../../src/solana/signatures.js';

// What tests reach from inside the page: the packed package, and the key signer, which it does not
// export.
const exposed = { ...library, createSeedSigner, verifySignature };

declare global {
  var exactChange: typeof exposed;
}

globalThis.exactChange = exposed;
