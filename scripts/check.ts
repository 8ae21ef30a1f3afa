import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Number of parallel runs. This script runs every `check:*` script of package.json, also after a
 * failure, and prints the result of each.
 */
const LANES = 2;

/** A larger semi-space, because with 16 MB Node often copies long-lived syntax trees and types. */
const env = {
  ...process.env,
  NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --max-semi-space-size=64`.trim(),
};

const { scripts } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { scripts: Record<string, string> };
const names = Object.keys(scripts).filter((name) => name.startsWith('check:'));

function passes(name: string): Promise<boolean> {
  const child = spawn('npm', ['run', '--silent', name], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve) => {
    child.on('close', (status) => {
      const passed = status === 0;
      console.log(`${passed ? 'ok  ' : 'FAIL'} ${name}`);
      if (!passed) console.log(output.trimEnd().replace(/^/gm, '     '));
      resolve(passed);
    });
  });
}

const waiting = [...names];
const failed: string[] = [];
async function work(): Promise<void> {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
    if (!(await passes(name))) failed.push(name);
}
await Promise.all(Array.from({ length: LANES }, work));

console.log(`${names.length - failed.length} gates passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;
