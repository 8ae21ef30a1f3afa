/**
 * What a journal and a transport of the caller's are held to. One door, so that it is one part of a
 * bundle, and loaded by clients that have one.
 */
export { timedJournal } from './journal-timeouts.js';
export { transportWithTimeouts } from './transport-timeouts.js';
