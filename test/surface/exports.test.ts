import { describe, expect, it } from 'vitest';
import { exportedNames } from './exports.js';
import { readText } from './modules.js';

interface Manifest {
  exports: Record<
    string,
    string | Record<'import' | 'require', { types: string; default: string }>
  >;
}

const PACKAGES = [
  { name: 'exact-change', folder: '' },
  { name: 'exact-change-sandbox', folder: 'adapters/sandbox/' },
];
const manifestOf = (folder: string) => JSON.parse(readText(`${folder}package.json`)) as Manifest;
const entry = (built: string) => built.replace(/^\.\/dist\//, '').replace(/\.js$/, '');
const subpaths = PACKAGES.flatMap(({ name, folder }) =>
  Object.entries(manifestOf(folder).exports).flatMap(([subpath, target]) =>
    typeof target === 'string'
      ? []
      : [
          {
            specifier: name + subpath.slice(1),
            folder,
            entry: entry(target.import.default),
            target,
          },
        ],
  ),
);

describe('the public surface', () => {
  // A changed list is a changed promise. Accept an intended change with
  // `npx vitest run test/surface/exports -u`, and write it into CHANGELOG.
  it('exports exactly the listed names', async () => {
    const names = exportedNames(subpaths.map(({ folder, entry }) => `${folder}${entry}.ts`));
    const lists = [...names.values()].map((list, index) =>
      [subpaths[index]?.specifier, ...list.map((name) => `  ${name}`)].join('\n'),
    );
    await expect(`${lists.join('\n\n')}\n`).toMatchFileSnapshot('exports.txt');
  });

  it.each(subpaths)(
    'offers both module formats of $specifier, with types first',
    ({ entry, target }) => {
      const base = `./dist/${entry}`;
      expect(Object.keys(target)).toEqual(['import', 'require']);
      expect(Object.entries(target.import)).toEqual([
        ['types', `${base}.d.ts`],
        ['default', `${base}.js`],
      ]);
      expect(Object.entries(target.require)).toEqual([
        ['types', `${base}.d.cts`],
        ['default', `${base}.cjs`],
      ]);
    },
  );
});

it('the client names no RequestInfo, which programs without the DOM library take for any', () => {
  const [, members = ''] = readText('src/client.ts').split('export interface Client {');
  expect(members.split('\n}\n')[0]).not.toContain('RequestInfo');
});
