import * as library from 'exact-change';
import { createSeedSigner, verifySignature } from '../../src/solana/keys.js';

// Tests in the page use the packed package and the seed signer, which the package does not export.
const exposed = { ...library, createSeedSigner, verifySignature };

declare global {
  var exactChange: typeof exposed;
}

globalThis.exactChange = exposed;
