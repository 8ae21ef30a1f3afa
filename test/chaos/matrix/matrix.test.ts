import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { address } from '@solana/kit';
import { memoryJournal, SOLANA_MAINNET, TransportError } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { walletOf } from '../../../src/journal/registry.js';
import { tokenAccount } from '../../helpers/chain.js';
import { STEPS, type Step } from './cells.js';
import { row, type Scenario } from './row.js';
import { settle } from './settle.js';
import { bought } from './told.js';
import { worldsOfFile, type Buyer, type World, type Worlds } from './world.js';

/** Returns the step of each row that a file beside this one registers. */
async function registered(): Promise<string[]> {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const names = (await readdir(folder)).filter((name) => /^rows?-.*\.test\.ts$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text) =>
    [...text.matchAll(/^row\(worlds(?:OfFile\(\))?, '(\w+)'/gm)].map(([, step = '']) => step),
  );
}

describe('the fault matrix', () => {
  // `row` makes a test for each cell, and does not compile without a scenario for each.
  it('has 18 rows, and exactly one row of tests for each', async () => {
    expect((await registered()).sort()).toEqual([...STEPS].sort());
    expect(STEPS).toHaveLength(18);
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
