// Reserves and claims an attempt in a file journal, prints the result on stdout, and keeps the
// journal open until it is killed.
import { fileJournal } from 'exact-change/journal/file';
import { isExactChangeError } from 'exact-change';
import { attemptOf } from './attempts.js';

const [, , path = '', id = `of ${process.pid}`] = process.argv;
const journal = fileJournal(path);
try {
  await journal.reserve(attemptOf({ id }), [], { claim: [id] });
  process.stdout.write('holds');
} catch (error) {
  process.stdout.write(
    isExactChangeError(error, 'journal_locked') ? `locked by ${error.details.pid}` : String(error),
  );
}
setInterval(() => undefined, 1_000);
