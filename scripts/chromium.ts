import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

/** Flags for a headless browser that contacts no server by itself. */
export const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const MAC_APPS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * Returns the path of a Chromium: from `CHROMIUM_PATH`, else of the system, else from Playwright's
 * downloads.
 */
export function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH'];
  if (named !== undefined) return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const ofSystem = COMMANDS.flatMap((command) => folders.map((folder) => join(folder, command)));
  return [...ofSystem, ...MAC_APPS, ...ofPlaywright()].find((path) => existsSync(path));
}

/** Returns the paths of Chromium in Playwright's cache, of any version. */
function ofPlaywright(): string[] {
  const expected = chromium.executablePath();
  const version = /^.*[\\/]chromium-\d+(?=[\\/])/.exec(expected)?.[0];
  if (version === undefined || !existsSync(dirname(version))) return [];
  const versions = readdirSync(dirname(version)).filter((name) => /^chromium-\d+$/.test(name));
  const inVersion = relative(version, expected);
  return [expected, ...versions.map((name) => join(dirname(version), name, inVersion))];
}

export const MISSING = 'No Chromium was found. Install one, or set CHROMIUM_PATH to its program.';

/** Installs Chromium from Debian's packages if it is missing, for CI. Throws if that fails. */
function ensureChromium(): void {
  if (findChromium() !== undefined) return;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    const options = {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    } as const;
    execFileSync('apt-get', ['update', '-q'], options);
    execFileSync('apt-get', ['install', '-y', '-q', 'chromium'], options);
  }
  if (findChromium() === undefined) throw new Error(MISSING);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensureChromium();
