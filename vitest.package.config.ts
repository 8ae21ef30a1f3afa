import { defineConfig } from 'vitest/config';
import { findChromium } from './scripts/chromium.js';
import { alias } from './vitest.config.js';

/** A run without a browser must not pass as one with it. */
const withBrowser = findChromium() !== undefined || process.env['CI'] !== undefined;

/**
 * The packed package, on old and new Node, in Workers, and in Chromium: not in `npm test`, because
 * it installs the package and those runtimes with npm.
 */
export default defineConfig({
  resolve: { alias },
  test: {
    name: 'package',
    include: [withBrowser ? 'test/{package,browser}/**/*.test.ts' : 'test/package/**/*.test.ts'],
    globalSetup: ['test/package/setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    execArgv: ['--max-semi-space-size=32'],
    // Loading the library and the sandbox for each file anew would take minutes.
    isolate: false,
    // For a hang alone: a machine under load may take ten times as long as a quiet one.
    testTimeout: 400_000,
    hookTimeout: 400_000,
  },
});
