import { beforeEach, vi } from 'vitest';
import { systemRuntime } from '../../src/internal/runtime.js';

/** Milliseconds that a client waits for the quotes of other tokens: see `plan/cheapest.ts`. */
const PATIENCE_MS = 500;

/**
 * Makes all clients of a file wait for all quotes, which a busy machine may need longer for. Call
 * it at the top of the file.
 */
export function waitForAllQuotes(): void {
  beforeEach(() => {
    const { idle } = systemRuntime;
    const waiting = vi
      .spyOn(systemRuntime, 'idle')
      .mockImplementation((ms, signal) => idle(ms === PATIENCE_MS ? 60_000 : ms, signal));
    return () => waiting.mockRestore();
  });
}
