import { spawn, spawnSync, type SpawnOptions } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Installs what the Python client is tested with into `python/.venv*`, then runs its gates and its
 * tests. `--report <file>` writes what came of the tests as vitest does, for `summary.ts`. `PYTHON`
 * names another interpreter than `python3`. `--demo` runs the demo instead. Below Python 3.10, which the official x402 package
 * needs, the tests with that package are left out.
 */
const folder = fileURLToPath(new URL('../python/', import.meta.url));
const python = process.env['PYTHON'] ?? 'python3';
const binaries = process.platform === 'win32' ? 'Scripts' : 'bin';

function fail(reason: string): never {
  console.error(reason);
  process.exit(1);
}

/** Whether a program ended well. What it says is shown as it comes. */
function run(command: string, args: readonly string[], options?: SpawnOptions): Promise<boolean> {
  const child = spawn(command, args, { cwd: folder, stdio: 'inherit', ...options });
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(false);
    });
    child.on('close', (status) => resolve(status === 0));
  });
}

function versionOf(): readonly [number, number] {
  const says = 'import sys; print(*sys.version_info[:2])';
  const { stdout, error } = spawnSync(python, ['-c', says], { encoding: 'utf8' });
  const [major = 0, minor = 0] = (stdout ?? '').trim().split(' ').map(Number);
  if (error !== undefined || major !== 3 || minor < 8)
    fail(`${python} is no Python 3.8 or newer: install one, or name it with PYTHON=<path>.`);
  return [major, minor];
}

/** An environment with exactly the packages of a list; one that is there already stays. */
async function environment(name: string, list: string, own: readonly string[]): Promise<boolean> {
  const at = `${folder}${name}`;
  const asked = readFileSync(`${folder}requirements/${list}`, 'utf8');
  const stamp = createHash('sha256')
    .update(`${version.join('.')}\n${asked}`)
    .digest('hex');
  const note = `${at}/installed`;
  if (existsSync(note) && readFileSync(note, 'utf8') === stamp) return true;

  rmSync(at, { recursive: true, force: true });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  const inside = `${at}/${binaries}/python`;
  const isMade =
    (await run(python, ['-m', 'venv', at])) &&
    (await run(inside, [...pip, '--no-deps', '--require-hashes', '-r', `requirements/${list}`])) &&
    (own.length === 0 || (await run(inside, [...pip, ...own])));
  if (isMade) writeFileSync(note, stamp);
  else console.error(`${name} could not be made: see above. Debian has venv in python3-venv.`);
  return isMade;
}

const count = (xml: string, name: string) =>
  [...xml.matchAll(new RegExp(`<testsuite [^>]*\\b${name}="([0-9]+)"`, 'g'))].reduce(
    (sum, [, digits]) => sum + Number(digits),
    0,
  );

/** pytest's JUnit report as the part of vitest's that counts. A test that was skipped failed. */
function report(junit: string, file: string): void {
  if (!existsSync(junit)) return;
  const xml = readFileSync(junit, 'utf8');
  const failed = count(xml, 'failures') + count(xml, 'errors') + count(xml, 'skipped');
  const counts = {
    numPassedTests: count(xml, 'tests') - failed,
    numFailedTests: failed,
    testResults: [],
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(counts)}\n`);
}

const isDemo = process.argv.includes('--demo');
const version = versionOf();
const hasOfficial = version[1] >= 10 && !isDemo;
const [made, official] = await Promise.all([
  environment('.venv', 'dev.txt', ['--no-deps', '--no-build-isolation', '-e', '.']),
  hasOfficial ? environment('.venv-official', 'official.txt', []) : true,
]);
if (!made || !official) fail('There is no environment to test in.');

const tool = (name: string, ...args: string[]) =>
  run(`${folder}.venv/${binaries}/${name}`, args, { stdio: 'inherit' });
if (isDemo) process.exit((await tool('python', 'examples/demo.py')) ? 0 : 1);
const gates = [
  await tool('ruff', 'check', '--quiet'),
  await tool('ruff', 'format', '--check', '--quiet'),
  await tool('vermin', '-t=3.8-', '--violations', '--no-tips', '--quiet', 'src', 'examples'),
  await tool('mypy', '--no-error-summary'),
  await tool('pyright'),
];

const at = process.argv.indexOf('--report');
const junit = `${folder}.venv/junit.xml`;
rmSync(junit, { force: true });
const chosen = hasOfficial ? [] : ['-m', 'not official'];
const tested = await tool(
  'pytest',
  '-n',
  '2',
  '--dist',
  'worksteal',
  `--junitxml=${junit}`,
  ...chosen,
);
if (at >= 0) report(junit, process.argv[at + 1] ?? fail('--report needs a file.'));
process.exitCode = tested && !gates.includes(false) ? 0 : 1;
