// `npm run bench [-- <group> ...]` compares this client with the official client, and with the best
// possible result. Compare only the ratios between machines.
import { buildLibrary } from './build.js';
import { code } from './code.js';
import { command } from './command.js';
import { crowd } from './crowd.js';
import { free } from './free.js';
import { day, growth, memory } from './growth.js';
import { file, postgres } from './journals.js';
import { load } from './load.js';
import { payments } from './payments.js';
import { service } from './service/cpu.js';
import { swap } from './swap.js';
import { type Figure, type Figures, type Group, header, line, ROWS } from './table.js';

const GROUPS: { readonly [G in Group]: () => Promise<Figures<G>> } = {
  payments,
  crowd,
  growth,
  memory,
  day,
  load,
  swap,
  free,
  postgres,
  file,
  service,
  command,
  code,
};

const isGroup = (name: string): name is Group => name in GROUPS;
const names = Object.keys(GROUPS).filter(isGroup);
const groups = process.argv.slice(2);
const unknown = groups.filter((name) => !isGroup(name));
if (unknown.length > 0) {
  process.stderr.write(`No group ${unknown.join(', ')}. There are: ${names.join(', ')}.\n`);
  process.exit(1);
}

await buildLibrary();
process.stdout.write(`${header()}\n`);
for (const name of groups.length === 0 ? names : groups.filter(isGroup)) {
  const from = performance.now();
  const figures = await GROUPS[name]().catch((error: unknown) => {
    process.exitCode = 1;
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    return undefined;
  });
  const seconds = Math.round((performance.now() - from) / 1_000);
  process.stdout.write(`\n${name}, ${seconds} s\n`);
  const found = new Map<string, Figure>(Object.entries(figures ?? {}));
  for (const [key, row] of Object.entries(ROWS[name]))
    process.stdout.write(`${line(row, found.get(key) ?? { ours: 'failed' })}\n`);
}
// Exit explicitly, because a failed child process may still run.
process.exit();
