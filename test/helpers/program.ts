import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { makeProgram } from './make-program.js';

/** A bundled program, made by {@link makeProgram}. */
export interface Program {
  /** Set when the tests of the file run; empty before. */
  readonly path: string;
}

/**
 * Bundles a test's child process before the tests of a file, and removes it after them. Call it at
 * the top of that file.
 */
export function programOf(child: string): Program {
  let path: string | undefined;
  beforeAll(async () => {
    path = await makeProgram(child);
  });
  afterAll(async () => {
    if (path !== undefined) await rm(dirname(path), { recursive: true, force: true });
  });
  return {
    get path() {
      return path ?? '';
    },
  };
}
