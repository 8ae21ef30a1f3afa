// Reserves in the journal of a file, says on stdout what came of it, and then keeps the journal until it is killed.
import { fileJournal } from 'exact-change/journal/file';
import { isExactChangeError } from 'exact-change';
import { attemptOf } from './attempts.js';

const journal = fileJournal(process.argv[2] ?? '');
try {
  await journal.reserve(attemptOf({ id: `of ${process.pid}` }), []);
  process.stdout.write('holds');
} catch (error) {
  process.stdout.write(isExactChangeError(error, 'journal_locked') ? `locked by ${error.details.pid}` : String(error));
}
setInterval(() => undefined, 1_000);
