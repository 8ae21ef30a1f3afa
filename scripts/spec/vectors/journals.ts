import { readCurrent } from '../../../adapters/journals/file/current.js';
import type { OpenFile } from '../../../adapters/journals/file/disk.js';
import { encodeHeader } from '../../../adapters/journals/file/header.js';
import { encodeLine, readLine } from '../../../adapters/journals/file/line.js';
import { Damage } from '../../../adapters/journals/file/scan.js';
import { spentNamesOf } from '../../../adapters/journals/file/spent-names.js';
import type { ProcessId } from '../../../adapters/journals/log/process-id.js';
import type { FileRecord } from '../../../adapters/journals/log/records.js';
import { linesOf, snapshotOf } from '../../../adapters/journals/log/snapshot.js';
import { accountOf, type State } from '../../../adapters/journals/log/state.js';
import { columnsOf } from '../../../adapters/journals/postgres/attempt-rows.js';
import { capValues } from '../../../adapters/journals/postgres/caps.js';
import { digest, lockKey } from '../../../adapters/journals/postgres/keys.js';
import { lockName } from '../../../adapters/journals/shared-locks.js';
import { withTexts } from '../../../adapters/journals/balance-json.js';
import { FROM_SERVICE } from '../../../src/journal/attempt-names.js';
import { eventsOf } from '../../../src/outbox/notices.js';
import type { Attempt } from '../../../src/journal/types.js';
import { takenOf } from '../../../src/policy/caps.js';
import { attemptOf, fullAttemptOf, NOW } from '../../../test/helpers/attempts.js';
import { createRandom, type Random } from '../../../test/simulation/random.js';
import { CAPS, drawAttempt, moved } from './journal.js';

const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const OWNERS = ['w1', 'w2'].map((wallet) => ({ wallet, network: 'network' }));
const PROCESSES = ['1', '2', '3'].map((digit) => digit.repeat(32));
const recent = 4;
const archive = { recall: () => fullAttemptOf(), past: [], recent };

const seatOf = (id: string): ProcessId => ({
  ...{ id, pid: Number(id[0]), start: 'boot 7', host: 'host', kernel: 'boot' },
  ...{ volume: 'local ef53', sign: `.${id}.sock` },
});
const endpoint = {
  ...{ id: 'e', url: 'https://h.test/', caller: 'me', events: ['payment.settled'] as const },
  ...{ secrets: [{ secret: 'whsec_AA==' }], createdAt: NOW },
};

/** Draws the records that a process writes in a step. */
function draw(random: Random, known: Attempt[], at: number): FileRecord[] {
  const earlier = known.length === 0 ? undefined : random.pick(known);
  const account = random.pick(['a', 'b']);
  const change = (step: object): FileRecord => ({ balance: ['w1', 'network', account, step] });
  const id = earlier?.id ?? 'none';
  const put = (attempt: Attempt): FileRecord => {
    const before = known.findIndex((other) => other.id === attempt.id);
    if (before === -1) known.push(attempt);
    else known[before] = attempt;
    return { put: attempt };
  };
  const name = JSON.stringify(['w1', 'network', random.pick(['mint m', 'swap é 汉'])]);
  return random.pick<() => FileRecord[]>([
    () => [put(json(drawAttempt(random, `id-${at}`))), { claim: [`id-${at}`] }],
    () => [put(json(drawAttempt(random, `id-${at}`)))],
    () => (earlier === undefined ? [] : [put(json(moved(random, earlier)))]),
    () => (earlier === undefined ? [] : [put(json({ ...moved(random, earlier), delivered: true }))]),
    () => {
      if (earlier !== undefined) known.splice(known.indexOf(earlier), 1);
      return [{ release: id }, { drop: [id] }];
    },
    () => [change({ see: { amount: '90', at: NOW + at, slot: at }, moved: '-3' })],
    () => [change({ hold: id, amount: String(random.int(0, 50)) })],
    () => [change({ spend: id, slot: at })],
    () => [change({ release: id })],
    () => [{ lock: name }],
    () => [{ unlock: name }],
    () => [{ count: [JSON.stringify(['w1', 'network', 'hash']), at] }],
    () => [{ gone: random.pick(PROCESSES) }],
    () => [{ endpoint }, { taken: [NOW + at, 'job'] }],
    () => [
      { made: 100 + at },
      {
        spent: {
          ...{ wallet: 'w1', network: 'network', host: 'a.test', payTo: 'p1', mint: 'mint' },
          spent: { USD: [[NOW - 5_000, NOW - 4_000, '77']] },
        },
      },
      { keys: { wallet: 'w1', network: 'network', keys: [['k3', 12, NOW]] } },
    ],
  ])();
}

