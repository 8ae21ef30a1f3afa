import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { cleanForTerminal } from '../clean.js';
import type { Terminal } from '../terminal.js';

/** Where an answer goes. */
export interface Sink {
  write(text: string): Promise<void>;
  /** The body, to its end. */
  pipe(response: Response): Promise<undefined>;
}

/** A terminal gets clean text; anything else, the bytes as they come. */
export function intoStdout({ stdout }: Terminal): Sink {
  const write = async (chunk: string | Uint8Array): Promise<void> => {
    // What reads us may have ended. The answer is read on: it counts as delivered then.
    if (stdout.destroyed || stdout.write(chunk)) return;
    await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]);
  };
  const clean = (text: string) => write(cleanForTerminal(text));
  return {
    write: clean,
    async pipe({ body }) {
      const decoder = new TextDecoder();
      for await (const chunk of chunksOf(body))
        await (stdout.isTTY ? clean(decoder.decode(chunk, { stream: true })) : write(chunk));
      if (stdout.isTTY) await clean(`${decoder.decode()}\n`);
      return undefined;
    },
  };
}

/** A file is emptied when the answer is there, and not before. */
export function intoFile(file: FileHandle): Sink {
  let begun: Promise<void> | undefined;
  const write = async (chunk: string | Uint8Array): Promise<void> => {
    await (begun ??= file.truncate(0));
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
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
    yield part.value;
}

/** The status and headers of an answer, as `curl -i` shows them. */
export function headText({ status, statusText, headers }: Response): string {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return `${[`HTTP/1.1 ${status} ${statusText}`.trim(), ...lines].join('\n')}\n\n`;
}

/** The body for JSON: as text, or in base64 if it is none. */
export async function bodyJson(response: Response): Promise<object> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  try {
    return { body: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { bodyBase64: Buffer.from(bytes).toString('base64') };
  }
}
