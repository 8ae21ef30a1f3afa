import { setTimeout } from 'node:timers/promises';
import { ConfigError } from '../../../src/errors.js';
import type { Disk, OpenFile } from './disk.js';
import { readHeader, VERSION } from './header.js';
import type { History } from './history.js';
import { openOrCreate } from './only-path.js';
import type { ProcessId } from '../log/process-id.js';
import type { Processes } from './processes.js';
import { Damage } from './scan.js';
import { convert } from './version1.js';

/** Another process that converts the file is soon done. Milliseconds. */
const WAIT_MS = 20;

/** Opens the file at a path, or makes it. Converts a file of version 1 first. */
export async function openFile(
  path: string,
  parts: { readonly disk: Disk; readonly processes: Processes },
  history: History,
  me: ProcessId,
): Promise<OpenFile> {
  for (;;) {
    const file = await openOrCreate(path, me.id, parts.disk);
    const header = readHeader(file);
    if (header?.version === VERSION) return file;
    file.close();
    if (header === undefined) throw new Damage(0);
    if (header.version !== 1) throw newer(path, header.version);
    if (!(await convert(path, parts, history, me))) await setTimeout(WAIT_MS);
  }
}

function newer(path: string, version: unknown): ConfigError<'invalid_option'> {
  return new ConfigError(
    'invalid_option',
    `The journal at ${path} has version ${JSON.stringify(version)} of its format, and this release reads versions 1 and ${VERSION}: update exact-change.`,
    { details: { option: 'journal' } },
  );
}