/** Returns the answers of a journal with this state. */
function answersOf(state: State, now: number) {
  return {
    attempts: OWNERS.map((owner) =>
      [...state.attempts.attempts(owner)].map((attempt) => [attempt.id, attempt.state]),
    ),
    used: OWNERS.map((owner) => state.attempts.used(owner, CAPS, now)),
    found: OWNERS.map((owner) => state.attempts.similar(owner, 'f1', undefined).map(({ id }) => id)),
    claims: [...state.claims].map(([id, by]) => [id, [...by].sort()]),
    locks: [...state.locks],
    counts: [...state.counts],
    seats: [...state.seats.keys()],
    balances: [...state.balances].map(([name, balance]) => [...accountOf(name), withTexts(balance)]),
    history: state.history,
    sealedBy: state.sealedBy ?? null,
    outbox: state.outbox.content().length,
  };
}

function fileOf(bytes: Buffer): OpenFile {
  const refuse = (): never => {
    throw new Error('It is only read.');
  };
  return {
    ...{ id: () => ({ device: 0n, inode: 0n }), names: () => 1, size: () => bytes.length },
    ...{ append: refuse, truncate: refuse, makePrivate: refuse, sync: refuse, close: () => undefined },
    read: (into, position) => bytes.copy(into, 0, position),
  };
}

async function read(bytes: Buffer, now: number) {
  try {
    const current = await readCurrent(fileOf(bytes), archive);
    return { end: current.scanner.end, says: answersOf(current.state, now), state: current.state };
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    return { damage: error.offset };
  }
}

/** Returns the bytes as a crash, a power failure or a disk error may leave them. */
function spoiled(random: Random, bytes: Buffer): Buffer {
  const at = random.int(0, bytes.length - 1);
  return random.pick<() => Buffer>([
    () => bytes.subarray(0, at),
    () => bytes.subarray(0, bytes.length - random.int(0, 60)),
    () => Buffer.concat([bytes, bytes.subarray(bytes.lastIndexOf('\n'))]),
    () => Buffer.concat([bytes, Buffer.alloc(random.int(1, 40))]),
    () => Buffer.concat([bytes.subarray(0, at), Buffer.alloc(20), bytes.subarray(at + 20)]),
    () => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << random.int(0, 7));
      return changed;
    },
    () => {
      const line = bytes.indexOf('\n', at);
      const half = bytes.subarray(line, line + random.int(1, 12));
      return line === -1
        ? bytes
        : Buffer.concat([bytes.subarray(0, line), half, bytes.subarray(line)]);
    },
  ])();
}

async function files(): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let index = 0; index < 36; index += 1) {
    const random = createRandom(`spec/journals/${index}`);
    const known: Attempt[] = [];
    const whole = index % 3 === 0 ? random.int(0, 900) : 0;
    let bytes = encodeHeader(0);
    const lines = PROCESSES.map((id): [string, FileRecord] => [id, { seat: seatOf(id) }]);
    for (const [id, seat] of lines)
      bytes = Buffer.concat([bytes, encodeLine(bytes.length, JSON.stringify([id, seat]))]);
    let end = bytes.length;
    for (let at = 0; at < 12; at += 1) {
      // A late line lost a race: its process had not read the last line.
      const isLate = random.chance(0.1);
      const synced = random.chance(0.2) ? [{ synced: end }] : [];
      const line = [random.pick(PROCESSES), ...synced, ...draw(random, isLate ? [] : known, at)];
      bytes = Buffer.concat([bytes, encodeLine(isLate ? end - 10 : end, JSON.stringify(line))]);
      if (!isLate) end = bytes.length;
    }
    bytes = Buffer.concat([encodeHeader(whole), bytes.subarray(82)]);
    const now = NOW + random.int(0, 90_000_000);
    const sound = await read(bytes, now);
    const { state, ...out } = sound as { readonly state?: State };
    rows.push({ of: 'file', bytes: base64(bytes), now, out });
    if (state !== undefined) rows.push(anewOf(bytes, now, state));
    for (let time = 0; time < 4; time += 1) {
      const broken = spoiled(random, bytes);
      const { state: _state, ...found } = (await read(broken, now)) as { readonly state?: State };
      rows.push({ of: 'file', bytes: base64(broken), now, out: found });
    }
  }
  return rows;
}

function anewOf(bytes: Buffer, now: number, state: State): unknown {
  const snapshot = snapshotOf(state, now);
  const places = snapshot.closed.map((_, place) => place);
  const names = spentNamesOf(snapshot.closed, places);
  return { of: 'anew', bytes: base64(bytes), now, out: linesOf(snapshot, names, 9) };
}

