import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it, onTestFinished } from 'vitest';
import { startPostgres } from '../helpers/postgres.js';
import { npm } from './setup.js';

const run = promisify(execFile);
const { tarballs, consumer } = inject('packed');

/** The oldest supported peers; all other tests of this journal use the newest. */
const OLDEST = { pg: '8.11.0', 'pg-boss': '10.4.0' };

it('keeps attempts in the packed Postgres journal with the oldest pg and pg-boss', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const folder = await mkdtemp(join(tmpdir(), 'exact-change-journal-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'package.json'), '{}');
  const peers = Object.entries(OLDEST).map(([name, version]) => `${name}@${version}`);
  await run('npm', ['install', ...npm, tarballs.library, ...peers], { cwd: folder });
  const require = createRequire(join(folder, 'package.json'));
  for (const [name, version] of Object.entries(OLDEST))
    expect(require(`${name}/package.json`)).toMatchObject({ version });
  await copyFile(join(consumer, 'journal.cjs'), join(folder, 'journal.cjs'));
  const address = await postgres.createDatabase();
  const { stdout } = await run(process.execPath, ['journal.cjs', address], { cwd: folder });
  expect(stdout).toBe('kept\n');
});
