import { describe, expect, it } from 'vitest';
import { exportedNames } from './exports.js';
import { readText } from './modules.js';

interface Manifest {
  exports: Record<string, string | Record<'import' | 'require', { types: string; default: string }>>;
  typesVersions: Record<'*', Record<string, string[]>>;
}

const manifest = JSON.parse(readText('package.json')) as Manifest;
const subpaths = Object.entries(manifest.exports).flatMap(([subpath, target]) => (typeof target === 'string' ? [] : [{ subpath, target }]));
const entry = (built: string) => built.replace(/^\.\/dist\//, '').replace(/\.js$/, '');

describe('the public surface', () => {
  // A changed list is a changed promise. If it is meant, accept it with `npx vitest run --project unit test/surface/exports -u` and write it in CHANGELOG.
  it('exports these names', { timeout: 120_000 }, async () => {
    const names = exportedNames(subpaths.map(({ target }) => `${entry(target.import.default)}.ts`));
    const lists = [...names.values()].map((list, index) =>
      [`exact-change${subpaths[index]?.subpath.slice(1)}`, ...list.map((name) => `  ${name}`)].join('\n'),
    );
    await expect(`${lists.join('\n\n')}\n`).toMatchFileSnapshot('exports.txt');
  });

  it.each(subpaths)('gives both module formats of $subpath, types first', ({ target }) => {
    const base = `./dist/${entry(target.import.default)}`;
    expect(Object.keys(target)).toEqual(['import', 'require']);
    expect(Object.entries(target.import)).toEqual([
      ['types', `${base}.d.ts`],
      ['default', `${base}.js`],
    ]);
    expect(Object.entries(target.require)).toEqual([
      ['types', `${base}.d.cts`],
      ['default', `${base}.cjs`],
    ]);
  });

  it('builds, aliases and documents every subpath', () => {
    const entries = subpaths.map(({ target }) => entry(target.import.default));
    const [buildConfig, typescript, tests, docs] = ['tsup.config.ts', 'tsconfig.json', 'vitest.config.ts', 'typedoc.json'].map((path) =>
      readText(path),
    );
    expect(entries.filter((one) => !buildConfig?.includes(`'${one}': '${one}.ts'`))).toEqual([]);
    expect(entries.filter((one) => !typescript?.includes(`./${one}.ts`))).toEqual([]);
    expect(entries.filter((one) => !tests?.includes(`./${one}.ts`))).toEqual([]);
    expect(entries.filter((one) => !docs?.includes(`${one}.ts`))).toEqual([]);
  });

  it('has a typesVersions row for every subpath but the root, for TypeScript that does not read exports', () => {
    const rows = subpaths.filter(({ subpath }) => subpath !== '.').map(({ subpath, target }) => [subpath.slice(2), [target.import.types]]);
    expect(Object.entries(manifest.typesVersions['*'])).toEqual(rows);
  });
});
