// Builds the documentation site into docs/site/.vitepress/dist: `npm run docs:site`.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks } from './check-links.js';
import { gatherPages, SITE } from './gather.js';

const npm = (...args: readonly string[]) =>
  execFileSync('npm', args, { cwd: SITE, stdio: 'inherit' });

console.log(`${gatherPages().length} files of the repository are pages.`);
if (!existsSync(join(SITE, 'node_modules/vitepress'))) npm('ci', '--no-audit', '--no-fund');
npm('run', '--silent', 'build');
const broken = brokenLinks(join(SITE, '.vitepress/dist'));
for (const link of broken) console.error(link);
if (broken.length > 0) process.exitCode = 1;
