import { existsSync, readFileSync } from 'node:fs';

/** The part of Vitest's JSON report that this script reads. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

interface Count {
  readonly passed: number;
  readonly failed: number;
  /** Failures with their reasons. They come last, because often only the end of a log is kept. */
  readonly reasons: readonly string[];
}

const LINES_OF_A_REASON = 6;
const start = (message: string) => message.split('\n').slice(0, LINES_OF_A_REASON).join('\n  ');

const reasonsOf = (report: Report | undefined): string[] =>
  (report?.testResults ?? [])
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === 'failed');
      if (failed.length === 0) return [`FAILED ${name}\n  ${start(message)}`];
      return failed.map(
        ({ fullName, failureMessages }) =>
          `FAILED ${name} > ${fullName}\n  ${start(failureMessages.join('\n'))}`,
      );
    });

/** Counts the results of a Vitest run from its report file and its exit status. */
function countOf(file: string, status: string): Count {
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
  // If a file cannot be loaded, it has failed but none of its tests has.
  const unloaded = report?.testResults.filter(
    (result) =>
      result.status === 'failed' &&
      !result.assertionResults.some((assertion) => assertion.status === 'failed'),
  );
  const failed = (report?.numFailedTests ?? 0) + (unloaded?.length ?? 0);
  // A run can fail without a failed test: by a crash, an unhandled rejection or a set-up.
  const isUnexplained = status !== '0' && failed === 0;
  return {
    passed: report?.numPassedTests ?? 0,
    failed: isUnexplained ? 1 : failed,
    reasons: isUnexplained
      ? [`FAILED with no test to blame: the run that writes ${file}`]
      : reasonsOf(report),
  };
}

// Arguments: the status of `npm run check`, then a report and a status for each test run.
const [gates, ...runs] = process.argv.slice(2);
const counts = runs.flatMap((file, index) =>
  index % 2 === 0 ? [countOf(file, runs[index + 1] ?? '')] : [],
);
const failed = counts.reduce((sum, count) => sum + count.failed, gates === '0' ? 0 : 1);

for (const reason of counts.flatMap(({ reasons }) => reasons)) console.log(reason);
if (gates !== '0') console.log('`npm run check` failed: counted as one failure.');
console.log(`${counts.reduce((sum, { passed }) => sum + passed, 0)} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
