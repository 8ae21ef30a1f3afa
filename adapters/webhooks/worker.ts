import type { Runtime } from '../../src/internal/runtime.js';
import type { Endpoint, NextJob, Outbox, OutboxJob } from '../../src/outbox/outbox.js';
import { DRAIN_MS, type Deliver } from './deliver.js';
import { accepting, disabling, isNews } from './endpoint-health.js';
import { wants, type Endpoints } from './endpoints.js';
import { createLanes, type Lanes, type Leased } from './lanes.js';
import { nextTry, restAfter } from './schedule.js';
import { DISABLED, GONE, givenUp, SKIPPED, tell, type Failure } from './tell.js';
import type { WebhookDelivery } from './types.js';

export interface WorkerParts {
  readonly outbox: Outbox;
  readonly endpoints: Endpoints;
  readonly deliver: Deliver;
  readonly runtime: Runtime;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly perEndpoint: number;
  readonly onError: (error: unknown) => void;
  readonly onDelivery: (delivery: WebhookDelivery) => void;
}

/** Takes what is due out of an outbox and delivers it. */
export interface Worker {
  start(): void;
  close(): Promise<void>;
}

/**
 * Others may have added something: how often to look, at least and with as much again by chance.
 */
const LOOK_MS = 1_000;
/** No rest is that long: if one seems to be, the clock was set back. */
const LONGEST_MS = 120_000;
/** How long a job may wait here for its endpoint, and how long its end may take to be written. */
const WAIT_MS = 60_000;
const WRITE_MS = 20_000;
/** How often to see whether there is room again, besides when a delivery ends. */
const FULL_MS = 50;
const TAKEN_PER_PLACE = 4;
/** Jobs that are made or taken before anything else of the process has its turn. */
const WORK_PER_TURN = 500;
/** When a delivery is made again that was cut off for the sake of another caller's. */
const GAVE_WAY_MS = 5_000;
/**
 * For deliveries under way when it closes; then they are cut off, and made again by the process
 * that delivers next.
 */
const CLOSE_MS = 10_000;

