import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isExactChangeError, SOLANA_MAINNET } from 'exact-change';
import { sleep, type Pair } from './measure.js';
import { payers, type Kind, type Payer, type PayerOptions } from './payers.js';
import { asked, openJournal, type Place } from './places.js';
import { answer, cpuMs } from './process.js';
import { recording, setClock } from './recording.js';

// One client alone in its process: what the process takes, the client takes.

const DAY_MS = 24 * 60 * 60 * 1_000;

let payer: Payer | undefined;
let other: Payer | undefined;
/** Milliseconds of requests to sellers, up to their status. */
let legsMs = 0;

let recorded: ReturnType<typeof recording> | undefined;

const paying = (): Payer => {
  if (payer === undefined) throw new Error('No client is open.');
  return payer;
};

/** What no seller is at. */
let nodes: readonly string[] = [];
const { fetch } = globalThis;
/** Every client finds it as the global one at each call. */
globalThis.fetch = async (input, init) => {
  const url = input instanceof Request ? input.url : String(input);
  const from = performance.now();
  const response = await fetch(input, init);
  if (!nodes.some((node) => url.startsWith(node))) legsMs += performance.now() - from;
  return response;
};

interface Paid {
  /** Until the answer was read, and what of it was outside the requests to the seller. */
  readonly ms: number;
  readonly outsideMs: number;
  /** Of the disk, until then. */
  readonly syncs: number;
}

async function pay(url: string): Promise<Paid> {
  legsMs = 0;
  const { syncs } = asked;
  const from = performance.now();
  const response = await paying().fetch(url);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  const ms = performance.now() - from;
  return { ms, outsideMs: ms - legsMs, syncs: asked.syncs - syncs };
}

const MEGABYTE = 1_000_000;
const BODIES = {
  none: {},
  text: { method: 'POST', body: 'x'.repeat(MEGABYTE) },
  bytes: { method: 'POST', body: new Uint8Array(MEGABYTE) },
};

interface Replay {
  /** Over how long they are spread, at most how many are written at once, and for how long. */
  readonly spanMs?: number;
  readonly atOnce?: number;
  readonly mostMs?: number;
}

const client = {
  async open(kind: Kind, options: PayerOptions, place?: Place) {
    nodes = [options.rpcUrl, options.jupiterUrl];
    recorded = place === undefined ? undefined : recording(await openJournal(place));
    other = payer;
    payer = await payers[kind]({ ...options, journal: recorded?.journal });
  },
  /** Sets the clock back: what is replayed comes after what is paid, and not after the present. */
  yesterday: () => setClock(Date.now() - DAY_MS),
  /** Pays by the client that was there before, and next time by this one again. */
  turn: () => void ([payer, other] = [other, payer]),
  prepare: (url: string, count: number) => paying().prepare(url, count),
  /** What the journal has asked for so far; from now on each statement waits so long. */
  asked(waitMs = 0) {
    asked.waitMs = waitMs;
    return { ...asked };
  },
  /** CPU of looking into the journal of a process that has not yet. */
  async openJournal(place: Place, wallet: string) {
    const journal = await openJournal(place);
    const before = cpuMs();
    await journal.used({ wallet, network: SOLANA_MAINNET }, [], Date.now());
    return cpuMs() - before;
  },
  /** Pays one after the other; CPU to the end of all that the payments leave to do. */
  async batch(url: string, count: number) {
    const before = cpuMs();
    const each: Paid[] = [];
    while (each.length < count) each.push(await pay(url));
    await paying().settled();
    return { each, cpuMs: (cpuMs() - before) / count };
  },
  /** Pays at once, or one every so many milliseconds. */
  async crowd(url: string, count: number, everyMs = 0) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const from = performance.now();
    const codes = await Promise.all(
      Array.from({ length: count }, async (_, at) => {
        if (everyMs > 0) await sleep(at * everyMs);
        return pay(url).then(() => 'paid', codeOf);
      }),
    );
    const ms = performance.now() - from;
    delay.disable();
    await paying().settled();
    const refused = codes.filter((code) => code !== 'paid');
    return { ms, stallMs: delay.max / 1e6, paid: count - refused.length, refused };
  },
  /** Pairs of requests that are free, by the client and by plain fetch. */
  async free(url: string, body: keyof typeof BODIES, count: number) {
    const init = BODIES[body];
    const by = async (send: Payer['fetch']) => {
      const from = performance.now();
      await (await send(url, init)).text();
      return performance.now() - from;
    };
    const pairs: Pair[] = [];
    // Each goes first in every other pair; the first of all are not yet compiled.
    for (let at = -count / 2; at < count; at += 1) {
      const before = at % 2 === 0 ? await by(globalThis.fetch) : undefined;
      const ours = await by(paying().fetch);
      const other = before ?? (await by(globalThis.fetch));
      if (at >= 0) pairs.push({ ours, other });
    }
    return pairs;
  },
  /** Adds so many attempts as the first was; `steps` is what was written of each. */
  async replay(count: number, { spanMs = DAY_MS, atOnce = 1, mostMs = Infinity }: Replay = {}) {
    if (recorded === undefined) throw new Error('No journal is recorded.');
    return { ...(await recorded.replay(count, spanMs, atOnce, mostMs)), steps: recorded.steps() };
  },
  /** What the journal counts of the last so many milliseconds, and of its first payment alone. */
  async counted(windowMs: number) {
    const first = recorded?.first();
    if (recorded === undefined || first === undefined) throw new Error('Nothing is recorded.');
    const caps = ['payments', 'USD'].map((unit) => ({ name: unit, unit, limit: 0n, windowMs }));
    const [payments = 0n, microUsd = 0n] = await recorded.journal.used(first, caps, Date.now());
    return { payments, microUsd, firstMicroUsd: BigInt(first.microUsd ?? '') };
  },
  /** Megabytes that are in use. */
  heap() {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed / 2 ** 20;
  },
};

function codeOf(error: unknown): string {
  return isExactChangeError(error) ? error.code : String(error);
}

export type Client = typeof client;
answer(client);
