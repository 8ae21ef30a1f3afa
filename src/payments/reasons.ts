/**
 * What few payments look at: why an offer cannot be paid, or none of them, accounts with extensions,
 * and all that the wallet holds. One door, so that it is one part of a bundle, and loaded before
 * anything is signed.
 */
export { overBudget } from '../policy/over-budget.js';
export { nothingPayable } from './plan/nothing-payable.js';
export { frozenAccount, notPriced, otherDecimals, payeeProblem } from './plan/offer-problems.js';
export { shortOf } from './plan/short-of.js';
export { chooseShort } from './plan/choose-short.js';
export { judgedMint } from './plan/supported-mint.js';
export { decodeTokenAccount } from '../solana/tokens/decode.js';
export { checkCors } from './plan/check-cors.js';
export { warm } from './warm.js';
export { wrongNetwork } from '../solana/rpc/transport-error.js';
export { checkOffer, checkPayment, checkPlace } from '../policy/refusals.js';
export { requestProblem } from './plan/request-problem.js';
