import { afterEach, describe, expect, it, vi } from 'vitest';
import { startDeadline, throwIfAborted } from '../../../src/internal/abort.js';
import { systemRuntime } from '../../../src/internal/runtime.js';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('the system runtime', () => {
  it('returns random bytes also without a global crypto, as in Node 18', () => {
    vi.stubGlobal('crypto', undefined);
    const [first, second] = [systemRuntime.randomBytes(12), systemRuntime.randomBytes(12)];
    expect([first.length, second.length]).toEqual([12, 12]);
    expect(first).not.toEqual(second);
  });

  it.each(['sleep', 'idle'] as const)('waits the given time in %s', async (name) => {
    vi.useFakeTimers();
    const woken = vi.fn();
    const signal = new AbortController().signal;
    void systemRuntime[name](1_000, signal).then(woken);
    await vi.advanceTimersByTimeAsync(999);
    expect(woken).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(woken).toHaveBeenCalledOnce();
  });

  it.each(['sleep', 'idle'] as const)(
    'ends %s with the reason of its signal, before or during the wait',
    async (name) => {
      vi.useFakeTimers();
      const controller = new AbortController();
      const reason = { any: 'reason' };
      const during = expect(systemRuntime[name](1_000, controller.signal)).rejects.toBe(reason);
      controller.abort(reason);
      await during;
      await expect(systemRuntime[name](1_000, controller.signal)).rejects.toBe(reason);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

describe('a deadline', () => {
  it('passes on time, and reports that it passed', () => {
    vi.useFakeTimers();
    const deadline = startDeadline(1_000, undefined);
    vi.advanceTimersByTime(999);
    expect([deadline.signal.aborted, deadline.passed]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([deadline.signal.aborted, deadline.passed]).toEqual([true, true]);
    expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with the reason of its caller, and does not report that it passed', () => {
    vi.useFakeTimers();
    const reason = new Error('the caller');
    const controller = new AbortController();
    const deadline = startDeadline(1_000, controller.signal);
    controller.abort(reason);
    expect([deadline.signal.reason, deadline.passed]).toEqual([reason, false]);
    expect(vi.getTimerCount()).toBe(0);
    expect(startDeadline(1_000, controller.signal).signal.reason).toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('follows its caller without a timer after it is stopped, while a body flows', () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const deadline = startDeadline(1_000, controller.signal);
    deadline.stop();
    vi.advanceTimersByTime(5_000);
    expect([deadline.signal.aborted, vi.getTimerCount()]).toEqual([false, 0]);
    controller.abort();
    expect([deadline.signal.aborted, deadline.passed]).toEqual([true, false]);
  });

  it('follows neither the time nor its caller after it is ended', () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    const deadline = startDeadline(1_000, controller.signal);
    deadline.end();
    controller.abort();
    vi.advanceTimersByTime(5_000);
    expect([deadline.signal.aborted, deadline.passed]).toEqual([false, false]);
    expect(removed).toHaveBeenCalled();
  });

  it('causes no warning of Node about many listeners on a signal', async () => {
    const warned = vi.fn();
    process.on('warning', warned);
    try {
      const controller = new AbortController();
      const many = Array.from({ length: 50 }, () => startDeadline(60_000, controller.signal));
      const sleeping = Array.from({ length: 50 }, () =>
        systemRuntime.sleep(60_000, controller.signal).catch(() => undefined),
      );
      // Node emits a warning on the next tick.
      await new Promise((resolve) => setImmediate(resolve));
      // What other files left behind may cause warnings of its own.
      const aboutIt = expect.objectContaining({ target: controller.signal }) as unknown;
      expect(warned).not.toHaveBeenCalledWith(aboutIt);
      controller.abort();
      await Promise.all(sleeping);
      expect(many.every(({ signal }) => signal.aborted)).toBe(true);
    } finally {
      process.off('warning', warned);
    }
  });
});

it('throws the reason of an aborted signal, whatever the reason is', () => {
  expect(() => throwIfAborted(undefined)).not.toThrow();
  expect(() => throwIfAborted(new AbortController().signal)).not.toThrow();
  const reason = Symbol('no error at all');
  let thrown: unknown;
  try {
    throwIfAborted(AbortSignal.abort(reason));
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBe(reason);
});
