/**
 * Code that few payments need: why an offer, every offer or this runtime cannot pay; accounts with
 * extensions; `warm`. A payment loads it before it signs.
 */
export { blockedBy } from '../policy/over-budget.js';
export {
  feePayerProblem,
  frozenAccount,
  notPriced,
  otherDecimals,
  payeeProblem,
} from './plan/offer-problems.js';
export { tooLittleHeld } from './plan/short-of.js';
export { chooseShort, nothingPayable } from './plan/choose-short.js';
export { judgedMint } from './plan/supported-mint.js';
export { decodeTokenAccount } from '../solana/tokens/decode.js';
export { checkCors } from './plan/check-cors.js';
export { warm } from './warm.js';
export { wrongNetwork } from '../solana/rpc/transport-error.js';
export { checkOffer, checkPayment, checkPlace } from '../policy/refusals.js';
export { noRandomness } from './no-randomness.js';
export { requestProblem } from './plan/request-problem.js';
