import { connect, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { buildLibrary } from './build.js';
import { startWorld } from './clients.js';
import { startService } from './service/cpu.js';
import { API_KEY, drawn, LOCAL, mixOf } from './service/mix.js';
import { openLoop, percentile, statuses, type Timed } from './service/open-loop.js';

// `npm run bench:sockets [-- --seconds 30 --sockets 1000]` sends good requests to the service's
// local endpoints, first alone, then during an attack from many sockets: headers and bodies a byte
// at a time, endless requests without a reader for the answers, bodies of 10 MB, and deeply nested
// JSON. A socket that is cut off reconnects. It prints the times of the good requests with their
// ratio, and the times after which attackers were cut off.

const { seconds, sockets } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    sockets: { type: 'string', default: '1000' },
  },
}).values;
const GOOD_PER_SECOND = 50;
const BYTE_MS = 1_000;
const CONNECTS_AT_ONCE = 100;

interface Attack {
  readonly name: string;
  /** Sends data on the socket until the service cuts it off. */
  readonly speak: (socket: Socket) => void;
}

const HEAD = `POST /api/x402/parse-payment HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: ${API_KEY}\r\nContent-Type: application/json\r\n`;
const TEN_MEGABYTES = 10_000_000;
const DEEP = '['.repeat(60_000);
const PAGES = 'GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(1_000);

const ATTACKS: readonly Attack[] = [
  {
    name: 'headers a byte at a time',
    speak: (socket) =>
      drip('GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nx-slow: ')(socket.resume()),
  },
  {
    name: 'a body a byte at a time',
    speak: (socket) => drip(`${HEAD}Content-Length: 60000\r\n\r\n`)(socket.resume()),
  },
  { name: 'answers that are not read', speak: (socket) => drip(PAGES)(socket.pause()) },
  {
    name: 'a body of 10 MB',
    speak: (socket) =>
      void (
        socket.resume().write(`${HEAD}Content-Length: ${TEN_MEGABYTES}\r\n\r\n`),
        flood(socket)
      ),
  },
  {
    name: 'JSON nested to the depths',
    speak: (socket) =>
      void socket.resume().write(`${HEAD}Content-Length: ${DEEP.length}\r\n\r\n${DEEP}`),
  },
];

/** Results of the sockets of an attack. */
interface Toll {
  opened: number;
  readonly livedMs: number[];
}

const say = (line: string) => process.stdout.write(`${line}\n`);
await buildLibrary();
const world = await startWorld();
const service = startService();
const url = await service.call('serve', world.rpcUrl, world.jupiterUrl, true);
const local = (await mixOf(world)).filter(({ shots }) =>
  shots.every(({ name }) => LOCAL.includes(name)),
);
const good = drawn(local, GOOD_PER_SECOND * Number(seconds));

await openLoop(url, good.slice(0, GOOD_PER_SECOND * 3), GOOD_PER_SECOND);
const quiet = await openLoop(url, good, GOOD_PER_SECOND);
const before = await service.usage();
const attack = startAttack(Number(sockets));
const attacked = await openLoop(url, good, GOOD_PER_SECOND);
const during = await service.usage();
attack.stop();
const after = await service.usage();
await Promise.all([service.end(), world.end()]);

say(
  `${sockets} sockets attack for ${seconds} s, while ${GOOD_PER_SECOND} good requests a second come`,
);
say(
  `${'good requests, ms'.padEnd(28)}${['p50', 'p99', 'max'].map((name) => name.padStart(10)).join('')}`,
);
const [alone, beside] = [row('alone', quiet), row('attacked', attacked)];
say(
  `${'ratio'.padEnd(28)}${beside.map((value, index) => (value / (alone[index] ?? 1)).toFixed(2).padStart(10)).join('')}`,
);
say(
  `RSS of the service: ${megabytes(before.rss)} before, ${megabytes(during.peak)} at most, ${megabytes(after.rss)} at last`,
);
say(
  `\n${'attack, seconds'.padEnd(28)}${['opened', 'cut off', 'median', 'longest', 'oldest open'].map((name) => name.padStart(12)).join('')}`,
);
for (const [name, { opened, livedMs }, oldestMs] of attack.tolls()) {
  const cells = [
    String(opened),
    String(livedMs.length),
    ...[percentile(livedMs, 0.5), Math.max(...livedMs), oldestMs].map(inSeconds),
  ];
  say(`${name.padEnd(28)}${cells.map((cell) => cell.padStart(12)).join('')}`);
}

/**
 * Writes the head, then a byte each second. The writes show that the socket was cut off, even if it
 * reads nothing.
 */
function drip(head: string): (socket: Socket) => void {
  return (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write('x'), BYTE_MS);
    socket.once('close', () => clearInterval(timer));
  };
}

/** Sends a whole body as fast as the service accepts it. */
function flood(socket: Socket): void {
  const chunk = Buffer.alloc(65_536, 0x78);
  let left = TEN_MEGABYTES;
  const more = () => {
    while (left > 0 && socket.writable) {
      left -= chunk.length;
      if (!socket.write(chunk.subarray(0, Math.min(chunk.length, left + chunk.length))))
        return void socket.once('drain', more);
    }
  };
  more();
}

/**
 * Keeps `count` attacking sockets open, shared equally between the attacks. It reopens a socket
 * that was cut off.
 */
function startAttack(count: number) {
  const tolls = new Map<Attack, Toll>(
    ATTACKS.map((attack) => [attack, { opened: 0, livedMs: [] }]),
  );
  const open = new Map<Socket, readonly [Attack, number]>();
  let stopped = false;
  let oldest = new Map<Attack, number>();

  const start = (attack: Attack): void => {
    if (stopped) return;
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const from = performance.now();
    const toll = tolls.get(attack)!;
    socket.on('error', () => undefined);
    socket.once('connect', () => {
      toll.opened += 1;
      open.set(socket, [attack, from]);
      attack.speak(socket);
    });
    socket.once('close', () => {
      if (stopped) return;
      open.delete(socket);
      toll.livedMs.push(performance.now() - from);
      setTimeout(() => start(attack), BYTE_MS);
    });
  };
  // Open the sockets in groups, because the system limits its queue of new connections.
  for (let at = 0; at < count; at += 1)
    setTimeout(() => start(ATTACKS[at % ATTACKS.length]!), Math.floor(at / CONNECTS_AT_ONCE) * 100);

  return {
    stop() {
      stopped = true;
      const now = performance.now();
      oldest = new Map(
        ATTACKS.map((attack) => [
          attack,
          Math.max(
            0,
            ...[...open.values()].flatMap(([of, from]) => (of === attack ? [now - from] : [])),
          ),
        ]),
      );
      for (const socket of open.keys()) socket.destroy();
    },
    tolls: () =>
      [...tolls].map(([attack, toll]) => [attack.name, toll, oldest.get(attack) ?? 0] as const),
  };
}

function row(title: string, timed: readonly Timed[]): number[] {
  const ms = timed.map((answer) => answer.ms);
  const values = [percentile(ms, 0.5), percentile(ms, 0.99), Math.max(...ms)];
  say(
    `${title.padEnd(28)}${values.map((value) => value.toFixed(1).padStart(10)).join('')}   ${statuses(timed)}`,
  );
  return values;
}

function inSeconds(ms: number): string {
  return Number.isFinite(ms) ? (ms / 1_000).toFixed(1) : '-';
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`;
}
