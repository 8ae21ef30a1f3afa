/**
 * All that a payment in tokens at hand does without: swaps, prices by quotes, plans, and what else a
 * client does. One door, so that it is one part of a bundle, and loaded by steps that need it.
 */
export { approvalFor } from './execute/ask-approval.js';
export { swapAndHold } from './execute/swap-and-hold.js';
export { listReceipts } from './list-receipts.js';
export { balance, quote, spent, swap } from './operations.js';
export { usdPriceOf } from './plan/usd-price.js';
export { chooseFunding } from './plan/choose-funding.js';
export { holdingsIn, shareFirst } from './plan/holdings.js';
export { makePlan, planOf } from './plan/plan.js';
export { decidedOutcome, forgetAccounts } from './reconcile/open-swaps.js';
export { keepToppedUp, onceToppedUp } from './top-up.js';
export { warmSwap } from './warm-swap.js';
