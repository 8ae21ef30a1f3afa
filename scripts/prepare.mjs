import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';

// npm packs a dependency from a git URL with `prepare` alone, and names what it packs; `npm ci` in
// a clone does not, and builds nothing.
if (process.env.npm_package_resolved !== undefined && !existsSync('dist')) {
  const { status } = spawnSync('npm run build', { shell: true, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
