/**
 * Code that takes up attempts of earlier calls, and decides payments that no seller proves. It also
 * undoes payments that were not signed. It is one module, so that a bundle has it as one file. Only
 * the few payments that need it load it.
 */
export { afterRefusal } from './execute/rejection.js';
export { settleEarlier } from './reconcile/settle-earlier.js';
export { historyOf } from './reconcile/account-history.js';
export { refreshIfSigned, keepWatching } from './reconcile/keep-watching.js';
export { freeOrphanedBudget, giveUp, resume, takeUp } from './reconcile/resume.js';
export { searchHistory } from './reconcile/search-history.js';
