import { isStream } from '../../internal/kept-body.js';
import { isObject } from '../../internal/record.js';
import { passOnReceipt } from '../../receipt.js';
import { watchStream, type Reading } from './watch-stream.js';

const READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/**
 * Callbacks for the end of a response body. A body calls a single callback, once, and its readers
 * wait for it. No callback may refer to the response, which must stay collectable.
 */
export interface BodyEnd {
  /** The body was read to its end, or was garbage collected before any read began. */
  read(): Promise<void>;
  /** The body broke off, was cancelled, given up, or garbage collected half read. */
  lost(): Promise<void>;
}

/** Whether a response has a body that may still break off. An empty body comes with the headers. */
export function hasBody(response: Response): boolean {
  return response.body !== null && response.headers.get('content-length') !== '0';
}

/**
 * Calls `end` when the body of a response ends. The body was read if any copy was read to its end,
 * by a method or as a stream. The copies are the response and its clones. The body was lost if it
 * broke off, or if every copy's stream was cancelled or garbage collected half read. The response
 * stays the object that fetch returned; only the members that read its body are covered. Clones get
 * its receipt, also if `end` is false because no part of the answer can be lost.
 *
 * Returns a function to call when the body is broken off, before fetch does it: the body is lost
 * at that moment, before a reader hears of it, because the next call may start at once.
 */
export function onBodyEnd(response: object, end: BodyEnd | false): () => void {
  const ending = endingOf(end);
  const copies = copiesOf(ending);
  // Every clone and stream refers to `copies`, so the body is out of reach when it is collected.
  if (typeof FinalizationRegistry !== 'undefined') registry().register(copies, ending, ending);
  cover(response, copies);
  return typeof WeakRef === 'undefined'
    ? () => undefined
    : loseUnlessTaken(new WeakRef(response), ending);
}

/** A body that an unseen reader took may have arrived. A separate function, as `registry` is. */
function loseUnlessTaken(
  weak: WeakRef<{ readonly bodyUsed?: boolean }>,
  { isBegun, broke }: Ending,
): () => void {
  return () => {
    const response = weak.deref();
    if (isBegun() || (response !== undefined && !response.bodyUsed)) void broke();
  };
}

/** Events of a body. The first end counts; later ends only wait for its callback. */
interface Ending {
  readonly begin: () => void;
  readonly isBegun: () => boolean;
  readonly ended: () => Promise<void>;
  readonly broke: () => Promise<void>;
  /** The response and its clones were garbage collected. */
  readonly forgotten: () => void;
}

function endingOf(end: BodyEnd | false): Ending {
  // Drop the callbacks after their call, because they refer to a payment: a minor garbage
  // collection keeps everything that a registry refers to.
  let callbacks = end;
  let called = Promise.resolve();
  let isBegun = false;
  const call = (name: keyof BodyEnd) => {
    if (callbacks) called = callbacks[name]();
    callbacks = false;
    unreachable?.unregister(ending);
    return called;
  };
  const ending: Ending = {
    begin: () => void (isBegun = true),
    isBegun: () => isBegun,
    ended: () => call('read'),
    broke: () => call('lost'),
    forgotten: () => void call(isBegun ? 'lost' : 'read'),
  };
  return ending;
}

let unreachable: FinalizationRegistry<Ending> | undefined;

/**
 * A function of its own, as `copiesOf` is: closures of one function keep each other's variables
 * alive, and these closures must not keep the response.
 */
function registry(): FinalizationRegistry<Ending> {
  return (unreachable ??= new FinalizationRegistry((ending) => ending.forgotten()));
}

/** Events of a body and its clones: each reader reports here. */
interface Copies extends Reading {
  split(): void;
}

function copiesOf({ begin, ended, broke }: Ending): Copies {
  let copies = 1;
  return {
    ...{ begin, ended, broke },
    split: () => void (copies += 1),
    // The body is lost only if every copy is left, because another copy may still be read.
    left: () => ((copies -= 1) > 0 ? Promise.resolve() : broke()),
  };
}

const WATCH: unique symbol = Symbol('exact-change.body');

interface Watch {
  readonly copies: Copies;
  /** Own members that the response had before they were covered. */
  readonly own: Map<string, PropertyDescriptor>;
  /** Whether a method has read the body, or has begun to. */
  isRead?: boolean;
  /** The watched stream, after `body` was first asked for. */
  stream?: ReturnType<typeof watchStream>;
}

/**
 * Members that cover the body members of every response. They are shared, because functions of its
 * own would give each response a hidden class of its own. They run on their `this`, because the
 * response of a fetch may be a proxy, and only the object behind it has the body.
 */
const MEMBERS = /* @__PURE__ */ members();

