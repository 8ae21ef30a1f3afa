import { indexedDbJournal } from 'exact-change/journal/indexeddb';
import { startTests } from 'vitest/internal/browser';
import { coordinationContract } from '../contract/coordination-contract.js';
import { journalContract, type OpenJournal } from '../contract/journal-contract.js';
import { attemptOf, dayCap, fullAttemptOf, idsOf } from '../helpers/attempts.js';

type Runner = Parameters<typeof startTests>[1];
type Task = Awaited<ReturnType<typeof startTests>>[number]['tasks'][number];

/** A test that ran in the page, with its errors. */
export interface Ran {
  readonly name: string;
  readonly state: string;
  readonly errors: readonly string[];
}

let made = 0;

function openAs(name: string): OpenJournal {
  const journal = indexedDbJournal(name);
  return { journal, reopen: async () => openAs(name), close: () => journal.close() };
}

const open = async (): Promise<OpenJournal> => openAs(`contract ${(made += 1)}`);

const SUITES = {
  journal: () => journalContract('indexedDbJournal', open, { durable: true }),
  coordination: () => coordinationContract('indexedDbJournal', open),
} as const;

declare global {
  /** Runs a suite in this page, as Vitest does. */
  var runSuite: (suite: keyof typeof SUITES) => Promise<Ran[]>;
  /** Helpers for tests that use a journal directly. */
  var journalPage: typeof exposed;
}

const exposed = { indexedDbJournal, attemptOf, dayCap, fullAttemptOf, idsOf };
globalThis.journalPage = exposed;

globalThis.runSuite = async (suite) => {
  const runner: Runner = {
    config: {
      ...{ root: '/', name: suite, setupFiles: [], passWithNoTests: false, allowOnly: false },
      ...{ testTimeout: 300_000, hookTimeout: 300_000, retry: 0, maxConcurrency: 1, tags: [] },
      ...{ testNamePattern: undefined, includeTaskLocation: false, strictTags: false },
      sequence: { shuffle: false, concurrent: false, seed: 1, hooks: 'stack', setupFiles: 'list' },
      tagsFilter: undefined,
      chaiConfig: undefined,
    },
    importFile: SUITES[suite],
  };
  const files = await startTests([{ filepath: `/${suite}`, testLocations: undefined }], runner);
  return files.flatMap(({ tasks }) => tasks).flatMap((task) => ranIn(task, ''));
};

function ranIn(task: Task, within: string): Ran[] {
  const name = `${within} ${task.name}`;
  if (task.type === 'suite') return task.tasks.flatMap((inner) => ranIn(inner, name));
  const { state = 'not run', errors = [] } = task.result ?? {};
  return [{ name, state, errors: errors.map(({ stack, message }) => stack ?? message) }];
}
