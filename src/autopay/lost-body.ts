import { isStream, watchStream, type Reading } from './watch-stream.js';

const READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/**
 * Tells once when the body of a response did not reach its reader: when it breaks off, or when the stream of the response and of each of its
 * clones is cancelled, or forgotten half read, before one of them came to the end. Its readers wait for that. The response stays the one that
 * fetch gave, with all that it says of itself; only how its body is read is covered by members of its own. A body that is never read was not lost.
 */
export function onLostBody(response: Response, lost: () => Promise<void>): void {
  let told: Promise<void> | undefined;
  let copies = 1;
  let ended = false;
  const broke = () => (ended ? Promise.resolve() : (told ??= lost()));
  cover(response, {
    split: () => (copies += 1),
    ended: () => (ended = true),
    broke,
    // What one copy leaves, another may still read.
    left: () => ((copies -= 1) > 0 ? Promise.resolve() : broke()),
  });
}

/** A body and its clones, as those that read them tell. */
interface Copies extends Reading {
  split(): void;
}

function cover(response: Response, copies: Copies): void {
  const source = memberOf(response, 'body');
  const used = memberOf(response, 'bodyUsed');
  const wasUsed = () => used() === true;
  let watched: ReturnType<typeof watchStream> | undefined;
  const body = () => {
    if (watched !== undefined) return watched.stream;
    const own = source();
    // Some fetches have no stream, or one of another kind.
    if (!isStream(own) || own.locked || wasUsed()) return own;
    watched = watchStream(own, source, copies);
    return watched.stream;
  };
  const isTaken = (): boolean => watched !== undefined && (watched.stream.locked || watched.isBegun());
  put(response, 'body', { get: body });
  put(response, 'bodyUsed', { get: () => wasUsed() || watched?.isBegun() === true });
  for (const name of READERS) {
    // Old runtimes lack some.
    const read: unknown = Reflect.get(response, name);
    if (typeof read !== 'function') continue;
    const value = async () => {
      const wasRead = wasUsed();
      if (isTaken()) throw unusable();
      try {
        const all: unknown = await Reflect.apply(read, response, []);
        copies.ended();
        return all;
      } catch (error) {
        // What is there and is no JSON was not lost; nor was what had been read before.
        if (error instanceof SyntaxError) copies.ended();
        else if (!wasRead) await copies.broke();
        throw error;
      }
    };
    put(response, name, { value, writable: true });
  }
  const clone = response.clone.bind(response);
  const value = () => {
    if (isTaken()) throw unusable();
    const copy = clone();
    copies.split();
    cover(copy, copies);
    return copy;
  };
  put(response, 'clone', { value, writable: true });
}

/** How to read a member as it is now, before we lay our own over it. */
function memberOf(response: Response, name: string): () => unknown {
  const own = Object.getOwnPropertyDescriptor(response, name);
  if (own === undefined) {
    const prototype = Reflect.getPrototypeOf(response) ?? {};
    return (): unknown => Reflect.get(prototype, name, response);
  }
  const value: unknown = own.value;
  return own.get?.bind(response) ?? (() => value);
}

/** What fetch's own responses say. */
function unusable(): TypeError {
  return new TypeError('Body is unusable: it is being read, or has been.');
}

function put(response: Response, name: string, property: PropertyDescriptor): void {
  Object.defineProperty(response, name, { ...property, enumerable: false, configurable: true });
}
