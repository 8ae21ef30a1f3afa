// Loads both copies of the package in one process: each must recognise errors of the other copy.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as esm from 'exact-change';

const cjs = createRequire(import.meta.url)('exact-change');
const thrownBy = (library) => {
  try {
    library.createClient({ walletSecretKey: 'no key' });
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

assert.notEqual(esm.createClient, cjs.createClient);
for (const [ours, theirs] of [
  [esm, cjs],
  [cjs, esm],
]) {
  const error = thrownBy(ours);
  assert.ok(error instanceof ours.ConfigError);
  assert.ok(!(error instanceof theirs.ConfigError));
  assert.ok(theirs.isExactChangeError(error, 'invalid_key'));
  assert.ok(!theirs.isExactChangeError(error, 'invalid_option'));
}
console.log('ok');
