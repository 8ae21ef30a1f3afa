import { isObject } from './record.js';

/** Marks requests of the library itself, for every copy of the package. */
const OWN: unique symbol = Symbol.for('exact-change.own-request');

/**
 * Marks a request to a node, to Jupiter or to a service, or the request of a plan, by a field of its
 * init that no fetch reads. The request may go out by a fetch that pays, such as the global fetch,
 * which must not pay for it.
 */
export function markOwnRequest(init: RequestInit): RequestInit {
  return Object.assign(init, { [OWN]: true });
}

/**
 * Returns a field that lets no cache answer. Next.js, for one, caches POST requests too. Old
 * compatibility dates of Workers do not know the field, and throw if it is set. Node 16 has no
 * `Request`.
 */
export function uncached(): Pick<RequestInit, 'cache'> | false {
  return typeof Request === 'function' && 'cache' in Request.prototype && { cache: 'no-store' };
}

export function isOwnRequest(init: RequestInit | null | undefined): boolean {
  return isObject(init) && OWN in init;
}
