import { base64 } from './bytes.js';
import { parseUrl } from './parse.js';

const HIDDEN = '[hidden]';
/** Shorter text is no key, and to hide it would hide ordinary words. */
const SHORTEST_KEY = 6;
/** Most parts of an address are no secret, but some providers put their keys there. */
const SHORTEST_PART = 8;
/** Only letters, in the case of a word: it counts as a word unless it is as long as a key. */
const WORD = /^(?:[A-Z]?[a-z]+|[A-Z]+)$/;
const SHORTEST_LETTERS = 20;
/** Number of secrets that are kept, the newest: a process may make a client for each customer. */
const MOST = 4_096;
/** Characters that are read of a foreign text, which may have any length: more than are shown. */
const READ_LIMIT = 12_800;
const HEADERS_WITHOUT_KEYS = /^(?:accept(?:-.*)?|content-type|user-agent)$/i;

/** Each secret, the newest last, with its spellings in the form that {@link plainOf} gives. */
const known = new Map<string, readonly string[]>();
/**
 * Spellings by their beginning, so that a text is read once for any number of spellings; each as
 * often as secrets have it.
 */
const byBeginning = new Map<string, string[]>();
/** Length of the longest spelling that there ever was. */
let longest = 0;

/**
 * Hides a key, or the value of a header with a key, from foreign text that errors show from now on:
 * a server may repeat the key that it was sent.
 */
export function hideKey(key: string): void {
  for (const word of key.split(/\s+/)) remember(word, SHORTEST_KEY);
}

/** Hides the values of headers that a caller adds to its requests. */
export function hideHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers))
    if (!HEADERS_WITHOUT_KEYS.test(name)) hideKey(value);
}

/**
 * Hides the parts of an address that may be a key: user and password, the parts of its path, and
 * its query. Does nothing for text that is no address.
 */
export function hideAddress(address: string): void {
  const parsed = parseUrl(address);
  if (parsed === undefined) return;
  const { username, password, pathname, search } = parsed;
  const pairs = search.slice(1).split('&');
  const values = pairs.map((pair) => pair.replace(/^[^=]*=/, ''));
  for (const word of [username, password]) remember(word, SHORTEST_KEY);
  // HTTP Basic joins user and password.
  if (password !== '') remember(`${decoded(username)}:${decoded(password)}`, SHORTEST_KEY);
  for (const word of [...pathname.split('/'), ...values]) remember(word, SHORTEST_PART);
}

export function hasSecrets(): boolean {
  return known.size > 0;
}

/**
 * Returns foreign text without known secrets, in any spelling that a server may repeat, and cut to
 * `READ_LIMIT`. Only for text that is shown: a secret may be a part of a word that code compares.
 */
export function redact(text: string): string {
  if (!hasSecrets()) return text.slice(0, READ_LIMIT);
  const plain = plainOf(text);
  const shown: string[] = [];
  let from = 0;
  for (let at = 0; at < plain.within;) {
    const length = longestAt(plain.text, at);
    if (length > 0) {
      shown.push(text.slice(from, plain.places[at]), HIDDEN);
      from = plain.places[at + length] ?? text.length;
    }
    at += Math.max(1, length);
  }
  shown.push(text.slice(from, READ_LIMIT));
  return shown.join('');
}

/** Returns the length of the longest secret at a place; 0 if there is none. */
function longestAt(text: string, at: number): number {
  let length = 0;
  for (const spelling of byBeginning.get(beginningOf(text, at)) ?? [])
    if (spelling.length > length && text.startsWith(spelling, at)) length = spelling.length;
  return length;
}

function beginningOf(text: string, at = 0): string {
  return text.slice(at, at + SHORTEST_KEY);
}

function remember(word: string, shortest: number): void {
  if (word.length < shortest || (word.length < SHORTEST_LETTERS && WORD.test(word))) return;
  const before = known.get(word);
  known.delete(word);
  known.set(word, before ?? learn(word));
  const [oldest] = known.keys();
  if (known.size > MOST && oldest !== undefined) forget(oldest);
}

function learn(secret: string): readonly string[] {
  const learned = [
    ...new Set(spellings(secret).map((spelling) => plainOf(spelling, spelling.length).text)),
  ].filter((spelling) => spelling.length >= SHORTEST_KEY);
  for (const spelling of learned) {
    longest = Math.max(longest, spelling.length);
    const beginning = beginningOf(spelling);
    const sharing = byBeginning.get(beginning);
    if (sharing === undefined) byBeginning.set(beginning, [spelling]);
    else sharing.push(spelling);
  }
  return learned;
}

function forget(secret: string): void {
  const forgotten = known.get(secret) ?? [];
  known.delete(secret);
  for (const spelling of forgotten) {
    const beginning = beginningOf(spelling);
    const sharing = byBeginning.get(beginning) ?? [];
    sharing.splice(sharing.indexOf(spelling), 1);
    if (sharing.length === 0) byBeginning.delete(beginning);
  }
}

/** Returns a secret as it is, percent-encoded or not, and in base64 at each offset. */
function spellings(secret: string): string[] {
  const plain = decoded(secret);
  return [secret, plain, encodeURIComponent(plain), ...[secret, plain].flatMap(inBase64)];
}

function inBase64(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].flatMap((before) => {
    const encoded = base64
      .encode(Uint8Array.of(...new Uint8Array(before), ...bytes))
      .replace(/=+$/, '');
    // Cut the characters at either end that depend on the text beside the secret.
    const end = (before + bytes.length) % 3 === 0 ? encoded.length : encoded.length - 1;
    const inner = encoded.slice(before === 0 ? 0 : before + 1, end);
    return [inner, inner.replace(/\+/g, '-').replace(/\//g, '_')];
  });
}

/** A text in the form that is compared. */
interface Plain {
  readonly text: string;
  /** Place of each character in the original text. */
  readonly places: readonly number[];
  /**
   * Number of characters before the limit. The characters behind it are there for a secret that
   * begins before it.
   */
  readonly within: number;
}

/**
 * Returns a text in lower case, with its slashes unescaped: percent-encoding ignores case, and JSON
 * may escape a slash more than once.
 */
function plainOf(text: string, limit = READ_LIMIT): Plain {
  const characters: string[] = [];
  const places: number[] = [];
  let within = 0;
  let escapes = 0;
  for (
    let at = 0;
    at < text.length && (at < limit || characters.length < within + longest);
    at += 1
  ) {
    const character = text.charAt(at);
    const place = character === '/' ? at - escapes : at;
    if (place < at) characters.length = places.length = characters.length - escapes;
    // Keep a letter if its lower case has two characters, because the places would not fit then.
    characters.push(character.toLowerCase().length === 1 ? character.toLowerCase() : character);
    places.push(place);
    if (place < limit) within = characters.length;
    escapes = character === '\\' ? escapes + 1 : 0;
  }
  return { text: characters.join(''), places, within };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
