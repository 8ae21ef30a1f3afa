// Bundles a module for browsers: node bundle.mjs <bundler> <entry> <folder>. Prints the entry file.
// Fails if the bundle needs a Node module or a polyfill.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { writeFile } from 'node:fs/promises';

const [, , bundler, entry, folder] = process.argv;
const need = createRequire(import.meta.url);

const bundlers = {
  async webpack() {
    const config = {
      mode: 'production',
      optimization: { minimize: false },
      context: dirname(entry),
      entry,
      target: ['web', 'es2022'],
      experiments: { outputModule: true },
      output: { path: folder, filename: 'page.mjs', chunkFilename: '[id].mjs', module: true },
      performance: { hints: false },
    };
    const stats = await new Promise((resolve, reject) =>
      need('webpack')(config, (error, done) => (error ? reject(error) : resolve(done))),
    );
    const { errors, warnings } = stats.toJson();
    const said = [...errors, ...warnings].map(({ message }) => message);
    if (said.length > 0) throw new Error(said.join('\n'));
    return join(folder, 'page.mjs');
  },

  async rollup() {
    const bundle = await need('rollup').rollup({
      input: entry,
      plugins: [
        need('@rollup/plugin-node-resolve').default({ browser: true, preferBuiltins: false }),
        need('@rollup/plugin-commonjs').default(),
        need('@rollup/plugin-json').default(),
      ],
      onwarn: () => undefined,
    });
    const { output } = await bundle.write({
      dir: folder,
      format: 'es',
      entryFileNames: 'page.mjs',
    });
    // rollup leaves missing modules and Node modules outside of the bundle.
    const outside = output.flatMap(({ imports = [], dynamicImports = [] }) =>
      [...imports, ...dynamicImports].filter(
        (name) => !output.some(({ fileName }) => fileName === name),
      ),
    );
    if (outside.length > 0) throw new Error(`Left outside: ${outside.join(', ')}`);
    return join(folder, 'page.mjs');
  },

  async metro() {
    const { loadConfig, runBuild } = need('metro');
    const root = dirname(entry);
    const config = await loadConfig({ cwd: root }, { projectRoot: root, resetCache: true });
    const { code } = await runBuild(
      {
        ...config,
        reporter: { update: () => undefined },
        resolver: { ...config.resolver, unstable_enablePackageExports: true },
        transformer: {
          ...config.transformer,
          // React Native's preset treats `import` and `export` in this way.
          getTransformOptions: async () => ({ transform: { experimentalImportSupport: true } }),
          asyncRequireModulePath: need.resolve('metro-runtime/src/modules/asyncRequire'),
        },
        watchFolders: [root, dirname(need.resolve('metro-runtime/package.json'))],
      },
      { entry, platform: 'web', dev: false, minify: false, out: join(folder, 'page') },
    );
    await writeFile(join(folder, 'page.cjs'), code);
    return join(folder, 'page.cjs');
  },
};

console.log(await bundlers[bundler]());
