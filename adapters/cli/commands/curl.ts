import { refuse } from '../../../src/internal/options.js';
import { parseUrl } from '../../../src/internal/parse.js';
import { readInput } from '../input.js';
import type { Terminal } from '../terminal.js';

/** The options of a request, named as in curl. */
export interface RequestFlags {
  readonly request?: string;
  readonly header?: readonly string[];
  readonly data?: readonly string[];
  readonly dataBinary?: readonly string[];
  readonly location?: boolean;
}

/** Parses a URL. Without a scheme, it is `https`. */
export function readUrl(text: string): URL {
  const url = parseUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (url === undefined)
    throw refuse('URL', `must be an address such as https://api.example.com/premium: ${text}`);
  // fetch refuses such an address, and its error repeats the password.
  if (url.username !== '' || url.password !== '')
    throw refuse(
      'URL',
      'must hold no user name or password. Give them by -H "Authorization: ...".',
    );
  return url;
}

/** Returns the request of a command line. */
export async function readRequest(flags: RequestFlags, terminal: Terminal): Promise<RequestInit> {
  const headers = new Headers((flags.header ?? []).map(readHeader));
  const parts: Buffer[] = [];
  for (const text of flags.data ?? []) parts.push(await readData(text, true, terminal));
  for (const text of flags.dataBinary ?? []) parts.push(await readData(text, false, terminal));
  const body = parts.length === 0 ? undefined : Buffer.concat(joined(parts));
  if (body !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded');
  return {
    method: flags.request ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    redirect: flags.location === true ? 'follow' : 'manual',
    ...(body === undefined ? {} : { body }),
  };
}

function readHeader(text: string): [string, string] {
  const [, name = '', value = ''] = /^([^:]+):\s*([^]*)$/.exec(text) ?? [];
  try {
    new Headers([[name, value]]);
  } catch {
    // The parser's message repeats the value, which may be a key.
    throw refuse('-H', 'must be a header such as "Accept: application/json".');
  }
  return [name, value];
}

/** Reads data: `@file` is a file, `@-` standard input. `-d` drops the line breaks of a file. */
async function readData(text: string, withoutBreaks: boolean, terminal: Terminal): Promise<Buffer> {
  if (!text.startsWith('@')) return Buffer.from(text);
  const bytes = await readInput(terminal, text.slice(1));
  return withoutBreaks ? Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13)) : bytes;
}

function joined(parts: readonly Buffer[]): Buffer[] {
  const between = Buffer.from('&');
  return parts.flatMap((part, index) => (index === 0 ? [part] : [between, part]));
}
