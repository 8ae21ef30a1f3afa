import type { Funds } from '../errors.js';
import { untilAborted } from '../internal/abort.js';
import { part } from '../internal/load-once.js';

/** Waits no longer than its call is wanted: a file may never come. */
function wanted<T>(
  code: (funds?: Funds) => Promise<T>,
): (funds?: Funds, signal?: AbortSignal) => Promise<T> {
  return (funds, signal) => untilAborted(code(funds), signal);
}

/** What a payment needs that has to be funded, or is asked for more than to be paid. */
export const swapEngine = /* @__PURE__ */ wanted(
  /* @__PURE__ */ part(() => import('./swap-engine.js')),
);

/** What takes up and decides what earlier calls have left open. */
export const recovery = /* @__PURE__ */ wanted(/* @__PURE__ */ part(() => import('./recovery.js')));

/** Why a payment is refused. */
export const reasons = /* @__PURE__ */ wanted(/* @__PURE__ */ part(() => import('./reasons.js')));
