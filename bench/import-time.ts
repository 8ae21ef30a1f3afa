import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { median, row } from './measure.js';

const run = promisify(execFile);
const RUNS = 9;

// A fresh process each time, alternating, so that both see the same machine. The parent's start of
// Node is not in the number.
const probe = (imports: string) =>
  `const from = performance.now(); ${imports}; process.stdout.write(String(performance.now() - from));`;

async function once(imports: string): Promise<number> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', probe(imports)]);
  return Number(stdout);
}

const OURS = {
  esm: "await import('exact-change')",
  cjs: "const { createRequire } = await import('node:module'); createRequire(process.cwd() + '/x.js')('exact-change')",
};
const THEIRS = {
  esm: "await Promise.all([import('@x402/fetch'), import('@x402/svm/exact/client')])",
  cjs: "const { createRequire } = await import('node:module'); const r = createRequire(process.cwd() + '/x.js'); r('@x402/fetch'); r('@x402/svm/exact/client')",
};

/**
 * Import time of the built package beside the official client's (`@x402/fetch` with `@x402/svm`).
 */
export async function importTime(): Promise<string[]> {
  const rows: string[] = [];
  for (const format of ['esm', 'cjs'] as const) {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      ours.push(await once(OURS[format]));
      theirs.push(await once(THEIRS[format]));
    }
    rows.push(row(`import, ${format}, median of ${RUNS}`, median(ours), median(theirs)));
  }
  return rows;
}
