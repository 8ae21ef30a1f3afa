import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { documents, withTables } from './tables.js';

// Writes the generated tables into the documentation, in the format that `npm run check` demands.
for (const document of documents) {
  const filepath = fileURLToPath(new URL(`../${document}`, import.meta.url));
  const text = withTables(document, readFileSync(filepath, 'utf8'));
  writeFileSync(filepath, await format(text, { ...(await resolveConfig(filepath)), filepath }));
}
