import { part } from '../internal/load-once.js';

/** What a payment needs that has to be funded, or is asked for more than to be paid. */
export const swapEngine = /* @__PURE__ */ part(() => import('./swap-engine.js'));

/** What takes up and decides what earlier calls have left open. */
export const recovery = /* @__PURE__ */ part(() => import('./recovery.js'));

/** Why a payment is refused. */
export const reasons = /* @__PURE__ */ part(() => import('./reasons.js'));
