import { readFile } from 'node:fs/promises';
import { format } from 'prettier';
import { expect, it } from 'vitest';
import { withTables } from '../../scripts/tables.js';

it('README shows the states and outcomes as the code has them', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  const anew = await format(withTables(readme), { parser: 'markdown', printWidth: 140, singleQuote: true });
  expect(anew).toBe(readme);
});
