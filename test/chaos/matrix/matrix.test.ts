import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { cellNames, type Step } from './cells.js';
import { row, type Scenario } from './row.js';
import type { Worlds } from './world.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));

interface Listed {
  readonly name: string;
  readonly file: string;
}

/** Every test beside this file, as vitest would run it; `name` has the suites before the title. */
async function listed(): Promise<Listed[]> {
  const vitest = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));
  const args = [vitest, 'list', '--json', '--config', 'vitest.chaos.config.ts', 'test/chaos/matrix/'];
  const { stdout } = await run(process.execPath, args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout) as Listed[]; // What --json prints.
}

describe('the fault matrix', () => {
  it('has one test for each cell, and no test that is no cell', async () => {
    const tests = (await listed()).filter(({ file }) => !file.endsWith('/matrix.test.ts'));
    const titles = tests.map(({ name }) => name.split(':')[0]);
    expect([...titles].sort()).toEqual(cellNames().sort());
  });

  it('has 18 rows, each with something that can go wrong', () => {
    const steps = cellNames().map((name) => name.split('/')[1]);
    expect([...new Set(steps)].sort()).toEqual([...Array.from({ length: 17 }, (_, index) => String(index + 1)), '10b'].sort());
  });

  it('does not compile with a cell too few or too many', () => {
    const scenario: Scenario = () => Promise.resolve();
    const most = {
      'kill -9': scenario,
      timeout: scenario,
      '429': scenario,
      '5xx': scenario,
      malformed: scenario,
      'lost response': scenario,
    };
    const register = (worlds: Worlds) => {
      row(worlds, '1', { ...most, concurrent: scenario });
      // @ts-expect-error -- `concurrent` has no scenario
      row(worlds, '1', most);
      // @ts-expect-error -- nothing expires in the first request
      row(worlds, '1', { ...most, concurrent: scenario, expired: scenario });
      // @ts-expect-error -- no such step
      row(worlds, '18' satisfies Step, most);
    };
    expect(register).toBeTypeOf('function');
  });
});
