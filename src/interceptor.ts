import type { Client } from './client.js';
import type { ClientOptions } from './config/options.js';
import { globalFetch, parseFetch, parseInstall } from './config/parse-options.js';
import { createReentrancyGuard, type ReentrancyGuard } from './internal/reentrancy-guard.js';

/** Options of {@link HTTPInterceptor}: those of `createClient`, and when to take effect. */
export interface InterceptorOptions extends ClientOptions {
  /** False: wait for `install()`. Default true. */
  readonly install?: boolean | undefined;
}

type Fetch = typeof globalThis.fetch;

/** How a wrapper of ours on the global fetch is told from others', across copies of the package. */
const WRAPPED: unique symbol = Symbol.for('exact-change.wrapped');

interface Wrapper extends Fetch {
  /** The fetch below, once this wrapper has stepped aside; undefined while it works. */
  readonly [WRAPPED]: () => Fetch | undefined;
}

/** The interceptor over any way to make a client; the public class is made of it. */
export abstract class Interceptor {
  /** The client that pays. */
  readonly client: Client;
  /** The paying fetch itself, whether installed or not. */
  readonly fetch: Fetch;
  // What was global when this was made or last installed: where requests go out, unless the options
  // name a fetch.
  #below: Fetch = globalThis.fetch;
  readonly #guard: ReentrancyGuard | undefined;
  #installed: { readonly wrapper: Wrapper; stop(): void } | undefined;

  protected constructor(options: InterceptorOptions, create: (options: ClientOptions) => Client) {
    const install = parseInstall(options);
    const { install: _install, fetch, ...rest } = options;
    const given = parseFetch(fetch);
    if (given === undefined) globalFetch();
    // A fetch of the caller's may well call the global one: then its requests come by here again.
    this.#guard = given === undefined ? undefined : createReentrancyGuard(given);
    this.client = create({ ...rest, fetch: (...args) => this.#send(args) });
    this.fetch = (input, init) => this.client.fetch(input, init);
    if (install) this.install();
  }

  /** Makes the global fetch pay. Does nothing if it does already. */
  install(): void {
    if (this.#installed !== undefined) return;
    const below = globalThis.fetch;
    let active = true;
    const fetch: Fetch = (input, init) => {
      const ours = this.#guard?.isReturning(init) === true;
      return active && !ours ? this.client.fetch(input, init) : below(input, init);
    };
    const wrapper = Object.assign(fetch, { [WRAPPED]: () => (active ? undefined : below) });
    this.#below = below;
    this.#installed = { wrapper, stop: () => (active = false) };
    globalThis.fetch = wrapper;
  }

  /**
   * Undoes `install()`. If others have wrapped fetch since, their wrapper stays, and ours below
   * it only passes calls on.
   */
  restore(): void {
    this.#installed?.stop();
    this.#installed = undefined;
    // Wrappers of ours that stepped aside earlier, while another lay over them, go with it.
    for (let below = belowOf(globalThis.fetch); below !== undefined; below = belowOf(below))
      globalThis.fetch = below;
  }

  [Symbol.dispose](): void {
    this.restore();
  }

  /** Sends what the client sends: down, never back to itself. */
  #send(args: Parameters<Fetch>): Promise<Response> {
    if (this.#guard !== undefined) return this.#guard.send(...args);
    // Called bare, not as a member: browsers refuse a fetch whose `this` is not their window.
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
