import { existsSync, readFileSync } from 'node:fs';

/** The part of vitest's JSON report that counts. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** What came of one run of vitest: its report, and the status that it ended with. */
function countOf(file: string, status: string): Count {
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
  // A file that could not be loaded has failed without any test of it having run.
  const unloaded = report?.testResults.filter(
    (one) =>
      one.status === 'failed' &&
      !one.assertionResults.some((assertion) => assertion.status === 'failed'),
  );
  const failed = (report?.numFailedTests ?? 0) + (unloaded?.length ?? 0);
  // A run can fail with no test to blame: a crash, an unhandled rejection, a set-up.
  return {
    passed: report?.numPassedTests ?? 0,
    failed: status === '0' ? failed : Math.max(1, failed),
  };
}

/** Called with the status of `npm run check`, then a report and a status for each run of tests. */
const [gates, ...runs] = process.argv.slice(2);
const counts = runs.flatMap((file, index) =>
  index % 2 === 0 ? [countOf(file, runs[index + 1] ?? '')] : [],
);
const failed = counts.reduce((sum, one) => sum + one.failed, gates === '0' ? 0 : 1);

if (gates !== '0') console.log('`npm run check` failed: counted as one failure.');
console.log(`${counts.reduce((sum, { passed }) => sum + passed, 0)} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
