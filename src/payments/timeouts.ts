/**
 * Time limits for a journal and a transport of the caller's. It is one module, so that a bundle has
 * it as one file. Only clients with such a journal or transport load it.
 */
export { timedJournal } from './journal-timeouts.js';
export { transportWithTimeouts } from './transport-timeouts.js';
