import type { FileHandle } from 'node:fs/promises';
import { isExactChangeError } from 'exact-change';
import { dropBody } from '../../../src/internal/drop-body.js';
import { readUpTo } from '../../../src/internal/read-up-to.js';
import { cleanForTerminal } from '../clean.js';
import type { Terminal } from '../terminal.js';

/** The output for an answer: standard output or a file. */
export interface Sink {
  write(text: string): Promise<void>;
  /** Writes the whole body. */
  pipe(response: Response): Promise<undefined>;
}

/** Milliseconds in which an answer may end if nothing reads it any more. */
const UNREAD_MS = 3_000;

/** Returns a sink to standard output. A terminal gets clean text; a pipe or file, the raw bytes. */
export function intoStdout({ stdout }: Terminal): Sink {
  let failedAt = Infinity;
  const write = (chunk: string | Uint8Array) =>
    new Promise<void>((resolve) => {
      stdout.write(chunk, (error) => {
        if (error) failedAt = Math.min(failedAt, Date.now());
        resolve();
      });
    });
  const clean = (text: string) => write(cleanForTerminal(text));
  return {
    write: clean,
    async pipe({ body }) {
      const decoder = new TextDecoder();
      for await (const chunk of chunksOf(body)) {
        await (stdout.isTTY ? clean(decoder.decode(chunk, { stream: true })) : write(chunk));
        // Read on after a failed write, so that the answer counts as delivered if it ends.
        if (Date.now() - failedAt > UNREAD_MS) break;
      }
      if (stdout.isTTY) await clean(`${decoder.decode()}\n`);
      return undefined;
    },
  };
}

/**
 * Returns a sink to a file. It empties the file only when the answer begins. A device or a pipe
 * cannot be emptied.
 */
export async function intoFile(file: FileHandle): Promise<Sink> {
  const isRegular = (await file.stat()).isFile();
  let begun: Promise<void> | undefined;
  const write = async (chunk: string | Uint8Array): Promise<void> => {
    await (begun ??= isRegular ? file.truncate(0) : Promise.resolve());
    await file.appendFile(chunk);
  };
  return {
    write,
    async pipe({ body }) {
      await write('');
      for await (const chunk of chunksOf(body)) await write(chunk);
      return undefined;
    },
  };
}

async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncIterable<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      yield part.value;
  } finally {
    // The output may have failed. Then nothing reads the rest.
    await reader?.cancel().catch(() => undefined);
  }
}

/** Returns the status and headers of an answer, as `curl -i` shows them. */
export function headText({ status, statusText, headers }: Response): string {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return `${[`HTTP/1.1 ${status} ${statusText}`.trim(), ...lines].join('\n')}\n\n`;
}

/** Throws an error again, without its answer: an unread body would keep the command alive. */
export function dropAnswer(error: unknown): never {
  if (isExactChangeError(error)) dropBody(error.response);
  throw error;
}

/** A text of Node holds half a billion characters, and JSON may write a byte as six of them. */
const MOST_JSON_BYTES = 32 * 2 ** 20;

/** Returns the body for JSON output: as text, or as base64 if it is not UTF-8. */
export async function bodyJson({ body }: Response): Promise<object> {
  const bytes =
    body === null ? new Uint8Array() : await readUpTo({ size: MOST_JSON_BYTES }, body.getReader());
  if (bytes === undefined)
    throw new Error('The answer is too long for one JSON object. Give -o <file> too.');
  try {
    return { body: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { bodyBase64: Buffer.from(bytes).toString('base64') };
  }
}
