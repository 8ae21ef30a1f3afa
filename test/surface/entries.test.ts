import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ENTRIES, lists, withLists } from '../../scripts/entries.js';
import { JOURNALS, JOURNALS_OF_BROWSER_TESTS } from '../helpers/journals.js';
import { MOUNTS, MOUNTS_OF_PACKAGE_TESTS } from '../helpers/mounts.js';

const namesIn = (folder: string) =>
  Object.values(ENTRIES)
    .filter((path) => path.startsWith(folder))
    .map((path) => basename(path, '.ts'));

describe('the entries of the package', () => {
  it.each(['package.json', 'tsconfig.json', 'typedoc.json'] as const)(
    'are listed in %s (if not: npm run entries)',
    (name) => {
      const text = readFileSync(name, 'utf8');
      expect(JSON.parse(text)).toEqual(JSON.parse(withLists(name, text)));
      expect(Object.keys(lists)).toContain(name);
    },
  );

  it('have a test of each mount', () => {
    const inTests = MOUNTS.map(({ name }) => name.split(' ')[0]);
    const tested = new Set([...inTests, ...MOUNTS_OF_PACKAGE_TESTS]);
    for (const name of namesIn('adapters/mounts/')) expect(tested).toContain(name);
  });

  it('have a test of each journal', () => {
    const inTests = JOURNALS.map((kind) => kind.toLowerCase());
    const tested = new Set([...inTests, ...JOURNALS_OF_BROWSER_TESTS]);
    for (const name of namesIn('adapters/journals/')) expect(tested).toContain(name);
  });
});
