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

export function isOwnRequest(init: RequestInit | null | undefined): boolean {
  return typeof init === 'object' && init !== null && OWN in init;
}
