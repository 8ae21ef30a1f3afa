import { afterEach, describe, expect, it, vi } from 'vitest';

const OUTBOX = '../../../src/outbox/memory.js';
const SELDOM = '../../../src/solana/rpc/rare-calls.js';

/** Makes imports of this file fail from now on, as in a page that goes offline. */
const without = (file: string) => {
  vi.resetModules();
  vi.doMock(file, () => {
    throw new TypeError('Failed to fetch dynamically imported module.');
  });
};

describe('a call that cannot load a file', () => {
  afterEach(() => {
    for (const file of [OUTBOX, SELDOM]) vi.doUnmock(file);
    vi.resetModules();
  });

  it('rejects an outbox query and ends no process that listens to the outbox', async () => {
    without(OUTBOX);
    const { memoryJournal } = await import('../../../src/memory-journal.js');
    const { outbox } = memoryJournal({ outbox: true });
    const rejected = vi.fn();
    process.on('unhandledRejection', rejected);
    const end = outbox?.onAdded(() => undefined);
    await expect(outbox?.endpoints()).rejects.toMatchObject({ code: 'missing_dependency' });
    end?.();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', rejected);
    expect(rejected).not.toHaveBeenCalled();
  });

  it('does not blame the node when the code of a rare RPC call is missing', async () => {
    without(SELDOM);
    const { connectRpc } = await import('../../../src/solana/rpc/connection.js');
    const fetch = vi.fn(async () => Promise.reject(new Error('offline')));
    const rpc = connectRpc({ urls: ['https://rpc.example'], fetch, timeoutMs: 60_000 });
    await expect(rpc.transaction('1'.repeat(64))).rejects.toMatchObject({
      code: 'missing_dependency',
    });
    expect(fetch).not.toHaveBeenCalled();
  });
});
