import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { errorCodes } from 'exact-change';
import { expect, it } from 'vitest';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const suites = readdirSync(HERE)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(HERE + name, 'utf8'))
  .join('\n');

it('names every error code in an end-to-end test', () => {
  expect(errorCodes.filter((code) => !suites.includes(`'${code}'`))).toEqual([]);
});
