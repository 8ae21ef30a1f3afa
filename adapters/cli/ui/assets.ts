import { readFile } from 'node:fs/promises';

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: string;
}

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
} as const;

/** Reads the files of the page, by name. The build puts them beside the command. */
export async function readAssets(
  folder = new URL('./ui/', import.meta.url),
): Promise<ReadonlyMap<string, Asset>> {
  const read = Object.entries(TYPES).map(
    async ([name, type]) =>
      [name, { type, body: await readFile(new URL(name, folder), 'utf8') }] as const,
  );
  return new Map(await Promise.all(read));
}
