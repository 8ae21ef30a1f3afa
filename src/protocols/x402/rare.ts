/**
 * What a payment in a good header's only offer does without: bodies of a 402, what else its terms may
 * be read from, and why offers are not payable. One door, so that it is one part of a bundle, and
 * loaded before anything is signed, or for a reason that need not be known.
 */
export { judgeOffers } from './offers.js';
export { readTerms } from './body.js';
export { readWithBody, reasonInBody } from './peek.js';
