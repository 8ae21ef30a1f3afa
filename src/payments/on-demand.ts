import type { Funds } from '../errors.js';
import { untilAborted } from '../internal/abort.js';
import { lazyPart } from '../internal/load-once.js';

/** Stops waiting for code when the call is aborted, because a file may never arrive. */
function abortable<T>(
  code: (funds?: Funds) => Promise<T>,
): (signal?: AbortSignal, funds?: Funds) => Promise<T> {
  return (signal, funds) => untilAborted(code(funds), signal);
}

/**
 * Loads the code for swaps, plans and approvals, and for the client's calls that do not pay. It is
 * one module, as the others are, so that a bundle has it as one file.
 */
export const swapEngine = /* @__PURE__ */ abortable(
  /* @__PURE__ */ lazyPart(() => import('./swap-engine.js')),
);

/** Loads the code that decides open payments and frees orphaned attempts. */
export const recovery = /* @__PURE__ */ abortable(
  /* @__PURE__ */ lazyPart(() => import('./recovery.js')),
);

/** Loads the code that says why a payment is refused. */
export const reasons = /* @__PURE__ */ abortable(
  /* @__PURE__ */ lazyPart(() => import('./reasons.js')),
);
