import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { plain } from './spec/plain.js';
import { tables } from './spec/tables.js';
import { vectors } from './spec/vectors.js';

// Writes `spec/`: tables and test vectors that both languages use, made from the TypeScript code.
// With `--check` it writes nothing, and fails if a file differs from the code.
const root = fileURLToPath(new URL('../spec/', import.meta.url));

const files = new Map<string, string>();
for (const [name, make] of Object.entries(tables))
  files.set(name, `${JSON.stringify(plain(make()), undefined, 1)}\n`);
for (const [name, make] of Object.entries(vectors)) {
  const rows = (await make()).map((row) => `${JSON.stringify(plain(row))}\n`);
  files.set(`vectors/${name}`, rows.join(''));
}

function read(name: string): string | undefined {
  try {
    return readFileSync(root + name, 'utf8');
  } catch {
    return undefined;
  }
}

if (process.argv.includes('--check')) {
  const known = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const stray = known.filter((name) => /\.jsonl?$/.test(name) && !files.has(name));
  const stale = [...files].filter(([name, text]) => read(name) !== text).map(([name]) => name);
  for (const name of stale) console.log(`spec/${name} is not what the code says.`);
  for (const name of stray) console.log(`spec/${name} is made by nothing.`);
  if (stale.length + stray.length > 0) console.log('Write it anew: npx tsx scripts/spec.ts');
  process.exitCode = stale.length + stray.length === 0 ? 0 : 1;
} else {
  mkdirSync(`${root}vectors`, { recursive: true });
  for (const [name, text] of files) writeFileSync(root + name, text);
  const rows = [...files].filter(([name]) => name.startsWith('vectors/'));
  const count = rows.reduce((sum, [, text]) => sum + text.split('\n').length - 1, 0);
  console.log(`${files.size} files, ${count} vectors`);
}
