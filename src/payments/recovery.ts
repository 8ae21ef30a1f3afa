/**
 * What earlier calls and processes left, what became of a payment that its seller does not prove,
 * and what undoes a payment that was not signed. One door, so that it is one part of a bundle, and
 * loaded by the payments that need it: most do not.
 */
export { afterRefusal } from './execute/rejection.js';
export { settleEarlier } from './reconcile/settle-earlier.js';
export { historyOf } from './reconcile/account-history.js';
export { isUpToDate, keepWatching } from './reconcile/keep-watching.js';
export { freeOrphanedBudget, giveUp, resume, takeUp } from './reconcile/resume.js';
export { searchHistory } from './reconcile/search-history.js';
