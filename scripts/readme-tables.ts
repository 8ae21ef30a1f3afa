import { readFileSync, writeFileSync } from 'node:fs';
import { withTables } from './tables.js';

/** Writes the tables of README.md that come from the code. Run `npm run format` after it. */
const path = new URL('../README.md', import.meta.url);
writeFileSync(path, withTables(readFileSync(path, 'utf8')));
