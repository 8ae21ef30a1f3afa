/** What a payment does without that settles as its seller says: one door, so that it is one part of a bundle. */
export { readTransaction } from './landed.js';
export { rareMethods } from './rare-methods.js';
export { createSignatureSocket } from './signature-socket.js';
export { simulate } from './simulate.js';
