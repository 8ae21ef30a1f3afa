import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { address } from '@solana/kit';
import { memoryJournal, SOLANA_MAINNET, TransportError } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { walletOf } from '../../../src/journal/registry.js';
import { tokenAccount } from '../../helpers/chain.js';
import { cellNames, MATRIX, STEPS, type Step } from './cells.js';
import { row, type Scenario } from './row.js';
import { settle } from './settle.js';
import { bought } from './told.js';
import { worldsOfFile, type Buyer, type World, type Worlds } from './world.js';

const run = promisify(execFile);

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Returns the steps that the package has; a step with a subpath counts once it is exported. */
async function stepsOfPackage(): Promise<Step[]> {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>;
  }; // The format of package.json.
  return STEPS.filter((step) => {
    const row = MATRIX[step];
    return !('subpath' in row) || row.subpath in exports;
  });
}

interface Listed {
  readonly name: string;
  readonly file: string;
}

/** Lists every test beside this file; `name` has the suites before the title. */
async function listed(): Promise<Listed[]> {
  const vitest = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));
  const args = [
    vitest,
    'list',
    '--json',
    '--config',
    'vitest.chaos.config.ts',
    'test/chaos/matrix/',
  ];
  const { stdout } = await run(process.execPath, args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout) as Listed[]; // The output format of --json.
}

describe('the fault matrix', () => {
  it('has exactly one test for each cell of the exported steps', async () => {
    const tests = (await listed()).filter(({ file }) => !file.endsWith('/matrix.test.ts'));
    const titles = tests.map(({ name }) => name.split(':')[0]);
    expect([...titles].sort()).toEqual(cellNames(await stepsOfPackage()).sort());
  });

  it('has 18 rows, each with at least one fault', () => {
    const steps = cellNames().map((name) => name.split('/')[1]);
    expect([...new Set(steps)].sort()).toEqual(
      [...Array.from({ length: 17 }, (_, index) => String(index + 1)), '10b'].sort(),
    );
  });

  it('does not compile with a missing or an extra cell', () => {
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
      // @ts-expect-error -- `expired` cannot meet the first request
      row(worlds, '1', { ...most, concurrent: scenario, expired: scenario });
      // @ts-expect-error -- no such step
      row(worlds, '18' satisfies Step, most);
    };
    expect(register).toBeTypeOf('function');
  });
});

describe('the comparison of all books', () => {
  const worlds = worldsOfFile();

  const BROKEN: readonly (readonly [
    name: string,
    harm: (world: World, buyer: Buyer) => Promise<unknown>,
    complaint: RegExp,
  ])[] = [
    [
      'a purchase that is paid twice',
      (world, buyer) => bought(world.buy(buyer, 'a')),
      /deeply equal/,
    ],
    [
      'tokens that vanish without a transaction',
      async ({ sandbox }, buyer) => {
        const account = address(await tokenAccount(buyer.address, sandbox.mints.USDC));
        const held = sandbox.chain.account(account)!;
        const less = Uint8Array.from(held.data);
        new DataView(less.buffer).setBigUint64(64, 500_000n, true);
        sandbox.chain.setAccount(account, { ...held, data: less });
      },
      /deeply equal/,
    ],
    [
      'a payment that the journal loses',
      (_, buyer) => Promise.resolve(Object.assign(buyer, { journal: memoryJournal() })),
      /in no journal/,
    ],
    [
      'tokens that stay held',
      async ({ sandbox }, buyer) => {
        const { ledger } = walletOf(buyer.address, SOLANA_MAINNET).coordination;
        await ledger.hold(await tokenAccount(buyer.address, sandbox.mints.USDC), 'nobody', 1n);
      },
      /deeply equal/,
    ],
    [
      'an error that reports a paid call as untouched',
      (world) => {
        const error = new TransportError('timeout', 'Too late. Try again.', {
          details: { step: 'payment', timeoutMs: 1 },
        });
        return Promise.resolve(
          Object.assign(world.calls[0]!, { outcome: Promise.resolve({ error }) }),
        );
      },
      /deeply equal/,
    ],
    [
      'a sale without income for the merchant',
      async ({ sandbox }) => {
        const account = address(await tokenAccount(sandbox.merchant, sandbox.mints.USDC));
        const had = sandbox.chain.account(account)!;
        const less = Uint8Array.from(had.data);
        new DataView(less.buffer).setBigUint64(64, 0n, true);
        sandbox.chain.setAccount(account, { ...had, data: less });
      },
      /deeply equal/,
    ],
  ];

  it('passes for an honest purchase', async () => {
    const world = await worlds.open();
    await bought(world.buy(await world.buyer(), 'a'));
    await expect(settle(world)).resolves.toBeUndefined();
  });

  it.each(BROKEN)('detects %s', async (_, harm, complaint) => {
    const world = await worlds.open();
    const buyer = await world.buyer();
    await bought(world.buy(buyer, 'a'));
    await harm(world, buyer);
    await expect(settle(world)).rejects.toThrow(complaint);
  });
});
