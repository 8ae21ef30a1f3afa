import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { refuse } from '../../src/internal/options.js';

/** The standard input of a process. */
interface Input {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
}

/** Reads a file, or standard input if the path is `-`. */
export async function readInput({ stdin }: Input, path: string): Promise<Buffer> {
  if (path !== '-')
    return readFile(path).catch(() => {
      throw refuse(path, 'cannot be read. Correct its path.', 'File');
    });
  // Reading a slow pipe at once fails with EAGAIN, so take its stream. Not so for a terminal: a
  // stream at its end could not ask for an approval any more.
  return stdin.isTTY ? readFileSync(0) : buffer(stdin);
}
