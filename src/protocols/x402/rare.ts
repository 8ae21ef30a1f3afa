/**
 * Code that most payments do not need: bodies of a 402, other sources of terms, and why an offer
 * cannot be paid. It has one entry, so that it is one chunk of a bundle. Load it before anything is
 * signed, or only to explain a refusal.
 */
export { judgeOffers } from './offers.js';
export { readTerms } from './body.js';
export { readWithBody, reasonInBody } from './peek.js';
