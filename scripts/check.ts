import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Runs every `check:*` script of package.json, two at a time, also after one has failed, and says
 * how each ended.
 */
const LANES = 2;

/** Syntax trees and types live long: with the default of 16 MB, Node copies them about all the time. */
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
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  return new Promise((resolve) => {
    child.on('close', (status) => {
      const passed = status === 0;
      console.log(`${passed ? 'ok  ' : 'FAIL'} ${name}`);
      if (!passed) console.log(said.trimEnd().replace(/^/gm, '     '));
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
