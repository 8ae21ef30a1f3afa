import { base64 } from '@scure/base';

/** What stands in place of a secret. */
const HIDDEN = '[hidden]';
/** Shorter ones are no keys, and hiding them would eat ordinary words. */
const SHORTEST_KEY = 6;
/** A part of an address is mostly no secret, but providers put their keys there. */
const SHORTEST_PART = 8;
/** Of a process that makes a client for each of its own customers, the newest. */
const MOST = 256;

const known = new Set<string>();
let pattern: RegExp | undefined;

/** Hides a key, or a header with one, from all text of others that errors show from now on: a server may repeat the key that it was sent. */
export function hideKey(key: string): void {
  for (const word of key.split(/\s+/)) remember(word, SHORTEST_KEY);
}

/** Hides what of an address may be a key: its user and password, the parts of its path, and its query. Nothing of what is no address. */
export function hideAddress(address: string): void {
  const parsed = parse(address);
  if (parsed === undefined) return;
  const { username, password, pathname, search } = parsed;
  const pairs = search.slice(1).split('&');
  const values = pairs.map((pair) => pair.replace(/^[^=]*=/, ''));
  for (const word of [username, password]) remember(word, SHORTEST_KEY);
  // As HTTP Basic has them.
  if (password !== '') remember(`${decoded(username)}:${decoded(password)}`, SHORTEST_KEY);
  for (const word of [...pathname.split('/'), ...values]) remember(word, SHORTEST_PART);
}

/** Text of others without the secrets that we know, in the spellings that a server may repeat them in. */
export function redact(text: string): string {
  if (known.size === 0) return text;
  pattern ??= patternOf([...known].flatMap(spellings));
  return text.replace(pattern, HIDDEN);
}

/** An error of others, or one like it without the secrets that it shows. */
export function redactError(error: unknown): unknown {
  if (typeof error === 'string') return redact(error);
  if (!(error instanceof Error)) return error;
  const cause = redactError(error.cause);
  const { name, message, stack } = error;
  const shown = Object.values(error).filter((value) => typeof value === 'string');
  if (cause === error.cause && [message, stack ?? '', ...shown].every((text) => redact(text) === text)) return error;
  const copy = new Error(redact(message), cause === undefined ? {} : { cause });
  copy.name = name;
  if (stack !== undefined) copy.stack = redact(stack);
  return 'code' in error ? Object.assign(copy, { code: error.code }) : copy;
}

function remember(word: string, shortest: number): void {
  if (word.length < shortest || known.has(word)) return;
  const [oldest] = known;
  if (known.size >= MOST && oldest !== undefined) known.delete(oldest);
  known.add(word);
  pattern = undefined;
}

/** As it is, percent-encoded or not, and in base64 wherever it begins in what is encoded. */
function spellings(secret: string): string[] {
  const plain = decoded(secret);
  return [secret, plain, encodeURIComponent(plain), ...[secret, plain].flatMap(inBase64)];
}

function inBase64(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].flatMap((before) => {
    const encoded = base64.encode(Uint8Array.of(...new Uint8Array(before), ...bytes)).replace(/=+$/, '');
    // The characters at either end depend on what stands beside it.
    const end = (before + bytes.length) % 3 === 0 ? encoded.length : encoded.length - 1;
    const own = encoded.slice(before === 0 ? 0 : before + 1, end);
    return [own, own.replace(/\+/g, '-').replace(/\//g, '_')];
  });
}

/** Longest first: one may be the beginning of another. Percent-encoding has no case of its own, and JSON may escape a slash, more than once. */
function patternOf(texts: readonly string[]): RegExp {
  const sorted = [...new Set(texts)].sort((a, b) => b.length - a.length);
  const escaped = sorted.map((text) => text.replace(/[\\^$.*+?()[\]{}|-]/g, '\\$&').replace(/\//g, '\\\\*/'));
  return new RegExp(escaped.join('|'), 'gi');
}

function parse(address: string): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
