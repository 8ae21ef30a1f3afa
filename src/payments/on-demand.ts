import { lazyPart } from '../internal/load-once.js';

/**
 * Loads the code for swaps, plans and approvals, and for the client's calls that do not pay. It is
 * one module, as the others are, so that a bundle has it as one file.
 */
export const swapEngine = /* @__PURE__ */ lazyPart(() => import('./swap-engine.js'));

/** Loads the code that decides open payments and frees orphaned attempts. */
export const recovery = /* @__PURE__ */ lazyPart(() => import('./recovery.js'));

/** Loads the code that says why a payment is refused. */
export const reasons = /* @__PURE__ */ lazyPart(() => import('./reasons.js'));
