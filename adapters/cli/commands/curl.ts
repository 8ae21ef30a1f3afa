import { readFileSync } from 'node:fs';
import { refuse } from '../../../src/internal/options.js';

/** The options that describe a request, as curl has them. */
export interface RequestFlags {
  readonly request?: string;
  readonly header?: readonly string[];
  readonly data?: readonly string[];
  readonly dataBinary?: readonly string[];
  readonly location?: boolean;
}

/** A URL as people write it: `https` unless it says otherwise. */
export function readUrl(text: string): URL {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  try {
    return new URL(url);
  } catch {
    throw refuse('URL', `must be an address such as https://api.example.com/premium: ${text}`);
  }
}

/** The request of a command line. */
export function readRequest(flags: RequestFlags): RequestInit {
  const headers = new Headers((flags.header ?? []).map(readHeader));
  const parts = [
    ...(flags.data ?? []).map((text) => readData(text, true)),
    ...(flags.dataBinary ?? []).map((text) => readData(text, false)),
  ];
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
  const [, name, value] = /^([^:]+):\s*([^]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw refuse('-H', 'must be a header such as "Accept: application/json".');
  return [name, value];
}

/** `@file` is what is in a file, `@-` what comes in. Of a file, `-d` leaves out the line breaks. */
function readData(text: string, withoutBreaks: boolean): Buffer {
  if (!text.startsWith('@')) return Buffer.from(text);
  const path = text.slice(1);
  const bytes = readFileSync(path === '-' ? 0 : path);
  return withoutBreaks ? Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13)) : bytes;
}

function joined(parts: readonly Buffer[]): Buffer[] {
  const between = Buffer.from('&');
  return parts.flatMap((part, index) => (index === 0 ? [part] : [between, part]));
}
