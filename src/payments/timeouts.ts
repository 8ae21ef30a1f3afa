/** Time limits for a journal and a transport of the caller's. */
export { timedJournal } from './journal-timeouts.js';
export { transportWithTimeouts } from './transport-timeouts.js';
