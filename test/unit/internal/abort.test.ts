import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { onAbort, untilAborted } from '../../../src/internal/abort.js';

describe('onAbort', () => {
  it('calls each waiting function once, from a single listener', () => {
    const controller = new AbortController();
    const listen = vi.spyOn(controller.signal, 'addEventListener');
    const calls: number[] = [];
    for (let caller = 0; caller < 50; caller += 1)
      onAbort(controller.signal, () => calls.push(caller));
    expect(listen).toHaveBeenCalledTimes(1);
    controller.abort();
    controller.abort();
    expect(calls).toEqual(Array.from({ length: 50 }, (_, caller) => caller));
  });

  it('skips a function that was removed, and separates callers with the same function', () => {
    const controller = new AbortController();
    const same = vi.fn();
    const forget = onAbort(controller.signal, same);
    onAbort(controller.signal, same);
    forget();
    forget();
    controller.abort();
    expect(same).toHaveBeenCalledTimes(1);
  });

  it('removes its listener when no function waits, and listens again for the next function', () => {
    const controller = new AbortController();
    const unlisten = vi.spyOn(controller.signal, 'removeEventListener');
    const first = [onAbort(controller.signal, vi.fn()), onAbort(controller.signal, vi.fn())];
    first.forEach((forget) => forget());
    expect(unlisten).toHaveBeenCalledTimes(1);
    const later = vi.fn();
    onAbort(controller.signal, later);
    // Removing an old function again does not affect the new function.
    first.forEach((forget) => forget());
    controller.abort();
    expect(later).toHaveBeenCalledTimes(1);
  });

  it('lets a called function remove a function that was not called yet', () => {
    const controller = new AbortController();
    const second = vi.fn();
    let forget = (): void => undefined;
    onAbort(controller.signal, () => forget());
    forget = onAbort(controller.signal, second);
    controller.abort();
    expect(second).not.toHaveBeenCalled();
  });
});

describe('untilAborted', () => {
  it('leaves no rejection of its work unhandled if it gets no signal', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const noSignal = {} as AbortSignal; // As a caller without types may pass.
    await expect(untilAborted(Promise.reject(new Error('work')), noSignal)).rejects.toThrow();
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).not.toHaveBeenCalled();
  });
});
