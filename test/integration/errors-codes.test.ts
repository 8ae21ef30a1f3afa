import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { errorCodes, type ErrorCode } from 'exact-change';
import { expect, it } from 'vitest';

/**
 * Codes that no run of the library can give today, each with the reason. Replace an outdated reason
 * with a test.
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

it('names every error code in an end-to-end test, unless no run can give the code', () => {
  const unnamed = errorCodes.filter((code) => !suites.includes(`'${code}'`));
  expect(unnamed.sort()).toEqual(Object.keys(NOT_TODAY).sort());
});