/**
 * A file with payments of a service, which are found by their fingerprints once they are over, and
 * with one of `client.pay`, which is not.
 */
async function ofOthers(): Promise<unknown> {
  const { payment } = fullAttemptOf();
  const puts = Array.from({ length: recent + 5 }, (_, at) => ({
    put: attemptOf({
      ...{ id: `id-${at}`, wallet: 'w1' },
      fingerprint: at === 3 ? `id-${at}` : `${FROM_SERVICE}payment ${at}`,
      state: at === 1 ? 'unsettled' : at === 2 ? 'unpaid' : 'settled',
      ...(at === 0 ? { idempotencyKey: 'k1' } : {}),
      ...(at === 2 ? {} : { payment }),
    }),
  }));
  const line = encodeLine(encodeHeader(0).length, JSON.stringify([PROCESSES[0], ...puts]));
  const bytes = Buffer.concat([encodeHeader(0), line]);
  const { state } = await readCurrent(fileOf(bytes), archive);
  return anewOf(bytes, NOW, state);
}

function lines(): unknown[] {
  const texts = ['[]', '["é 汉 🪙\\n"]', JSON.stringify([PROCESSES[0], { put: fullAttemptOf({ id: 'id' }) }])];
  return texts.flatMap((text, index) => {
    const random = createRandom(`spec/lines/${index}`);
    const line = encodeLine(82 + index, text);
    const written = { of: 'line', after: 82 + index, json: text, bytes: base64(line) };
    const others = Array.from({ length: 30 }, () => spoiled(random, line));
    const readings = others.flatMap((bytes) =>
      [true, false].map((isLast) => ({
        of: 'reading',
        bytes: base64(bytes),
        isLast,
        out: readLine(bytes, isLast),
      })),
    );
    return [written, ...readings];
  });
}

function events(): unknown[] {
  return Array.from({ length: 100 }, (_, index) => {
    const random = createRandom(`spec/events/${index}`);
    const more = {
      ...(index < 60 ? {} : { fingerprint: `${FROM_SERVICE}payment` }),
      id: random.pick(['plain-1', 'é 汉 \ud800', 'x'.repeat(120)]),
      url: random.pick(['https://u:p@api.test:8443/a/b?k=1#f', 'http://a.test', 'nonsense']),
      method: random.pick(['GET', 'M'.repeat(80)]),
      ...(index < 80 ? {} : { url: 'top-up:mint?k=1#f', amount: '0' }),
    };
    const before = json({ ...fullAttemptOf(more), ...drawnState(random) });
    const after = random.chance(0.2) ? undefined : json({ ...before, ...drawnState(random) });
    return { of: 'events', before, after, now: NOW + index, out: eventsOf(before, after, NOW) };
  });
}

function drawnState(random: Random): Partial<Attempt> {
  const swap = fullAttemptOf().swap!;
  const outcome = random.pick([
    { state: 'failed', code: 'swap_expired' },
    { state: 'confirmed', inAmount: '1', outAmount: '2', feeLamports: '5000' },
    null,
  ] as const);
  return {
    state: random.pick(['reserved', 'abandoned', 'unpaid', 'signed', 'settled', 'unsettled']),
    doubt: random.chance(0.5) ? 'payment_uncertain' : undefined,
    swap: json({ ...swap, outcome: outcome ?? undefined }),
  } as Partial<Attempt>;
}

/** Vectors of the names and rows that the Postgres journal writes. */
function rows(): unknown[] {
  const texts = ['', 'a', 'é 汉 🪙', '"\\\n\u0000', '\ud800 half'];
  const names = texts.map((text) => ({
    of: 'names',
    text,
    digest: digest(text, 'x'),
    key: lockKey('schema', 'lock', text),
    lock: lockName({ wallet: text, network: 'n' }, text),
  }));
  const drawn = Array.from({ length: 60 }, (_, index) => {
    const random = createRandom(`spec/rows/${index}`);
    const attempt = json(moved(random, drawAttempt(random, texts[index % 5] ?? '')));
    const costs = CAPS.map((cap) => ({ cap, cost: takenOf(cap, attempt) }));
    const values = capValues(costs, attempt.at).map((list) =>
      (list as unknown[]).map((value) => (value === -Infinity ? 'never' : value)),
    );
    return { of: 'row', attempt, columns: columnsOf(attempt), caps: CAPS, values };
  });
  return [...names, ...drawn];
}

/** Vectors of journals: lines, sound and spoiled files, rows of Postgres, and events. */
export async function journals(): Promise<unknown[]> {
  return [...lines(), ...(await files()), await ofOthers(), ...rows(), ...events()];
}
