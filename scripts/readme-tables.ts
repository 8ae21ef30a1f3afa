import { readFileSync, writeFileSync } from 'node:fs';
import { documents, withTables } from './tables.js';

/** Writes the tables of README.md and SECURITY.md that come from the code. Run `npm run format` after it. */
for (const document of documents) {
  const path = new URL(`../${document}`, import.meta.url);
  writeFileSync(path, withTables(document, readFileSync(path, 'utf8')));
}
