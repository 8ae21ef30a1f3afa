import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';

// For a dependency from a git URL, npm runs only `prepare` and sets npm_package_resolved, so build
// here. `npm ci` in a clone does not set it, and builds nothing.
if (process.env.npm_package_resolved !== undefined && !existsSync('dist')) {
  const { status } = spawnSync('npm run build', { shell: true, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
