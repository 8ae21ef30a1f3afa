import { existsSync, readFileSync } from 'node:fs';

/** The part of vitest's JSON report that counts. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly { readonly status: string }[] }[];
}

const [file = '', gates, tests] = process.argv.slice(2);
const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;

// A file that could not be loaded has failed without any test of it having run.
const unloaded = report?.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((one) => one.status === 'failed'),
);
const failedTests = (report?.numFailedTests ?? 0) + (unloaded?.length ?? 0);
// A run can fail with no test to blame: a crash, an unhandled rejection, a set-up.
const failed = (tests === '0' ? failedTests : Math.max(1, failedTests)) + (gates === '0' ? 0 : 1);

if (gates !== '0') console.log('`npm run check` failed: counted as one failure.');
console.log(`${report?.numPassedTests ?? 0} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