export function createWorker(parts: WorkerParts): Worker {
  const { outbox, endpoints, deliver, runtime, timeoutMs, concurrency, perEndpoint } = parts;
  const { onError, onDelivery } = parts;
  const neededMs = timeoutMs + DRAIN_MS + WRITE_MS;
  const leaseMs = neededMs + WAIT_MS;
  const lanes = createLanes({ concurrency, perEndpoint, neededMs });
  const runs = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>();

  let working: Promise<void> | undefined;
  let closed: Promise<void> | undefined;
  let added = false;
  let hasNews = false;
  let interrupt = (): void => undefined;
  /** Nothing is asked for before then, unless something happens. */
  let quietUntil = 0;
  /** Callers that nothing was asked for the last time. */
  let leftOut = '';
  /** When a job of ours is due again, as far as is known. */
  let due = Infinity;
  let failures = 0;
  let work = 0;

  const isClosing = () => closed !== undefined;
  const random = () => {
    const [high = 0, low = 0] = runtime.randomBytes(2);
    return (high * 256 + low) / 65_535;
  };

  async function loop(): Promise<void> {
    while (!isClosing()) {
      hasNews = false;
      launch();
      const now = runtime.now();
      const without = lanes.without(now);
      // One that was left out may be told something now.
      if (failures === 0 && (added || JSON.stringify(without) !== leftOut)) quietUntil = 0;
      added = false;
      const isQuiet = now < quietUntil && quietUntil - now <= LONGEST_MS;
      if (!isQuiet) await ask(now, without);
      else await nap(lanes.waiting > 0 ? Math.min(FULL_MS, quietUntil - now) : quietUntil - now);
    }
  }

  /** Until something happens, or for so long; it does not keep the process alive. */
  async function nap(ms: number): Promise<void> {
    if (hasNews || isClosing()) return;
    const controller = new AbortController();
    interrupt = () => controller.abort();
    await runtime.idle(ms, controller.signal).catch(() => undefined);
    interrupt = () => undefined;
  }

  function wake(): void {
    hasNews = true;
    interrupt();
  }

  async function ask(now: number, without: ReturnType<Lanes['without']>): Promise<void> {
    if (due <= now) due = Infinity;
    try {
      leftOut = JSON.stringify(without);
      const [limit, perCaller] = [concurrency * TAKEN_PER_PLACE, concurrency];
      const jobs = await outbox.take({ limit, perCaller, perEndpoint, leaseMs, now, without });
      const events: OutboxJob[] = [];
      for (const job of jobs) {
        const { endpoint, caller = '' } = job;
        if (endpoint === undefined) events.push(job);
        else lanes.add({ job, endpoint, caller, until: now + leaseMs });
      }
      if (events.length > 0) await fanOut(events);
      failures = 0;
      // What was taken is told, or left out the next time: whatever comes after it may be
      // another's.
      quietUntil = jobs.length > 0 ? 0 : Math.min(due, runtime.now() + LOOK_MS * (1 + random()));
      await pause(jobs.length);
    } catch (error) {
      failed(error);
    }
  }

  /** Lets all else of the process have its turn, once so much was done. */
  async function pause(count: number): Promise<void> {
    work += count;
    if (work < WORK_PER_TURN) return;
    work = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }

  function failed(error: unknown): void {
    failures += 1;
    quietUntil = runtime.now() + restAfter(failures, random());
    report(error);
  }

  /** Each event becomes a job for each endpoint that wants it, all in one step. */
  async function fanOut(jobs: readonly OutboxJob[]): Promise<void> {
    // Read after the jobs: an endpoint that was registered before an event is told of it, by
    // whichever process it was.
    const all = [...(await endpoints.now()).values()];
    const together = Math.max(1, Math.floor(WORK_PER_TURN / (all.length + 1)));
    for (let at = 0; at < jobs.length; at += together) {
      await Promise.all(
        jobs.slice(at, at + together).map((job) => {
          const { event } = job;
          const wanting = all.filter((one) => wants(one, event));
          return end(
            job,
            wanting.map(({ id, caller }) => ({
              event,
              endpoint: id,
              caller,
              failures: 0,
              dueAt: runtime.now(),
            })),
          );
        }),
      );
      await pause(together * (all.length + 1));
    }
  }

  function launch(): void {
    while (!isClosing()) {
      const leased = lanes.next(runtime.now());
      if (leased === undefined) break;
      const stop = new AbortController();
      const { id } = leased.job;
      const done = runOne(leased, stop.signal).finally(() => {
        runs.delete(id);
        lanes.end(leased, runtime.now());
        wake();
      });
      runs.set(id, { stop, done });
    }
    const excess = lanes.excess(runtime.now());
    if (excess !== undefined) runs.get(excess.job.id)?.stop.abort();
  }

  /**
   * One delivery and what follows of it. It never rejects: what could not be written is given again
   * when its lease is over.
   */
  async function runOne({ job, endpoint }: Leased, stopped: AbortSignal): Promise<void> {
    try {
      const target =
        asTarget((await endpoints.all()).get(endpoint)) ??
        asTarget((await endpoints.now()).get(endpoint));
      if (target === undefined) return await end(job, []);
      const startedAt = runtime.now();
      const outcome = await tell(deliver, target, job.event, runtime, stopped);
      const at = runtime.now();
      const next = outcome.told ? [] : await afterFailure(job, target, outcome, stopped);
      await end(job, next);
      // What was cut off by this process says nothing of the endpoint.
      if (!stopped.aborted) {
        const { told, status } = outcome;
        const { event, failures: before } = job;
        const [{ dueAt: nextAt } = {}] = next;
        const about = { event: event.type, eventId: event.id, endpoint, failures: before };
        const ends = { at, ms: Math.max(0, at - startedAt), told, status };
        inform(() =>
          onDelivery({ ...about, ...ends, ...(nextAt === undefined ? {} : { nextAt }) }),
        );
      }
      const now = runtime.now();
      // After the job: what is known of the endpoint is of less weight.
      if (outcome.told && isNews(target, now)) await endpoints.change(endpoint, accepting(now));
    } catch (error) {
      failed(error);
    }
  }

  /** What is to be in the place of a job that was not delivered. */
  async function afterFailure(
    job: OutboxJob,
    endpoint: Endpoint,
    outcome: Failure,
    stopped: AbortSignal,
  ): Promise<NextJob[]> {
    const now = runtime.now();
    // We stopped it: it may have arrived, and it is told again.
    if (stopped.aborted) return [again(job, isClosing() ? now : now + GAVE_WAY_MS)];
    const tries = job.failures + 1;
    const { status, askedMs } = outcome;
    const dueAt = status === GONE ? undefined : nextTry(tries, now, random(), askedMs);
    if (dueAt !== undefined) return [{ ...again(job, dueAt), failures: tries }];
    const disabled = await endpoints.change(endpoint.id, disabling(endpoint, now, status === GONE));
    report(givenUp(job, tries, outcome, disabled === undefined ? SKIPPED : DISABLED));
    return [];
  }

  async function end(job: OutboxJob, next: readonly NextJob[]): Promise<void> {
    await outbox.finish(job, next);
    due = next.reduce((soonest, { dueAt }) => Math.min(soonest, dueAt), due);
    if (due < quietUntil && failures === 0) quietUntil = due;
  }

  const report = (error: unknown): void => inform(() => onError(error));

  async function stop(forget: () => void): Promise<void> {
    forget();
    wake();
    await working;
    const ended = new AbortController();
    const late = runtime.sleep(CLOSE_MS, ended.signal).then(
      () => runs.forEach((run) => run.stop.abort()),
      () => undefined,
    );
    // What only waited here waits on in the outbox, for any process.
    const givenBack = lanes
      .clear()
      .map(({ job }) => end(job, [again(job, job.dueAt)]).catch(report));
    await Promise.all([...[...runs.values()].map(({ done }) => done), ...givenBack]);
    ended.abort();
    await late;
  }

  let forget = (): void => undefined;
  return {
    start() {
      if (working !== undefined) return;
      forget = outbox.onAdded(() => {
        added = true;
        wake();
      });
      working = loop();
    },
    close() {
      // Set before anything is awaited: the loop looks at it.
      closed ??= Promise.resolve().then(() => stop(forget));
      wake();
      return closed;
    },
  };
}

/** A log that fails must not stop what it tells of. */
function inform(log: () => void): void {
  new Promise<void>((resolve) => resolve(log())).catch(() => undefined);
}

function again({ id: _, ...job }: OutboxJob, dueAt: number): NextJob {
  return { ...job, dueAt };
}

/** An endpoint that is told something. */
function asTarget(endpoint: Endpoint | undefined): Endpoint | undefined {
  return endpoint?.disabledAt === undefined ? endpoint : undefined;
}
