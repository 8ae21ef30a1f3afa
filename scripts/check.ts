import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Runs every `check:*` script of package.json, also after one has failed, and says how each ended.
 */
const { scripts } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { scripts: Record<string, string> };
const names = Object.keys(scripts).filter((name) => name.startsWith('check:'));

const failed = names.filter((name) => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', name], {
    encoding: 'utf8',
  });
  const passed = status === 0;
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${name}`);
  if (!passed) console.log(`${stdout}${stderr}`.trimEnd().replace(/^/gm, '     '));
  return !passed;
});

console.log(`${names.length - failed.length} gates passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;
