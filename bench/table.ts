/** Measured values of a row. */
export interface Figure {
  /** Value of this client in the row's unit, or a word. */
  readonly ours: number | string;
  /** Value of the other side. */
  readonly other?: number;
  /** Value of only the two requests of a payment, with a prepared header. */
  readonly floor?: number;
  /** Median of the ratios of pairs; default: `ours` divided by `other`. */
  readonly ratio?: number;
  /** Text that is printed behind the row. */
  readonly note?: string;
}

interface Row {
  readonly name: string;
  readonly unit: string;
  /** Name of the other side. */
  readonly than?: string;
  readonly goal?: Goal;
}

type Goal = `${'ratio' | 'ours'} ${'<=' | '>=' | '='} ${string}`;

/** Rows of each group, in the printed order. */
export const ROWS = {
  payments: {
    warm: row('warm, 40 ms to the node: outside the legs', 'ms', 'official', 'ratio <= 0.12'),
    sparse: row('one every 3 s, 40 ms to the node: total', 'ms', 'official', 'ratio <= 0.5'),
    cpu: row('CPU of a payment', 'ms', 'official', 'ratio <= 0.7'),
    presign: row('presigned, seller 50 ms away: total', 'ms', 'own warm', 'ratio <= 0.65'),
  },
  crowd: {
    blockhashes: row('1,000 at once: getLatestBlockhash', 'calls', 'official', 'ours <= 3'),
    minute: row('1,000 in a minute: all calls of the node', 'calls', 'official', 'ours <= 100'),
    rate: row('1,000 at once: payments', '/s', 'official', 'ratio >= 1.2'),
    stall: row('1,000 at once: longest stall of the loop', 's', 'official', 'ours <= 0.3'),
  },
  growth: {
    cpu: row('CPU of the 10,000th payment to one URL', 'ms', 'first', 'ratio <= 1.05'),
    real: row('heap grown by 10,000 payments, all of it', 'MB'),
  },
  memory: {
    blocked: row('up to 100,000 attempts: the loop blocked', 'ms', undefined, 'ours <= 1'),
    hundred: row('heap grown by 100,000 payments of a day', 'MB', undefined, 'ours <= 60'),
  },
  day: {
    million: row('heap grown by 1,000,000 payments of a day', 'MB', undefined, 'ours <= 200'),
    flat: row('24 h of 1,000 a minute: heap', 'MB', 'at noon', 'ratio <= 1.1'),
    sums: row('24 h of 1,000 a minute: sums', '', undefined, 'ours = exact'),
  },
  load: {
    fresh: row('fresh process to the first paid answer', 'ms', 'official', 'ratio <= 0.9'),
    freshCpu: row('its CPU', 'ms', 'official'),
    esm: row('import, ES modules', 'ms', 'official'),
    cjs: row('import, CommonJS', 'ms', 'official'),
    first: row('browser: first load, gzip', 'kB', 'official', 'ours <= 20'),
    paying: row('browser: all that paying loads, gzip', 'kB', 'official', 'ours <= 46'),
  },
  swap: {
    trips: row('swap and pay', 'ms', 'needed trips', 'ratio <= 1.1'),
  },
  free: {
    get: row('a free GET', 'ms', 'plain fetch', 'ratio <= 1.03'),
    text: row('a free POST of 1 MB: a string', 'ms', 'plain fetch', 'ratio <= 1.05'),
    bytes: row('a free POST of 1 MB: bytes', 'ms', 'plain fetch', 'ratio <= 1.05'),
  },
  postgres: {
    trips: row('Postgres: serial round trips of a payment', '', undefined, 'ours <= 4'),
    statements: row('Postgres: statements of a payment', '', undefined, 'ours <= 6'),
  },
  file: {
    syncs: row('file journal: syncs before the answer', '', undefined, 'ours <= 1'),
    open: row('file journal: CPU to open 100,000 attempts', 's', undefined, 'ours <= 1'),
    rate: row('file journal: payments by 4 processes', '/s', 'one process', 'ratio >= 1'),
    caps: row('file journal: caps of 4 processes', '', undefined, 'ours = exact'),
  },
  service: {
    build: row('service: CPU of a build', 'ms', 'bare server', 'ours <= 8'),
    autoPay: row('service: CPU of an auto-pay with swap', 'ms', 'bare server', 'ours <= 8'),
  },
  command: {
    help: row('installed command: first output of --help', 'ms', 'bare node', 'ours <= 200'),
    fetch: row('a fetch of what is free: the answer', 'ms', 'bare node'),
  },
  code: {
    small: row('firewall rules, smallest swap', 'µs', 'web3.js decode'),
    middle: row('firewall rules, middle swap', 'µs', 'web3.js decode'),
    large: row('firewall rules, largest swap', 'µs', 'web3.js decode'),
    warmFiles: row('a warm payment: files entered', ''),
    warmHops: row('a warm payment: hops between files', ''),
    swapFiles: row('a swap and its payment: files entered', ''),
    swapHops: row('a swap and its payment: hops', ''),
  },
} as const;

export type Group = keyof typeof ROWS;
/** Figures of a group, by the keys of its rows. */
export type Figures<G extends Group> = Readonly<Record<keyof (typeof ROWS)[G], Figure>>;

function row(name: string, unit: string, than?: string, goal?: Goal): Row {
  return { name, unit, ...(than && { than }), ...(goal && { goal }) };
}

const WIDTHS = [46, 12, 12, 16, 10, 7, 16, 9];

export function header(): string {
  return cells(['', 'ours', 'other', 'than', 'floor', 'ratio', 'goal', 'reached']);
}

export function line({ name, unit, than, goal }: Row, figure: Figure): string {
  const { ours, other, floor, note } = figure;
  const ratio =
    figure.ratio ?? (typeof ours === 'number' && other !== undefined ? ours / other : undefined);
  return cells([
    name,
    shown(ours, unit),
    shown(other, unit),
    than ?? '',
    shown(floor, unit),
    ratio?.toFixed(2) ?? '',
    goal ?? '',
    goal === undefined ? '' : isReached(goal, ours, ratio) ? 'yes' : 'NO',
    ...(note === undefined ? [] : [`  ${note}`]),
  ]);
}

function isReached(goal: Goal, ours: number | string, ratio: number | undefined): boolean {
  const [of, sign, bound] = goal.split(' ');
  const value = of === 'ratio' ? ratio : ours;
  if (sign === '=') return value === bound;
  if (typeof value !== 'number') return false;
  return sign === '<=' ? value <= Number(bound) : value >= Number(bound);
}

function shown(value: number | string | undefined, unit: string): string {
  if (typeof value !== 'number') return value ?? '';
  const digits = Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`.trim();
}

function cells(texts: readonly string[]): string {
  return texts
    .map((text, at) => (at === 0 ? text.padEnd(WIDTHS[0]!) : text.padStart(WIDTHS[at] ?? 0)))
    .join('')
    .trimEnd();
}
