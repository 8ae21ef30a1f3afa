import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import v8 from 'node:v8';
import vm from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startDeadline } from '../../../src/internal/abort.js';

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as () => void; // what the flag brings

const nextTask = () => new Promise((resolve) => setTimeout(resolve, 1));

/** Collects until it has come about: finalizers run when the runtime finds the time. */
async function collectUntil(come: () => boolean): Promise<void> {
  for (let round = 0; round < 50 && !come(); round += 1) {
    // What a WeakRef has shown stays until the task is over.
    await nextTask();
    collect();
    await nextTask();
  }
}

describe('a stopped deadline', () => {
  it('is kept by nothing, however long its caller lives on', async () => {
    const caller = new AbortController();
    const unlisten = vi.spyOn(caller.signal, 'removeEventListener');
    const leave = () => {
      const deadline = startDeadline(60_000, caller.signal);
      deadline.stop();
      return new WeakRef(deadline.signal);
    };
    const signals = Array.from({ length: 50 }, leave);
    unlisten.mockReset();
    await nextTask();
    const left = () => signals.filter((one) => one.deref() !== undefined).length;
    await collectUntil(() => left() === 0 && unlisten.mock.calls.length > 0);
    expect(left()).toBe(0);
    // Nothing of theirs waits for the caller any more: the last to go took the listener along.
    expect(unlisten).toHaveBeenCalledTimes(1);
  });

  it('follows its caller for each holder of its signal, or object that was named as its user', async () => {
    const caller = new AbortController();
    const { held, user, seen } = ((): { held: AbortSignal; user: object; seen: unknown[] } => {
      const [one, other] = [
        startDeadline(60_000, caller.signal),
        startDeadline(60_000, caller.signal),
      ];
      const named = {};
      const aborts: unknown[] = [];
      other.signal.addEventListener('abort', () => aborts.push('other'));
      one.stop();
      other.stop(named, null);
      return { held: one.signal, user: named, seen: aborts };
    })();
    await nextTask();
    collect();
    await nextTask();
    caller.abort('enough');
    expect(held.reason).toBe('enough');
    expect(seen).toEqual(['other']);
    expect(user).toEqual({});
  });

  it('has no time that runs out, and once ended no caller either', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const caller = new AbortController();
    const [stopped, ended, running] = [0, 1, 2].map(() => startDeadline(1_000, caller.signal));
    stopped?.stop();
    ended?.end();
    vi.advanceTimersByTime(2_000);
    expect([stopped, ended, running].map((one) => one?.passed)).toEqual([false, false, true]);
    expect(running?.signal.reason).toMatchObject({ name: 'TimeoutError' });
    caller.abort('enough');
    expect(stopped?.signal.reason).toBe('enough');
    expect(ended?.signal.aborted).toBe(false);
  });

  it('aborts the body that still flows when the caller does, with nothing but the body left', async () => {
    const server = createServer(
      (_request, response) => void response.writeHead(200).write('begun'),
    );
    let note = (): void => undefined;
    const asked = new Promise<void>((resolve) => (note = resolve));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    // A bound TCP server's address is never a pipe's name or null.
    const { port } = server.address() as AddressInfo;
    const caller = new AbortController();
    const begin = async () => {
      const deadline = startDeadline(60_000, caller.signal);
      const response = await fetch(`http://127.0.0.1:${port}/`, { signal: deadline.signal });
      deadline.stop();
      note();
      return response.text();
    };
    const text = begin().catch((error: unknown) => error);
    await asked;
    await nextTask();
    collect();
    await nextTask();
    caller.abort('enough');
    expect(await text).toBe('enough');
  });
});
