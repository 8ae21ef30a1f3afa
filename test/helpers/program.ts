import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { makeProgram } from './make-program.js';

/** A file of {@link makeProgram}. */
export interface Program {
  /** Once the tests of the file run. */
  readonly path: string;
}

/**
 * Makes a program of a test's child before the tests of a file, and removes it after them. To be
 * called at the top of that file.
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
