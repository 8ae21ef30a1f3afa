import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { errorCodes, type ErrorCode } from 'exact-change';
import { expect, it } from 'vitest';

/**
 * Codes that no run of the library can give today, and why. A reason that no longer holds has to
 * go, and a test has to come.
 */
const NOT_TODAY: Partial<Record<ErrorCode, string>> = {
  self_check_failed:
    'it means a bug of ours: test/unit/x402 and test/contract provoke it by breaking our own messages',
};

const HERE = fileURLToPath(new URL('.', import.meta.url));
const suites = readdirSync(HERE)
  .filter((name) => /^errors-.*\.test\.ts$/.test(name) && name !== 'errors-codes.test.ts')
  .map((name) => readFileSync(HERE + name, 'utf8'))
  .join('\n');

it('every code is provoked end to end by a test that names it, but for those that cannot be', () => {
  const unnamed = errorCodes.filter((code) => !suites.includes(`'${code}'`));
  expect(unnamed.sort()).toEqual(Object.keys(NOT_TODAY).sort());
});
