import { onTestFinished, vi } from 'vitest';

/**
 * Moves the clock until the test ends; from there it goes on, and timers are real. A clock that
 * stands still would keep cached answers of nodes for ever.
 */
export function moveClock(ms: number): void {
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: Date.now() + ms });
}
