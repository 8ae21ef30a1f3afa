/**
 * Code that a payment in a token of the wallet does not need: swaps, prices by quotes, plans, and
 * the client's calls that do not pay.
 */
export { approvalOf } from './execute/ask-approval.js';
export { swapInTurn } from './execute/swap-and-hold.js';
export { onceToppedUp } from './once-topped-up.js';
export { balance, listReceipts, quote, spent, swap } from './operations.js';
export { usdPriceOf } from './plan/usd-price.js';
export { chooseFunding } from './plan/choose-funding.js';
export { holdingsIn, readFirstHoldings } from './plan/holdings.js';
export { makePlan } from './plan/plan.js';
export { decidedOutcome } from './reconcile/open-swaps.js';
export { readAfter } from './reconcile/swap-outcome.js';
export { keepToppedUp } from './top-up.js';
export { warmSwap } from './warm-swap.js';
