import { expect, it } from 'vitest';
import type { Query } from '../../../adapters/journals/postgres/database.js';
import { advisoryLocks } from '../../../adapters/journals/postgres/locks.js';
import { tablesNamed } from '../../../adapters/journals/postgres/tables.js';

const OWNER = { wallet: 'wallet', network: 'network' };

it('asks for no lock of a call that gave up while an earlier lock was being freed', async () => {
  const steps: string[] = [];
  let free = (): void => undefined;
  const freed = new Promise<void>((resolve) => (free = resolve));
  const session = {
    option: 'pool',
    async run<T>(step: string, work: (query: Query, holder: string, pid: string) => Promise<T>) {
      steps.push(step);
      if (step === 'unlock') await freed;
      return work(async () => [{ locked: 'true' }], 'holder', '1');
    },
  };
  const locks = advisoryLocks(session, 'channel', tablesNamed('s'), String).of(OWNER);
  await locks.hold(['first'], async () => undefined);
  const controller = new AbortController();
  const second = locks.hold(['second'], async () => undefined, [controller.signal]);
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort('enough');
  await expect(second).rejects.toBe('enough');
  free();
  await locks.hold(['third'], async () => undefined);
  expect(steps).toEqual(['lock', 'unlock', 'lock', 'unlock']);
});
