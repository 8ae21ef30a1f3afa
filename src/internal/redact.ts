import { base64 } from './bytes.js';

/** What stands in place of a secret. */
const HIDDEN = '[hidden]';
/** Shorter ones are no keys, and hiding them would eat ordinary words. */
const SHORTEST_KEY = 6;
/** A part of an address is mostly no secret, but providers put their keys there. */
const SHORTEST_PART = 8;
/** Letters alone, in the case of a word: long enough to be a key they are no word. */
const WORD = /^(?:[A-Z]?[a-z]+|[A-Z]+)$/;
const SHORTEST_LETTERS = 20;
/** Of a process that makes a client for each of its own customers, the newest. */
const MOST = 4_096;
/** More of a text of others than is ever shown: how long it is, they decide. */
const READ_LIMIT = 12_800;
const HEADERS_WITHOUT_KEYS = /^(?:accept(?:-.*)?|content-type|user-agent)$/i;

/** Each secret, the newest last, with its spellings as {@link plainOf} has them. */
const known = new Map<string, readonly string[]>();
/** The spellings by how they begin, so that a text is read once however many there are. */
const byBeginning = new Map<string, Set<string>>();
/** Of all spellings that there were. */
let longest = 0;

/**
 * Hides a key, or the value of a header with one, from all text of others that errors show from now
 * on: a server may repeat the key that it was sent.
 */
export function hideKey(key: string): void {
  for (const word of key.split(/\s+/)) remember(word, SHORTEST_KEY);
}

/** Hides what headers hold that a caller adds to its requests. */
export function hideHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers))
    if (!HEADERS_WITHOUT_KEYS.test(name)) hideKey(value);
}

/**
 * Hides what of an address may be a key: its user and password, the parts of its path, and its
 * query. Nothing of what is no address.
 */
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

/** Whether there is anything to hide. */
export function hasSecrets(): boolean {
  return known.size > 0;
}

/**
 * Text of others without the secrets that we know, in the spellings that a server may repeat them
 * in, and cut to what is read of it. Only for what is shown: a secret may be a part of a word that
 * decides.
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

/** How long the longest secret is that stands at a place. */
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
  const all = [...new Set(spellings(secret).map((one) => plainOf(one, one.length).text))].filter(
    (one) => one.length >= SHORTEST_KEY,
  );
  for (const spelling of all) {
    longest = Math.max(longest, spelling.length);
    const beginning = beginningOf(spelling);
    byBeginning.set(beginning, (byBeginning.get(beginning) ?? new Set()).add(spelling));
  }
  return all;
}

function forget(secret: string): void {
  const gone = known.get(secret) ?? [];
  known.delete(secret);
  for (const spelling of gone) {
    const beginning = beginningOf(spelling);
    const others = byBeginning.get(beginning);
    others?.delete(spelling);
    if (others?.size === 0) byBeginning.delete(beginning);
  }
}

/** As it is, percent-encoded or not, and in base64 wherever it begins in what is encoded. */
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
    // The characters at either end depend on what stands beside it.
    const end = (before + bytes.length) % 3 === 0 ? encoded.length : encoded.length - 1;
    const own = encoded.slice(before === 0 ? 0 : before + 1, end);
    return [own, own.replace(/\+/g, '-').replace(/\//g, '_')];
  });
}

/** A text as it is compared. */
interface Plain {
  readonly text: string;
  /** Where each of its characters stands in what it was made of. */
  readonly places: readonly number[];
  /**
   * How many of them stand before the limit. What follows is there for a secret that begins before
   * it.
   */
  readonly within: number;
}

/** Percent-encoding has no case of its own, and JSON may escape a slash, more than once. */
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
    // Some letters have no one other: the places would no longer fit.
    characters.push(character.toLowerCase().length === 1 ? character.toLowerCase() : character);
    places.push(place);
    if (place < limit) within = characters.length;
    escapes = character === '\\' ? escapes + 1 : 0;
  }
  return { text: characters.join(''), places, within };
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
