import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { readInput } from '../../../adapters/cli/input.js';

it('waits for a standard input that has nothing to read yet', async () => {
  const stdin = new PassThrough();
  const read = readInput({ stdin }, '-');
  stdin.write('slow ');
  stdin.end('input');
  expect((await read).toString()).toBe('slow input');
});
