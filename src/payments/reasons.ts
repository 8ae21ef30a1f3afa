/**
 * Why an offer cannot be paid, or none of them. One door, so that it is one part of a bundle, and
 * loaded by the calls that are refused, before anything is signed for them.
 */
export { overBudget } from '../policy/over-budget.js';
export { nothingPayable } from './plan/nothing-payable.js';
export {
  frozenAccount,
  notPriced,
  otherDecimals,
  payeeProblem,
  unknownMint,
} from './plan/offer-problems.js';
export { shortOf } from './plan/short-of.js';
export { judgeMint } from './plan/supported-mint.js';
