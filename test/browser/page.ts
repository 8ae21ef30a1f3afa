import * as library from 'exact-change';
import { createKeySigner, verifySignature } from '../../src/solana/keys.js';

// What tests reach from inside the page: the packed package, and the key signer, which it does not export.
const exposed = { ...library, createKeySigner, verifySignature };

declare global {
  var exactChange: typeof exposed;
}

globalThis.exactChange = exposed;
