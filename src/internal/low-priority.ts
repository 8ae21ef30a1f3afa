import { type Following, followSignal } from './abort.js';

const marked = new WeakSet<AbortSignal>();

/**
 * As {@link followSignal}, a signal whose work gives way to other work, as that of a `TaskSignal`
 * of the web does with its `priority`: what strangers cause by the tokens that they name must not
 * stand in front of a purchase that has no part in it.
 */
export function startLowPriority(caller: AbortSignal): Following {
  const following = followSignal(caller);
  marked.add(following.signal);
  return following;
}

export function isLowPriority(signal: AbortSignal | undefined): boolean {
  return signal !== undefined && marked.has(signal);
}
