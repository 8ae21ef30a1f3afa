/** How requests of the library itself are told from its caller's, across copies of the package. */
const OWN: unique symbol = Symbol.for('exact-change.own-request');

/**
 * Marks a request to a node, to Jupiter or to a service, by a member of its init that no fetch
 * reads. It may go out by a fetch that pays, above all the global one; but a service of ours is not
 * to be paid for being asked.
 */
export function asOwn(init: RequestInit): RequestInit {
  return Object.assign(init, { [OWN]: true });
}

export function isOwn(init: RequestInit | null | undefined): boolean {
  return typeof init === 'object' && init !== null && OWN in init;
}
