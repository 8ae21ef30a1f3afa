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

it('names a file that cannot be read, and what to do', async () => {
  await expect(readInput({ stdin: new PassThrough() }, 'no-such-file')).rejects.toMatchObject({
    code: 'invalid_option',
    message: 'File no-such-file cannot be read. Correct its path.',
  });
});
