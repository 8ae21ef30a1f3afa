import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isExactChangeError, SOLANA_MAINNET } from 'exact-change';
import { sleep, type Pair } from './measure.js';
import { payers, type Kind, type Payer, type PayerOptions } from './payers.js';
import { asked, openJournal, type Place } from './places.js';
import { answer, cpuMs } from './process.js';
import { recording, setClock } from './recording.js';

// Runs a client alone in its process, so that the process's CPU and memory are the client's.

const DAY_MS = 24 * 60 * 60 * 1_000;

let payer: Payer | undefined;
let earlier: Payer | undefined;
/** Milliseconds of requests to sellers, until their status arrived. */
let legsMs = 0;

let recorded: ReturnType<typeof recording> | undefined;

const paying = (): Payer => {
  if (payer === undefined) throw new Error('No client is open.');
  return payer;
};

/** URLs of services that are no sellers. */
let nodes: readonly string[] = [];
const { fetch } = globalThis;
/** Replaces the global fetch, which every client looks up at each call. */
globalThis.fetch = async (input, init) => {
  const url = input instanceof Request ? input.url : String(input);
  const from = performance.now();
  const response = await fetch(input, init);
  if (!nodes.some((node) => url.startsWith(node))) legsMs += performance.now() - from;
  return response;
};

interface Paid {
  /** Milliseconds until the answer was read. */
  readonly ms: number;
  /** Milliseconds outside of the requests to the seller. */
  readonly outsideMs: number;
  /** Syncs of the disk until the answer was read. */
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
  /** Milliseconds over which the attempts are spread. */
  readonly spanMs?: number;
  /** Most attempts that are written at once. */
  readonly atOnce?: number;
  /** Milliseconds after which the replay stops. */
  readonly mostMs?: number;
}

const client = {
  async open(kind: Kind, options: PayerOptions, place?: Place) {
    nodes = [options.rpcUrl, options.jupiterUrl];
    recorded = place === undefined ? undefined : recording(await openJournal(place));
    earlier = payer;
    payer = await payers[kind]({ ...options, journal: recorded?.journal });
  },
  /**
   * Sets the clock back a day, so that replayed attempts come after the paid attempt, but not in
   * the future.
   */
  yesterday: () => setClock(Date.now() - DAY_MS),
  /** Switches between this client and the earlier client. */
  turn: () => void ([payer, earlier] = [earlier, payer]),
  prepare: (url: string, count: number) => paying().prepare(url, count),
  /** Returns the counts of the journal so far; each later statement waits `waitMs` first. */
  asked(waitMs = 0) {
    asked.waitMs = waitMs;
    return { ...asked };
  },
  /** Returns the CPU time of a process's first read of the journal. */
  async openJournal(place: Place, wallet: string) {
    const journal = await openJournal(place);
    const before = cpuMs();
    await journal.used({ wallet, network: SOLANA_MAINNET }, [], Date.now());
    return cpuMs() - before;
  },
  /** Pays in sequence. The CPU time includes the work until all payments have settled. */
  async batch(url: string, count: number) {
    const before = cpuMs();
    const each: Paid[] = [];
    while (each.length < count) each.push(await pay(url));
    await paying().settled();
    return { each, cpuMs: (cpuMs() - before) / count };
  },
  /** Makes all payments at once, or a payment every `everyMs` milliseconds. */
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
  /** Measures pairs of free requests, by the client and by plain fetch. */
  async free(url: string, body: keyof typeof BODIES, count: number) {
    const init = BODIES[body];
    const by = async (send: Payer['fetch']) => {
      const from = performance.now();
      await (await send(url, init)).text();
      return performance.now() - from;
    };
    const pairs: Pair[] = [];
    // The two alternate in going first. The first pairs are a warm-up, because the code is not
    // compiled yet.
    for (let at = -count / 2; at < count; at += 1) {
      const plainFirst = at % 2 === 0 ? await by(globalThis.fetch) : undefined;
      const ours = await by(paying().fetch);
      const other = plainFirst ?? (await by(globalThis.fetch));
      if (at >= 0) pairs.push({ ours, other });
    }
    return pairs;
  },
  /** Adds `count` copies of the first attempt; `steps` lists the writes of each. */
  async replay(count: number, { spanMs = DAY_MS, atOnce = 1, mostMs = Infinity }: Replay = {}) {
    if (recorded === undefined) throw new Error('No journal is recorded.');
    return { ...(await recorded.replay(count, spanMs, atOnce, mostMs)), steps: recorded.steps() };
  },
  /** Returns the journal's counts of a window, and the cost of its first payment alone. */
  async counted(windowMs: number) {
    const first = recorded?.first();
    if (recorded === undefined || first === undefined) throw new Error('Nothing is recorded.');
    const caps = ['payments', 'USD'].map((unit) => ({ name: unit, unit, limit: 0n, windowMs }));
    const [payments = 0n, microUsd = 0n] = await recorded.journal.used(first, caps, Date.now());
    return { payments, microUsd, firstMicroUsd: BigInt(first.microUsd ?? '') };
  },
  /** Returns the used heap in megabytes. */
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
