import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import v8 from 'node:v8';
import vm from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startDeadline } from '../../../src/internal/abort.js';

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as () => void; // The function that the flag adds.

const nextTask = () => new Promise((resolve) => setTimeout(resolve, 1));

/** Collects garbage until a condition holds, because finalizers run at an unknown time. */
async function collectUntil(isDone: () => boolean): Promise<void> {
  for (let round = 0; round < 50 && !isDone(); round += 1) {
    // The target of a WeakRef that was read stays alive until the task ends.
    await nextTask();
    collect();
    await nextTask();
  }
}

describe('a stopped deadline', () => {
  it('leaves memory while its caller lives on', async () => {
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
    const left = () => signals.filter((signal) => signal.deref() !== undefined).length;
    await collectUntil(() => left() === 0 && unlisten.mock.calls.length > 0);
    expect(left()).toBe(0);
    // The last signal to leave memory also removed the listener on the caller.
    expect(unlisten).toHaveBeenCalledTimes(1);
  });

  it('follows its caller for each holder of its signal, and for each object that was named as its user', async () => {
    const caller = new AbortController();
    const { held, user, seen } = ((): { held: AbortSignal; user: object; seen: unknown[] } => {
      const [first, second] = [
        startDeadline(60_000, caller.signal),
        startDeadline(60_000, caller.signal),
      ];
      const named = {};
      const aborts: unknown[] = [];
      second.signal.addEventListener('abort', () => aborts.push('other'));
      first.stop();
      second.stop(named, null);
      return { held: first.signal, user: named, seen: aborts };
    })();
    await nextTask();
    collect();
    await nextTask();
    caller.abort('enough');
    expect(held.reason).toBe('enough');
    expect(seen).toEqual(['other']);
    expect(user).toEqual({});
  });

  it('has no time limit after it is stopped, and follows no caller after it is ended', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const caller = new AbortController();
    const [stopped, ended, running] = [0, 1, 2].map(() => startDeadline(1_000, caller.signal));
    stopped?.stop();
    ended?.end();
    vi.advanceTimersByTime(2_000);
    expect([stopped, ended, running].map((deadline) => deadline?.passed)).toEqual([
      false,
      false,
      true,
    ]);
    expect(running?.signal.reason).toMatchObject({ name: 'TimeoutError' });
    caller.abort('enough');
    expect(stopped?.signal.reason).toBe('enough');
    expect(ended?.signal.aborted).toBe(false);
  });

  it('aborts a body in transfer when its caller aborts, also if only the body is still in memory', async () => {
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
