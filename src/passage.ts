import { ConfigError } from './errors.js';

type Fetch = typeof globalThis.fetch;
type Input = RequestInfo | URL;

/** The way of requests through a fetch of the caller's, which may call the global fetch that pays, at once or later. */
export interface Passage {
  /** Sends a request through the caller's fetch, recognisable. */
  readonly send: Fetch;
  /** The request to pass on below if it is one that was sent through here; undefined for any other. */
  returning(input: Input, init: RequestInit | null | undefined): Input | undefined;
}

// Nobody has so many requests to one address under way at once, unless each is the making of the one before.
const MOST_PENDING = 10_000;

/**
 * Requests are told by a member of their init that no fetch reads. A fetch that builds requests anew loses it: what is sent while an equal
 * request is under way, and might so be its return, also gets a fragment. Fragments survive a `Request`, and never go out.
 */
export function createPassage(given: Fetch): Passage {
  const mark = Symbol('exact-change.passing');
  const tag = `exact-change-${Math.random().toString(36).slice(2)}`;
  const pending = new Map<string, number>();
  let calling = false;
  let losesMarks = false;
  return {
    async send(input, init) {
      const url = withoutHash(urlOf(input));
      const before = pending.get(url) ?? 0;
      if (before >= MOST_PENDING) throw endless();
      pending.set(url, before + 1);
      try {
        // A key that gets lost on the way round would not hold a second payment back.
        const isTagged = losesMarks || before > 0 || (init !== undefined && 'idempotencyKey' in init);
        const sent = isTagged ? readdressed(input, withTag(urlOf(input), tag)) : input;
        calling = true;
        const answer = given(sent, isPlain(init) ? Object.assign({ ...init }, { [mark]: true }) : init);
        calling = false;
        return await answer;
      } finally {
        calling = false;
        const rest = (pending.get(url) ?? 1) - 1;
        if (rest > 0) pending.set(url, rest);
        else pending.delete(url);
      }
    },
    returning(input, init) {
      const url = urlOf(input);
      const isTagged = url.endsWith(tag);
      const isMarked = calling || (typeof init === 'object' && init !== null && mark in init);
      if (!isTagged) return isMarked ? input : undefined;
      if (!isMarked) losesMarks = true;
      return readdressed(input, withoutTag(url, tag));
    },
  };
}

function urlOf(input: Input): string {
  return isRequest(input) ? input.url : String(input);
}

function withoutHash(url: string): string {
  return url.replace(/#.*/, '');
}

function withTag(url: string, tag: string): string {
  return `${url}${url.includes('#') ? '' : '#'}${tag}`;
}

function withoutTag(url: string, tag: string): string {
  return url.slice(0, -tag.length).replace(/#$/, '');
}

/** The same request to another spelling of its address. */
function readdressed(input: Input, url: string): Input {
  return isRequest(input) ? new Request(url, input) : url;
}

/** By shape, because a Request may be another implementation's. */
function isRequest(input: unknown): input is Request {
  return typeof input === 'object' && input !== null && 'url' in input;
}

/** What can be copied: a Request that serves as init answers only for itself. */
function isPlain(init: RequestInit | null | undefined): boolean {
  if (init === undefined || init === null) return true;
  const prototype: unknown = Reflect.getPrototypeOf(init);
  return prototype === null || prototype === Object.prototype;
}

function endless(): ConfigError {
  return new ConfigError(
    'invalid_option',
    'Option fetch calls the global fetch without end, with requests that cannot be told from others. Have it call the fetch that was global before.',
    { details: { option: 'fetch' } },
  );
}
