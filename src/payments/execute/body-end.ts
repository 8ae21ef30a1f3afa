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
export function onBodyEnd(response: object, end: BodyEnd): void {
  const ending = endingOf(end);
  const copies = copiesOf(ending);
  // All copies and streams hold it: with the last of them nothing can be read any more.
  if (typeof FinalizationRegistry !== 'undefined') registry().register(copies, ending, ending);
  cover(response, copies);
}

/** How a body ended, as its first end says. */
interface Ending {
  readonly begin: () => void;
  readonly ended: () => Promise<void>;
  readonly broke: () => Promise<void>;
  readonly forgotten: () => void;
}

function endingOf(end: BodyEnd): Ending {
  // A collector that frees what is young in a hurry keeps all that a registry refers to, so that it
  // refers to a payment no longer than it has to.
  let open: BodyEnd | undefined = end;
  let told = Promise.resolve();
  let isBegun = false;
  const tell = (how: keyof BodyEnd) => {
    if (open !== undefined) told = open[how]();
    open = undefined;
    unreachable?.unregister(ending);
    return told;
  };
  const ending: Ending = {
    begin: () => void (isBegun = true),
    ended: () => tell('read'),
    broke: () => tell('lost'),
    forgotten: () => void tell(isBegun ? 'lost' : 'read'),
  };
  return ending;
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

const WATCH: unique symbol = Symbol('exact-change.body');

/** A response whose body is watched, or a clone of one. */
interface Watch {
  readonly response: object;
  readonly copies: Copies;
  /** Members that it had of its own before. */
  readonly own: Map<string, PropertyDescriptor>;
  stream?: ReturnType<typeof watchStream>;
}

/** What covers the members of all responses: functions of its own would make each of its own kind. */
const MEMBERS = /* @__PURE__ */ members();

function members(): PropertyDescriptorMap {
  const all: PropertyDescriptorMap = {
    body: {
      get(this: object) {
        return bodyOf(watchOf(this));
      },
    },
    bodyUsed: {
      get(this: object) {
        const watch = watchOf(this);
        return wasUsed(watch) || watch.stream?.isBegun() === true;
      },
      // Those of polyfills note it themselves, as React Native's.
      set(this: object, value: unknown) {
        watchOf(this).own.set('bodyUsed', { value });
      },
    },
    clone: {
      value(this: object) {
        return cloneOf(watchOf(this));
      },
      writable: true,
    },
  };
  for (const name of READERS)
    all[name] = {
      async value(this: object) {
        return readBy(name, watchOf(this));
      },
      writable: true,
    };
  return all;
}

function cover(response: { readonly [WATCH]?: Watch }, copies: Copies): void {
  // A fetch may give one response for two purchases: the last is told of its end.
  const before = response[WATCH]?.own;
  const own = before ?? new Map<string, PropertyDescriptor>();
  for (const [name, member] of Object.entries(MEMBERS)) {
    // Old runtimes lack some.
    if (!(name in response)) continue;
    const there = Object.getOwnPropertyDescriptor(response, name);
    if (before === undefined && there !== undefined) own.set(name, there);
    Object.defineProperty(response, name, { ...member, enumerable: false, configurable: true });
  }
  const watch: Watch = { response, copies, own };
  Object.defineProperty(response, WATCH, { value: watch, configurable: true });
}

function watchOf(response: { readonly [WATCH]?: Watch }): Watch {
  const watch = response[WATCH];
  if (watch === undefined) throw unusable();
  return watch;
}

/** A member as it was before ours. */
function memberOf({ response, own }: Watch, name: string): unknown {
  const there = own.get(name);
  if (there === undefined)
    return Reflect.get(Reflect.getPrototypeOf(response) ?? {}, name, response);
  const value: unknown = there.value;
  return there.get === undefined ? value : Reflect.apply(there.get, response, []);
}

function wasUsed(watch: Watch): boolean {
  return memberOf(watch, 'bodyUsed') === true;
}

function bodyOf(watch: Watch): unknown {
  if (watch.stream !== undefined) return watch.stream.stream;
  const source = () => memberOf(watch, 'body');
  const own = source();
  // A stream of another kind, as some fetches have, cannot be followed: it counts as read.
  if (!isStream(own) && own !== null && own !== undefined) void watch.copies.ended();
  if (!isStream(own) || own.locked || wasUsed(watch)) return own;
  watch.stream = watchStream(own, source, watch.copies);
  return watch.stream.stream;
}

/** Whether its stream was asked for, and is being read. */
function isTaken({ stream }: Watch): boolean {
  return stream !== undefined && (stream.stream.locked || stream.isBegun());
}

async function readBy(name: (typeof READERS)[number], watch: Watch): Promise<unknown> {
  const { copies } = watch;
  const wasRead = wasUsed(watch);
  if (isTaken(watch)) throw unusable();
  copies.begin();
  try {
    const all: unknown = await call(watch, name);
    await copies.ended();
    return all;
  } catch (error) {
    // What is there and is no JSON was not lost; nor was what had been read before.
    if (isNamed(error, 'SyntaxError')) await copies.ended();
    else if (!wasRead) await copies.broke();
    throw error;
  }
}

function cloneOf(watch: Watch): unknown {
  if (isTaken(watch)) throw unusable();
  const copy = call(watch, 'clone');
  if (!isObject(copy)) return copy;
  watch.copies.split();
  cover(copy, watch.copies);
  return copy;
}

function call(watch: Watch, name: string): unknown {
  const method = memberOf(watch, name);
  return typeof method === 'function' ? Reflect.apply(method, watch.response, []) : undefined;
}

/** What fetch's own responses say. */
function unusable(): TypeError {
  return new TypeError('Body is unusable: it is being read, or has been.');
}

/** By its name: the fetch of a test environment or a frame has errors of another realm. */
function isNamed(error: unknown, name: string): boolean {
  return isObject(error) && 'name' in error && error.name === name;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
