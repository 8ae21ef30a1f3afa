import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { importsOf, type Files, type Import } from './modules.js';

/**
 * The parts of src/, lowest first. A part imports itself and lower rows, never a part of its own
 * row.
 */
const ROWS: readonly (readonly string[])[] = [
  ['internal', 'errors', 'amount', 'network', 'token-text'],
  ['solana'],
  ['protocols', 'swaps'],
  ['transport', 'receipt'],
  ['policy', 'events', 'wire', 'receipt-text'],
  ['journal', 'outbox'],
  ['config'],
  ['payments'],
  ['service', 'inspect-engine'],
  ['client', 'inspect', 'memory-journal'],
  ['interceptor', 'parts'],
  ['create-client'],
  ['index'],
];

/** Rows with parts that may import each other. */
const SHARED_ROWS = [0, 5];

/** The composition root: only these files may import the adapters in `COMPOSED`. */
const ROOTS = /^src\/(index|parts|create-client)\.ts$/;
const COMPOSED = new Set([
  'adapters/debug.ts',
  'adapters/local/index.ts',
  'adapters/local/lazily.ts',
  'adapters/remote/index.ts',
  'adapters/remote/lazily.ts',
]);

/** Modules that are too heavy for the static imports of a root file. */
const LOADS: readonly { readonly root: string; readonly heavy: RegExp; readonly why: string }[] = [
  {
    root: 'src/index.ts',
    heavy:
      /^(@solana\/(web3\.js|spl-token)|@jup-ag\/api|ky|valibot|pg|pg-boss|standardwebhooks)(\/|$)/,
    why: 'the first import of the package would load it',
  },
  {
    root: 'src/parts.ts',
    heavy:
      /^(@solana\/(web3\.js|spl-token)|@jup-ag\/api|ky|valibot|ws|src\/swaps|src\/service\/(?!closed))(\/|$)?/,
    why: 'a payment without a swap would load it',
  },
  {
    root: 'adapters/remote/operations.ts',
    heavy: /^(@solana\/(web3\.js|spl-token)|@jup-ag\/api)(\/|$)/,
    why: 'the first call of a service would load it',
  },
];

