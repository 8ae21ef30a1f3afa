import { isStream, watchStream, type Reading } from './watch-stream.js';

const READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/**
 * What is made of a body's end. Only one of the two is called, once, and its readers wait for that.
 * Neither may refer to the response.
 */
export interface BodyEnd {
  /** It was read to its end, or its last reader was forgotten and never began. */
  read(): Promise<void>;
  /** It broke off, was cancelled, or was forgotten half read. */
  lost(): Promise<void>;
}

/**
 * Whether a response has a body that may still break off: one that is empty has arrived with its
 * headers.
 */
export function hasBody(response: Response): boolean {
  return response.body !== null && response.headers.get('content-length') !== '0';
}

/**
 * Tells how the body of a response ended: read to its end, as a whole, as a stream or in one of its
 * clones, or lost before that, when it breaks off or when the streams of all of them are cancelled
 * or forgotten half read. The response stays the one that fetch gave, with all that it says of
 * itself; only how its body is read is covered by members of its own.
 */
export function onBodyEnd(response: Response, end: BodyEnd): void {
  const ending = endingOf(end);
  const copies = copiesOf(ending);
  // All copies and streams hold it: with the last of them nothing can be read any more.
  if (typeof FinalizationRegistry !== 'undefined') registry().register(copies, ending);
  cover(response, copies);
}

/** How a body ended, as its first end says. */
interface Ending {
  readonly begin: () => void;
  readonly ended: () => Promise<void>;
  readonly broke: () => Promise<void>;
  readonly forgotten: () => void;
}

function endingOf({ read, lost }: BodyEnd): Ending {
  let told: Promise<void> | undefined;
  let isBegun = false;
  const ended = () => (told ??= read());
  const broke = () => (told ??= lost());
  return {
    begin: () => void (isBegun = true),
    ended,
    broke,
    forgotten: () => void (isBegun ? broke() : ended()),
  };
}

let unreachable: FinalizationRegistry<Ending> | undefined;

/** On its own, as are the copies: a closure keeps all that the closures beside it use. */
function registry(): FinalizationRegistry<Ending> {
  return (unreachable ??= new FinalizationRegistry((ending) => ending.forgotten()));
}

/** A body and its clones, as those that read them tell. */
interface Copies extends Reading {
  split(): void;
}

function copiesOf({ begin, ended, broke }: Ending): Copies {
  let copies = 1;
  return {
    ...{ begin, ended, broke },
    split: () => void (copies += 1),
    // What one copy leaves, another may still read.
    left: () => ((copies -= 1) > 0 ? Promise.resolve() : broke()),
  };
}

function cover(response: Response, copies: Copies): void {
  const source = memberOf(response, 'body');
  const used = memberOf(response, 'bodyUsed');
  const wasUsed = () => used() === true;
  let watched: ReturnType<typeof watchStream> | undefined;
  const body = () => {
    if (watched !== undefined) return watched.stream;
    const own = source();
    // A stream of another kind, as some fetches have, cannot be followed: it counts as read.
    if (!isStream(own) && own !== null && own !== undefined) void copies.ended();
    if (!isStream(own) || own.locked || wasUsed()) return own;
    watched = watchStream(own, source, copies);
    return watched.stream;
  };
  const isTaken = (): boolean =>
    watched !== undefined && (watched.stream.locked || watched.isBegun());
  put(response, 'body', { get: body });
  put(response, 'bodyUsed', { get: () => wasUsed() || watched?.isBegun() === true });
  for (const name of READERS) {
    // Old runtimes lack some.
    const read: unknown = Reflect.get(response, name);
    if (typeof read !== 'function') continue;
    const value = async () => {
      const wasRead = wasUsed();
      if (isTaken()) throw unusable();
      copies.begin();
      try {
        const all: unknown = await Reflect.apply(read, response, []);
        await copies.ended();
        return all;
      } catch (error) {
        // What is there and is no JSON was not lost; nor was what had been read before.
        if (isNamed(error, 'SyntaxError')) await copies.ended();
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

/** By its name: the fetch of a test environment or a frame has errors of another realm. */
function isNamed(error: unknown, name: string): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === name;
}
