import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The checked part of a lock file. */
export interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

/** Releases that carried malware. */
const MALICIOUS: Readonly<Record<string, readonly string[]>> = {
  '@solana/web3.js': ['1.95.6', '1.95.7'], // CVE-2024-54134
  axios: ['0.30.4', '1.14.1'], // March 2026
  // September 2025: code that rewrites the addresses of payments.
  'ansi-regex': ['6.2.1'],
  'ansi-styles': ['6.2.2'],
  backslash: ['0.2.1'],
  chalk: ['5.6.1'],
  'chalk-template': ['1.1.1'],
  color: ['5.0.1'],
  'color-convert': ['3.1.1'],
  'color-name': ['2.0.1'],
  'color-string': ['2.1.1'],
  debug: ['4.4.2'],
  'error-ex': ['1.3.3'],
  'has-ansi': ['6.0.1'],
  'is-arrayish': ['0.3.3'],
  'simple-swizzle': ['0.2.3'],
  'slice-ansi': ['7.1.1'],
  'strip-ansi': ['7.1.1'],
  'supports-color': ['10.2.1'],
  'supports-hyperlinks': ['4.1.1'],
  'wrap-ansi': ['9.0.1'],
};

/**
 * The first fixed release of each affected major version. Every release of a lower major version is
 * affected.
 */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  '@solana/web3.js': ['1.98.4'], // The oldest tested release.
  '@x402/svm': ['2.6.0'], // GHSA-qr2g-p6q7-w82m
  'base-x': ['3.0.11', '4.0.1', '5.0.1'], // CVE-2025-27611
  'bn.js': ['4.12.3', '5.2.3'], // CVE-2026-2739
  hono: ['4.12.21'], // CVE-2026-47673 to -47676
  undici: ['6.23.0', '7.18.0'], // CVE-2026-22036
  uuid: ['11.1.1'], // CVE-2026-41907
  ws: ['7.5.11', '8.21.1'], // CVE-2026-48779, -45736, -62389
};

/** Packages without a fixed release. */
const UNFIXED = ['bigint-buffer']; // CVE-2025-3194

/** Known findings, with the reason why they do no harm here. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'node_modules/uuid 8.3.2': 'jayson, in web3.js, makes only v4 ids; v3, v5 and v6 are affected',
  'node_modules/viem/node_modules/ws 8.20.1': 'only for tests, and only to the loopback',
  'node_modules/bigint-buffer 1.1.5':
    'not installed with the package; the bundled half is JavaScript and gets 8 bytes',
};

/** Runtime packages that may run an install script: optional packages that speed up WebSockets. */
const SCRIPTS_ALLOWED = ['bufferutil', 'utf-8-validate'];

/** Returns the problems of a lock file, a sentence for each. Needs no network. */
export function lockfileProblems(
  { packages }: Lockfile,
  accepted: Readonly<Record<string, string>> = ACCEPTED,
): string[] {
  return Object.entries(packages).flatMap(([path, entry]) => {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined) return [];
    const {
      version = '',
      resolved,
      integrity,
      link = false,
      dev = false,
      hasInstallScript = false,
    } = entry;
    const where = `${path} ${version}`;
    const problems: string[] = [];
    if (MALICIOUS[name]?.includes(version) === true)
      problems.push(`${where}: this release carried malware`);
    if (isAffected(name, version) && !(where in accepted))
      problems.push(
        `${where}: has a known hole; fixed in ${FIXED[name]?.join(', ') ?? 'no release'}`,
      );
    if (resolved !== undefined && /^[a-z+]+:/i.test(resolved))
      problems.push(`${where}: names the host that it came from`);
    if (!link && integrity?.startsWith('sha512-') !== true)
      problems.push(`${where}: has no integrity hash`);
    if (hasInstallScript && !dev && !SCRIPTS_ALLOWED.includes(name))
      problems.push(`${where}: runs a script on installation`);
    return problems;
  });
}

function isAffected(name: string, version: string): boolean {
  if (UNFIXED.includes(name)) return true;
  const fixes = FIXED[name];
  if (fixes === undefined) return false;
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  const fix = fixes.map(numbers).find(([fixedMajor]) => fixedMajor === major);
  const [lowest = 0] = numbers(fixes[0] ?? '');
  if (fix === undefined) return major < lowest;
  const [, fixedMinor = 0, fixedPatch = 0] = fix;
  return minor < fixedMinor || (minor === fixedMinor && patch < fixedPatch);
}

function numbers(version: string): number[] {
  return version.split(/[-+]/, 1).flatMap((release) => release.split('.').map(Number));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = new URL('../package-lock.json', import.meta.url);
  const problems = lockfileProblems(JSON.parse(readFileSync(file, 'utf8')) as Lockfile);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
