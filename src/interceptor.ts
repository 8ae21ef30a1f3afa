import type { Client } from './client.js';
import type { ClientOptions } from './config/options.js';
import { globalFetch, parseFetch, parseInstall } from './config/parse-options.js';
import { createReentrancyGuard, type ReentrancyGuard } from './internal/reentrancy-guard.js';

/** Options of {@link HTTPInterceptor}: the options of `createClient`, and when to take effect. */
export interface InterceptorOptions extends ClientOptions {
  /** False: wait for `install()`. Default true. */
  readonly install?: boolean | undefined;
}

type Fetch = typeof globalThis.fetch;

/** Marks our wrappers of the global fetch, for every copy of the package. */
const WRAPPED: unique symbol = Symbol.for('exact-change.wrapped');

interface Wrapper extends Fetch {
  /** Returns the fetch below this wrapper, or undefined while the wrapper still pays. */
  readonly [WRAPPED]: () => Fetch | undefined;
}

/** An interceptor over any factory of clients; the public class extends it. */
export abstract class Interceptor {
  /** The client that pays. */
  readonly client: Client;
  /** The paying fetch itself, whether installed or not. */
  readonly fetch: Fetch;
  // The global fetch at construction or at the last `install()`: requests leave through it, unless
  // the options name a fetch.
  #below: Fetch = globalThis.fetch;
  readonly #guard: ReentrancyGuard | undefined;
  /** Makes the wrapper pass calls on; undefined while nothing is installed. */
  #stop: (() => void) | undefined;

  protected constructor(options: InterceptorOptions, create: (options: ClientOptions) => Client) {
    const install = parseInstall(options);
    const { install: _install, fetch, ...rest } = options;
    const callerFetch = parseFetch(fetch);
    if (callerFetch === undefined) globalFetch();
    // The caller's fetch may call the global fetch: then its requests come back to our wrapper.
    this.#guard = callerFetch === undefined ? undefined : createReentrancyGuard(callerFetch);
    this.client = create({ ...rest, fetch: (...args) => this.#send(args) });
    this.fetch = (input, init) => this.client.fetch(input, init);
    if (install) this.install();
  }

  /** Makes the global fetch pay. Does nothing if it pays already. */
  install(): void {
    if (this.#stop !== undefined) return;
    const below = globalThis.fetch;
    let active = true;
    const fetch: Fetch = (input, init) => {
      const isReturning = this.#guard?.isReturning(init) === true;
      return active && !isReturning ? this.client.fetch(input, init) : below(input, init);
    };
    this.#below = below;
    this.#stop = () => (active = false);
    // Keep what other code adds to fetch, such as Bun's `fetch.preconnect`. A wrapper that does the
    // same must not copy our mark.
    const mark = { value: () => (active ? undefined : below) };
    globalThis.fetch = Object.defineProperty(Object.assign(fetch, below), WRAPPED, mark);
  }

  /**
   * Undoes `install()`. If other code has wrapped fetch since, that wrapper stays, and our wrapper
   * below it only passes calls on.
   */
  restore(): void {
    this.#stop?.();
    this.#stop = undefined;
    // Also remove our inactive wrappers that an outer wrapper kept in place until now.
    for (let below = belowOf(globalThis.fetch); below !== undefined; below = belowOf(below))
      globalThis.fetch = below;
  }

  [Symbol.dispose](): void {
    this.restore();
  }

  /** Sends a request of the client to the fetch below the wrapper, never back to the client. */
  #send(args: Parameters<Fetch>): Promise<Response> {
    if (this.#guard !== undefined) return this.#guard.send(...args);
    // Called bare, not as a member: browsers refuse a fetch unless its `this` is their window.
    const fetch = this.#below;
    return fetch(...args);
  }
}

function belowOf(fetch: Fetch): Fetch | undefined {
  return isWrapper(fetch) ? fetch[WRAPPED]() : undefined;
}

function isWrapper(fetch: Fetch): fetch is Wrapper {
  return WRAPPED in fetch && typeof fetch[WRAPPED] === 'function';
}