/** The folders that may import a package, and whether a single file may. */
const DOORS: readonly { readonly name: RegExp; readonly where: RegExp; readonly once: boolean }[] =
  [
    { name: /^@jup-ag\/api(\/|$)/, where: /^src\/swaps\//, once: true },
    { name: /^@solana\/(web3\.js|spl-token)(\/|$)/, where: /^src\/solana\//, once: false },
    { name: /^ky(\/|$)/, where: /^src\//, once: true },
    {
      name: /^(@valibot\/to-json-schema|valibot)(\/|$)/,
      where: /^(src\/wire|adapters\/ai)\//,
      once: false,
    },
    { name: /^@noble\/ed25519(\/|$)/, where: /^src\/solana\//, once: true },
    { name: /^ws(\/|$)/, where: /^(src\/solana\/rpc|adapters\/sandbox)\//, once: true },
    { name: /^@opentelemetry\//, where: /^adapters\/otel\//, once: false },
    { name: /^standardwebhooks(\/|$)/, where: /^adapters\/webhooks\/signature\.ts$/, once: true },
    // `buffer` is a module of Node and an npm package. Both export the class that web3.js and
    // spl-token need.
    { name: /^buffer\/?$/, where: /^src\/solana\//, once: false },
  ];

/**
 * Files that the wire may load. The wire describes the rest of the code by its types alone.
 */
const LEAVES_OF_THE_WIRE =
  /^src\/(wire\/|(errors|errors\/(codes|of-code)|internal\/(options|parse)|amount|network|solana\/address)\.ts$)/;

/**
 * The command uses the library by its package name, as any program does. So it shares built files
 * and does not change how they are split. Only small parts are its own.
 */
const COMMAND = /^adapters\/cli\//;
const PARTS_OF_THE_COMMAND =
  /^src\/(internal\/|(amount|network|token-text|config\/addresses|payments\/plan\/keep-lamports)\.ts$|solana\/(address|keys|programs|transactions\/compile)\.ts$)/;

/** Code that must share no code with src/, so that it cannot share a mistake. */
const INDEPENDENT = /^(adapters\/sandbox|test\/(fixtures|builders|corpus))\//;

/**
 * Protocols are behind a port: payment code knows `PaymentProtocol`, not x402. The service knows
 * x402, because its routes name it.
 */
const PROTOCOL = /^src\/protocols\/[^/]+\//;
const KNOWS_A_PROTOCOL = /^src\/(protocols\/|service\/|(index|parts|create-client)\.ts$)/;

/** Sources of swaps are behind a port: only the list of sources knows each source. */
const SOURCE = /^src\/swaps\/jupiter\//;
const KNOWS_A_SOURCE = /^src\/swaps\/(jupiter\/|sources\.ts$)/;

/** Folders that lie below others of their part, so they never import those. */
const LOWER_FOLDERS: readonly {
  readonly from: RegExp;
  readonly to: RegExp;
  readonly why: string;
}[] = [
  {
    from: /^src\/payments\/plan\//,
    to: /^src\/payments\/execute\//,
    why: 'a plan only reads',
  },
  {
    from: /^src\/swaps\/accounts\//,
    to: /^src\/swaps\/(firewall|transaction)\//,
    why: 'firewall and transaction lie above accounts',
  },
  {
    from: /^src\/swaps\/firewall\//,
    to: /^src\/swaps\/transaction\//,
    why: 'transaction lies above firewall',
  },
];

interface Arrow extends Import {
  readonly from: string;
  /** The imported file, for a relative import. */
  readonly to: string | undefined;
}

/**
 * Returns a sentence for every import between files, or of a package, that the layout forbids.
 */
export function violations(files: Files): string[] {
  const arrows = [...files].flatMap(([from, text]) =>
    importsOf(from, text).map((found): Arrow => ({
      ...found,
      from,
      to: target(from, found.specifier),
    })),
  );
  return [
    ...arrows.flatMap((arrow) => badArrow(arrow)),
    ...secondDoors(arrows),
    ...LOADS.flatMap((load) => heavyLoad(arrows, load)),
    ...circles(arrows),
  ].sort();
}

function target(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(from), specifier).replace(/\.(m?)js$/, '.$1ts');
}

function badArrow({ from, to, specifier, kind }: Arrow): string[] {
  const bad = (why: string) => [`${from} imports ${specifier}: ${why}`];
  if (
    INDEPENDENT.test(from) &&
    (to?.startsWith('src/') === true || /^exact-change(\/|$)/.test(specifier))
  )
    return bad('it must not share code with src/');
  if (from.startsWith('examples/')) {
    const own = to?.startsWith('examples/') ?? true;
    return own ? [] : bad('examples use the package by its name');
  }
  if (COMMAND.test(from) && kind !== 'type' && to !== undefined) {
    const isOwn =
      COMMAND.test(to) ||
      /^(adapters\/(receipts\/|(amounts|http\/secrets|node\/(variables|key-file|key-shapes))\.ts$)|package\.json$)/.test(
        to,
      );
    return isOwn || PARTS_OF_THE_COMMAND.test(to)
      ? []
      : bad('the command uses the library by its name');
  }
  if (!from.startsWith('src/')) return to === undefined ? badPackage(from, specifier, bad) : [];
  if (to === undefined)
    return isBuiltin(specifier)
      ? bad('src/ runs outside Node too')
      : badPackage(from, specifier, bad);
  if (!/\.js$/.test(specifier)) return bad('relative imports end in .js');
  if (!to.startsWith('src/'))
    return ROOTS.test(from) && COMPOSED.has(to) ? [] : bad('src/ does not know the edges');
  if (from.startsWith('src/wire/') && kind !== 'type' && !LEAVES_OF_THE_WIRE.test(to))
    return bad('the wire knows types and leaves only');
  if (PROTOCOL.test(to) && !KNOWS_A_PROTOCOL.test(from))
    return bad('it knows protocols by src/protocols/protocol.ts alone');
  if (SOURCE.test(to) && !KNOWS_A_SOURCE.test(from))
    return bad('it knows sources of swaps by src/swaps/provider.ts alone');
  const above = LOWER_FOLDERS.find((folders) => folders.from.test(from) && folders.to.test(to));
  if (above !== undefined) return bad(above.why);
  return badLayer(from, to, bad);
}

function badPackage(from: string, specifier: string, bad: (why: string) => string[]): string[] {
  // The rules bind the library only; the sandbox and the tests import packages freely.
  if (!/^(src|adapters)\//.test(from)) return [];
  const door = DOORS.find(({ name }) => name.test(specifier));
  return door === undefined || door.where.test(from)
    ? []
    : bad(`only ${door.where.source.replace(/[\\^]/g, '')} may`);
}

function isBuiltin(specifier: string): boolean {
  return (
    specifier !== 'buffer' && (specifier.startsWith('node:') || builtinModules.includes(specifier))
  );
}

function badLayer(from: string, to: string, bad: (why: string) => string[]): string[] {
  const [source, goal] = [part(from), part(to)];
  const [row, goalRow] = [rowOf(source), rowOf(goal)];
  if (row === -1 || goalRow === -1)
    return bad(`${row === -1 ? source : goal} has no place among the parts of src/`);
  if (source === goal || goalRow < row || (goalRow === row && SHARED_ROWS.includes(row))) return [];
  return bad(
    goalRow === row ? `${source} and ${goal} are neighbours` : `${goal} lies above ${source}`,
  );
}

function part(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

function rowOf(name: string): number {
  return ROWS.findIndex((row) => row.includes(name));
}

function secondDoors(arrows: readonly Arrow[]): string[] {
  return DOORS.filter(({ once }) => once).flatMap(({ name }) => {
    const doors = new Set(
      arrows
        .filter(({ from, specifier }) => from.startsWith('src/') && name.test(specifier))
        .map(({ from }) => from),
    );
    return doors.size < 2
      ? []
      : [
          `${[...doors].sort().join(' and ')} import ${name.source.replace(/\(.*$|[\\^]/g, '')}: one of them may`,
        ];
  });
}

function heavyLoad(
  arrows: readonly Arrow[],
  { root, heavy, why }: (typeof LOADS)[number],
): string[] {
  const loads = arrows.filter(({ kind }) => kind === 'static');
  const loaded = new Set([root]);
  // A Set iterates in insertion order, and includes files that are added meanwhile.
  for (const file of loaded) {
    for (const { from, to } of loads) if (from === file && to !== undefined) loaded.add(to);
  }
  return loads
    .filter(({ from, to, specifier }) => loaded.has(from) && heavy.test(to ?? specifier))
    .map(({ from, specifier }) => `${from} imports ${specifier}: ${why}`);
}

/**
 * Finds files that import each other, by types too: no such file can be read first. Dynamic imports
 * are exempt, because a light part loads a heavy part by them.
 */
function circles(arrows: readonly Arrow[]): string[] {
  const goals = new Map<string, Set<string>>();
  for (const { from, to, kind } of arrows) {
    if (to === undefined || kind === 'dynamic' || !/^(src|adapters)\//.test(from)) continue;
    goals.set(from, (goals.get(from) ?? new Set()).add(to));
  }
  // A file that imports none of the rest, or that none of the rest imports, is in no circle.
  for (let size = -1; size !== goals.size;) {
    size = goals.size;
    const reached = new Set([...goals.values()].flatMap((to) => [...to]));
    for (const [from, to] of goals)
      if (!reached.has(from) || ![...to].some((goal) => goals.has(goal))) goals.delete(from);
  }
  return goals.size === 0
    ? []
    : [`${[...goals.keys()].sort().join(', ')}: some of them import each other in a circle`];
}
