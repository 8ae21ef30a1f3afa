// Inspects one swap, and tells the verdict on a pipe of its own. It closes nothing: the process is
// to end because nothing of the inspection is left.
import { writeSync } from 'node:fs';
import { inspectSwap, isExactChangeError, type InspectOptions } from 'exact-change';

// Written by the parent.
const { transaction, options } = JSON.parse(process.argv[2] ?? '') as {
  readonly transaction: string;
  readonly options: InspectOptions;
};
const RESULT_PIPE = 3;

const outcome = await inspectSwap(transaction, options).then(
  ({ accepted }) => (accepted ? 'accepted' : 'refused'),
  (error: unknown) => (isExactChangeError(error) ? error.code : String(error)),
);
writeSync(RESULT_PIPE, outcome);