function members(): PropertyDescriptorMap {
  const descriptors: PropertyDescriptorMap = {
    body: {
      get(this: object) {
        return bodyOf(this);
      },
    },
    bodyUsed: {
      get(this: object) {
        return wasUsed(this) || watchOf(this).stream?.isBegun() === true;
      },
      // Responses of polyfills, such as React Native's, set it themselves.
      set(this: object, value: unknown) {
        watchOf(this).own.set('bodyUsed', { value });
      },
    },
    clone: {
      value(this: object) {
        return cloneOf(this);
      },
      writable: true,
    },
  };
  for (const name of READERS)
    descriptors[name] = {
      async value(this: object) {
        return readBy(name, this);
      },
      writable: true,
    };
  return descriptors;
}

/** Covers a response. One that a caller's fetch froze stays as it is. */
function cover(response: { readonly [WATCH]?: Watch }, copies: Copies): void {
  // A fetch may return one response for two purchases: only the last purchase hears of its end.
  const before = response[WATCH]?.own;
  const own = before ?? new Map<string, PropertyDescriptor>();
  for (const [name, member] of Object.entries(MEMBERS)) {
    // Old runtimes lack some members.
    if (!(name in response)) continue;
    const existing = Object.getOwnPropertyDescriptor(response, name);
    if (before === undefined && existing !== undefined) own.set(name, existing);
    Reflect.defineProperty(response, name, { ...member, enumerable: false, configurable: true });
  }
  const watch: Watch = { copies, own };
  Reflect.defineProperty(response, WATCH, { value: watch, configurable: true });
}

function watchOf(response: { readonly [WATCH]?: Watch }): Watch {
  const watch = response[WATCH];
  if (watch === undefined) throw unusable();
  return watch;
}

/** Returns the value of a member as it is without the cover. */
function memberOf(response: object, name: string): unknown {
  const descriptor = watchOf(response).own.get(name);
  if (descriptor === undefined) {
    // A caller's object may inherit the cover from the response.
    let covered: object | null = response;
    while (covered !== null && Reflect.getOwnPropertyDescriptor(covered, WATCH) === undefined)
      covered = Reflect.getPrototypeOf(covered);
    return Reflect.get(Reflect.getPrototypeOf(covered ?? response) ?? {}, name, response);
  }
  const value: unknown = descriptor.value;
  return descriptor.get === undefined ? value : Reflect.apply(descriptor.get, response, []);
}

function wasUsed(response: object): boolean {
  return memberOf(response, 'bodyUsed') === true;
}

function bodyOf(response: object): unknown {
  const watch = watchOf(response);
  if (watch.stream !== undefined) return watch.stream.stream;
  const source = () => memberOf(response, 'body');
  const body = source();
  // Some fetches have bodies of another kind, which cannot be watched: such a body counts as read.
  if (!isStream(body) && body !== null && body !== undefined) void watch.copies.ended();
  if (!isStream(body) || body.locked || wasUsed(response)) return body;
  watch.stream = watchStream(body, source, watch.copies);
  return watch.stream.stream;
}

function isTaken(response: object): boolean {
  const { stream } = watchOf(response);
  return stream !== undefined && (stream.stream.locked || stream.isBegun());
}

async function readBy(name: (typeof READERS)[number], response: object): Promise<unknown> {
  const watch = watchOf(response);
  const { copies, isRead: wasRead } = watch;
  if (isTaken(response)) throw unusable();
  watch.isRead = true;
  copies.begin();
  try {
    const content: unknown = await call(response, name);
    await copies.ended();
    return content;
  } catch (error) {
    // A body that is no JSON has arrived whole. A second read of a body loses nothing; but a body
    // that was used before its first read was broken off.
    if (isSyntaxError(error)) await copies.ended();
    else if (wasRead !== true) await copies.broke();
    throw error;
  }
}

function cloneOf(response: object): unknown {
  if (isTaken(response)) throw unusable();
  const { copies, isRead } = watchOf(response);
  // As in `readBy`: a body that was used before its first read was broken off.
  if (isRead !== true && wasUsed(response)) void copies.broke();
  const copy = call(response, 'clone');
  if (!isObject(copy)) return copy;
  cover(copy, copies);
  copies.split();
  passOnReceipt(response, copy);
  return copy;
}

function call(response: object, name: string): unknown {
  const method = memberOf(response, name);
  return typeof method === 'function' ? Reflect.apply(method, response, []) : undefined;
}

/** Returns the error that responses of fetch throw. */
function unusable(): TypeError {
  return new TypeError('Body is unusable: it is being read, or has been.');
}

/** Compares the name, not the class: a test environment or a frame has classes of its own. */
function isSyntaxError(error: unknown): boolean {
  return isObject(error) && 'name' in error && error.name === 'SyntaxError';
}
