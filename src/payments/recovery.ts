/**
 * Code that takes up attempts of earlier calls, decides payments that no seller proves, and undoes
 * payments that were not signed.
 */
export { afterRefusal } from './execute/rejection.js';
export { inProgress, throwUnread } from './reconcile/key-errors.js';
export { settleEarlier } from './reconcile/settle-earlier.js';
export { historyOf } from './reconcile/account-history.js';
export { refreshIfSigned, keepWatching } from './reconcile/keep-watching.js';
export { freeOrphanedBudget, giveUp, resume, takeUp } from './reconcile/resume.js';
export { searchHistory } from './reconcile/search-history.js';
