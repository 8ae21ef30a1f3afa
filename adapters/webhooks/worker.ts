import type { Runtime } from '../../src/internal/runtime.js';
import type { Endpoint, NextJob, OutboxJob } from '../../src/outbox/outbox.js';
import { callHook } from '../call-hook.js';
import { DRAIN_MS, type Deliver } from './deliver.js';
import { markAccepted, markDisabled, isAcceptanceStale } from './endpoint-health.js';
import { wants, type Endpoints } from './endpoints.js';
import { createLanes, type Lanes, type Leased } from './lanes.js';
import type { WebhooksSettings } from './options.js';
import { nextTry, backoffAfter } from './schedule.js';
import { DISABLED, GONE, givenUpError, SKIPPED, deliverOnce, type Failure } from './tell.js';

export interface WorkerParts extends Omit<WebhooksSettings, 'rules'> {
  readonly endpoints: Endpoints;
  readonly deliver: Deliver;
  readonly runtime: Runtime;
}

/** Takes due jobs out of an outbox and delivers them. */
export interface Worker {
  start(): void;
  close(): Promise<void>;
}

/** Milliseconds between looks at the outbox, plus up to as much again by chance. */
const LOOK_MS = 1_000;
/** Longer than any pause: a longer pause means that the clock was set back. */
const LONGEST_MS = 120_000;
/** Milliseconds that a job may wait for its endpoint, and that the write of its end may take. */
const WAIT_MS = 60_000;
const WRITE_MS = 20_000;
/** Milliseconds between checks for free places; the end of a delivery also checks. */
const FULL_MS = 50;
const TAKEN_PER_PLACE = 4;
/** Jobs that are made or taken before other work of the process has its turn. */
const WORK_PER_TURN = 500;
/** Milliseconds until a delivery is tried again that gave way to another caller's delivery. */
const GAVE_WAY_MS = 5_000;
/**
 * Milliseconds that `close` waits for running deliveries. Then it cuts them off, and the next
 * process that delivers makes them again.
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
  /** The outbox is not asked before this time, unless there is news. */
  let quietUntil = 0;
  /** The `without` of the last `take`, as JSON. */
  let leftOut = '';
  /** When the next job that this process wrote is due, as far as known. */
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
      // A caller that was left out of the last `take` may have room now.
      if (failures === 0 && (added || JSON.stringify(without) !== leftOut)) quietUntil = 0;
      added = false;
      const isQuiet = now < quietUntil && quietUntil - now <= LONGEST_MS;
      if (!isQuiet) await ask(now, without);
      else await nap(lanes.waiting > 0 ? Math.min(FULL_MS, quietUntil - now) : quietUntil - now);
    }
  }

  /** Waits for `ms` or until there is news. It does not keep the process alive. */
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
      // After a `take` with jobs, ask again at once: the next jobs may be for other callers, as
      // callers with enough waiting jobs are left out.
      quietUntil = jobs.length > 0 ? 0 : Math.min(due, runtime.now() + LOOK_MS * (1 + random()));
      await pause(jobs.length);
    } catch (error) {
      failed(error);
    }
  }

  /** Lets other work of the process have its turn, once `WORK_PER_TURN` jobs were handled. */
  async function pause(count: number): Promise<void> {
    work += count;
    if (work < WORK_PER_TURN) return;
    work = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }

  function failed(error: unknown): void {
    failures += 1;
    quietUntil = runtime.now() + backoffAfter(failures, random());
    report(error);
  }

  /** Replaces each event by a job for each endpoint that wants it, in one step. */
  async function fanOut(jobs: readonly OutboxJob[]): Promise<void> {
    // Read the endpoints after the jobs: an endpoint that any process registered before an event
    // must get the event.
    const list = [...(await endpoints.now()).values()];
    const together = Math.max(1, Math.floor(WORK_PER_TURN / (list.length + 1)));
    for (let at = 0; at < jobs.length; at += together) {
      await Promise.all(
        jobs.slice(at, at + together).map((job) => {
          const { event } = job;
          const wanting = list.filter((endpoint) => wants(endpoint, event));
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
      await pause(together * (list.length + 1));
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
   * Makes one delivery and writes its result. Never rejects: if the write fails, the outbox gives
   * the job again after its lease.
   */
  async function runOne({ job, endpoint }: Leased, stopped: AbortSignal): Promise<void> {
    try {
      const target =
        asTarget((await endpoints.all()).get(endpoint)) ??
        asTarget((await endpoints.now()).get(endpoint));
      if (target === undefined) return await end(job, []);
      const startedAt = runtime.now();
      const outcome = await deliverOnce(deliver, target, job.event, runtime, stopped);
      const at = runtime.now();
      const next = outcome.delivered ? [] : await afterFailure(job, target, outcome, stopped);
      await end(job, next);
      // A delivery that this process cut off says nothing about the endpoint, unless it was accepted.
      if (outcome.delivered || !stopped.aborted) {
        const { delivered, status } = outcome;
        const { event, failures: before } = job;
        const [{ dueAt: nextAt } = {}] = next;
        const about = { event: event.type, eventId: event.id, endpoint, failures: before };
        const ends = { at, ms: Math.max(0, at - startedAt), delivered, status };
        callHook(() =>
          onDelivery({ ...about, ...ends, ...(nextAt === undefined ? {} : { nextAt }) }),
        );
      }
      const now = runtime.now();
      // Write the job first: the record of the endpoint matters less.
      if (outcome.delivered && isAcceptanceStale(target, now))
        await endpoints.change(endpoint, markAccepted(now));
    } catch (error) {
      failed(error);
    }
  }

  /** Returns the jobs that replace a failed job. */
  async function afterFailure(
    job: OutboxJob,
    endpoint: Endpoint,
    outcome: Failure,
    stopped: AbortSignal,
  ): Promise<NextJob[]> {
    const now = runtime.now();
    // This process cut the delivery off. It may have arrived; deliver it again all the same.
    if (stopped.aborted) return [retryOf(job, isClosing() ? now : now + GAVE_WAY_MS)];
    const tries = job.failures + 1;
    const { status, askedMs } = outcome;
    const dueAt = status === GONE ? undefined : nextTry(tries, now, random(), askedMs);
    if (dueAt !== undefined) return [{ ...retryOf(job, dueAt), failures: tries }];
    const change = markDisabled(endpoint, now, status === GONE);
    const disabled = await endpoints.change(endpoint.id, change);
    report(givenUpError(job, tries, outcome, disabled === undefined ? SKIPPED : DISABLED));
    return [];
  }

  async function end(job: OutboxJob, next: readonly NextJob[]): Promise<void> {
    await outbox.finish(job, next);
    due = next.reduce((soonest, { dueAt }) => Math.min(soonest, dueAt), due);
    if (due < quietUntil && failures === 0) quietUntil = due;
  }

  const report = (error: unknown): void => callHook(() => onError(error));

  async function stop(forget: () => void): Promise<void> {
    forget();
    wake();
    await working;
    const ended = new AbortController();
    const cutOff = runtime.sleep(CLOSE_MS, ended.signal).then(
      () => runs.forEach((run) => run.stop.abort()),
      () => undefined,
    );
    // Give waiting jobs back to the outbox, so that any process can take them.
    const givenBack = lanes
      .clear()
      .map(({ job }) => end(job, [retryOf(job, job.dueAt)]).catch(report));
    await Promise.all([...[...runs.values()].map(({ done }) => done), ...givenBack]);
    ended.abort();
    await cutOff;
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
      // Set `closed` synchronously, because the loop checks it.
      closed ??= Promise.resolve().then(() => stop(forget));
      wake();
      return closed;
    },
  };
}

function retryOf({ id: _, ...job }: OutboxJob, dueAt: number): NextJob {
  return { ...job, dueAt };
}

/** Returns an endpoint unless it is disabled. */
function asTarget(endpoint: Endpoint | undefined): Endpoint | undefined {
  return endpoint?.disabledAt === undefined ? endpoint : undefined;
}
