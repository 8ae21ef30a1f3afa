import { TransportError } from '../../src/errors.js';
import type { Endpoint, NextJob, Outbox, OutboxJob } from '../../src/journal/outbox.js';
import type { Runtime } from '../../src/runtime.js';
import { DRAIN_MS, type Deliver } from './deliver.js';
import { wants, type Endpoints } from './endpoints.js';
import { createLanes, type Leased } from './lanes.js';
import { messageOf } from './message.js';
import { askedWait, nextTry, restAfter } from './schedule.js';
import { accepting, disabling, isNews } from './standing.js';

export interface WorkerParts {
  readonly outbox: Outbox;
  readonly endpoints: Endpoints;
  readonly deliver: Deliver;
  readonly runtime: Runtime;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly perEndpoint: number;
  readonly onError: (error: unknown) => void;
}

/** Takes what is due out of an outbox and delivers it. */
export interface Worker {
  start(): void;
  close(): Promise<void>;
}

/** What became of one delivery. `status` is 0 where there was no answer. */
type Outcome = { readonly told: true } | Failure;

interface Failure {
  readonly told: false;
  readonly status: number;
  readonly askedMs: number;
  readonly cause?: unknown;
}

/** Others may have added something: how often to look, at least and with as much again by chance. */
const LOOK_MS = 1_000;
/** No rest is that long: where one seems to be, the clock was set back. */
const LONGEST_MS = 120_000;
/** How long a job may wait here for its endpoint or be put off for it, and how long its end may take to be written. */
const WAIT_MS = 60_000;
const WRITE_MS = 20_000;
/** How often to see whether there is room again, besides when a delivery ends. */
const FULL_MS = 100;
const TAKEN_PER_PLACE = 4;
/** For deliveries under way when it closes; then they are cut off, and made again by whoever delivers next. */
const CLOSE_MS = 10_000;
const GONE = 410;
const DISABLED = 'It is told nothing more. Repair it and rotate its secret, or remove it.';
const SKIPPED = 'It is told what comes after it. See why it does not accept this one.';

export function createWorker(parts: WorkerParts): Worker {
  const { outbox, endpoints, deliver, runtime, timeoutMs, concurrency, perEndpoint, onError } = parts;
  const neededMs = timeoutMs + DRAIN_MS + WRITE_MS;
  const leaseMs = neededMs + WAIT_MS;
  const lanes = createLanes({ concurrency, perEndpoint, neededMs, longestMs: WAIT_MS });
  const cut = new AbortController();
  const runs = new Set<Promise<void>>();

  let working: Promise<void> | undefined;
  let closed: Promise<void> | undefined;
  let added = false;
  let wake = (): void => undefined;
  /** Nothing is asked for before then, unless something happens. */
  let quietUntil = 0;
  /** The last question brought as much as was asked for. */
  let more = false;
  /** When a job of ours is due again, as far as is known. */
  let due = Infinity;
  let failures = 0;

  const isClosing = () => closed !== undefined;
  const random = () => {
    const [high = 0, low = 0] = runtime.randomBytes(2);
    return (high * 256 + low) / 65_535;
  };

  async function work(): Promise<void> {
    while (!isClosing()) {
      launch();
      if (added && failures === 0) quietUntil = 0;
      added = false;
      const now = runtime.now();
      const hasRoom = lanes.hasRoom(now);
      const isQuiet = now < quietUntil && quietUntil - now <= LONGEST_MS;
      if (hasRoom && (!isQuiet || (more && lanes.waiting === 0))) await ask(now);
      else await nap(hasRoom ? quietUntil - now : FULL_MS);
    }
  }

  /** Until something happens, or for so long; it does not keep the process alive. */
  async function nap(ms: number): Promise<void> {
    if (added || isClosing()) return;
    const controller = new AbortController();
    wake = () => controller.abort();
    await runtime.idle(ms, controller.signal).catch(() => undefined);
    wake = () => undefined;
  }

  async function ask(now: number): Promise<void> {
    if (due <= now) due = Infinity;
    try {
      const jobs = await outbox.take({ limit: concurrency * TAKEN_PER_PLACE, leaseMs, now });
      more = jobs.length === concurrency * TAKEN_PER_PLACE;
      let all: ReturnType<Endpoints['now']> | undefined;
      // Read after the jobs, once for all: who was registered before an event is told of it, whoever registered it.
      const passed = await Promise.all(jobs.map((job) => accept(job, now + leaseMs, () => (all ??= endpoints.now()))));
      failures = 0;
      const isFruitful = launch() > 0 || passed.includes(true);
      quietUntil = isFruitful ? 0 : Math.min(due, runtime.now() + LOOK_MS * (1 + random()));
    } catch (error) {
      failed(error);
    }
  }

  function failed(error: unknown): void {
    failures += 1;
    more = false;
    quietUntil = runtime.now() + restAfter(failures, random());
    report(error);
  }

  /** Whether the outbox has something else in its place by now, so that what comes after it may be asked for. */
  async function accept(job: OutboxJob, until: number, all: Endpoints['now']): Promise<boolean> {
    const { endpoint } = job;
    if (endpoint === undefined) {
      await fanOut(job, await all());
      return true;
    }
    const now = runtime.now();
    const laterMs = lanes.add({ job, endpoint, until }, now);
    // Due later, it no longer stands before what is for others.
    if (laterMs > 0) await end(job, [again(job, endpoint, now + laterMs)]);
    return laterMs > 0;
  }

  /** An event becomes a job for each endpoint that wants it, all in one step. */
  async function fanOut(job: OutboxJob, all: readonly Endpoint[]): Promise<void> {
    const { event } = job;
    const ids = all.filter((one) => wants(one, event)).map(({ id }) => id);
    await end(
      job,
      ids.map((endpoint) => ({ event, endpoint, failures: 0, dueAt: runtime.now() })),
    );
  }

  function launch(): number {
    let launched = 0;
    while (!isClosing()) {
      const leased = lanes.next(runtime.now());
      if (leased === undefined) break;
      launched += 1;
      const run = runOne(leased).finally(() => {
        runs.delete(run);
        lanes.end(leased, runtime.now());
        wake();
      });
      runs.add(run);
    }
    return launched;
  }

  /** One delivery and what follows of it. It never rejects: what could not be written is given again when its lease is over. */
  async function runOne({ job, endpoint }: Leased): Promise<void> {
    try {
      const isTarget = ({ id, disabledAt }: Endpoint) => id === endpoint && disabledAt === undefined;
      const target = (await endpoints.all()).find(isTarget) ?? (await endpoints.now()).find(isTarget);
      if (target === undefined) return await end(job, []);
      const outcome = await outcomeOf(job, target);
      await end(job, outcome.told ? [] : await afterFailure(job, target, outcome));
      const now = runtime.now();
      // After the job: what is known of the endpoint is of less weight.
      if (outcome.told && isNews(target, now)) await endpoints.change(endpoint, accepting(now));
    } catch (error) {
      failed(error);
    }
  }

  /** What is to be in the place of a job that was not delivered. */
  async function afterFailure(job: OutboxJob, endpoint: Endpoint, outcome: Failure): Promise<NextJob[]> {
    const now = runtime.now();
    // It was we who stopped: it may have arrived, and it is told again.
    if (cut.signal.aborted) return [again(job, endpoint.id, now)];
    const tries = job.failures + 1;
    const { status, askedMs } = outcome;
    const dueAt = status === GONE ? undefined : nextTry(tries, now, random(), askedMs);
    if (dueAt !== undefined) return [{ event: job.event, endpoint: endpoint.id, failures: tries, dueAt }];
    const disabled = await endpoints.change(endpoint.id, disabling(endpoint, now, status === GONE));
    report(givenUp(job, tries, outcome, disabled === undefined ? SKIPPED : DISABLED));
    return [];
  }

  async function outcomeOf({ event }: OutboxJob, endpoint: Endpoint): Promise<Outcome> {
    try {
      const { status, retryAfter } = await deliver(messageOf(endpoint, event, runtime.now()), cut.signal);
      if (status >= 200 && status < 300) return { told: true };
      return { told: false, status, askedMs: askedWait(status, retryAfter, runtime.now()) };
    } catch (cause) {
      return { told: false, status: 0, askedMs: 0, cause };
    }
  }

  async function end(job: OutboxJob, next: readonly NextJob[]): Promise<void> {
    await outbox.finish(job, next);
    due = next.reduce((soonest, { dueAt }) => Math.min(soonest, dueAt), due);
    if (due < quietUntil && failures === 0) quietUntil = due;
  }

  /** A log that fails must not stop what it tells of. */
  function report(error: unknown): void {
    new Promise<void>((resolve) => resolve(onError(error))).catch(() => undefined);
  }

  async function stop(forget: () => void): Promise<void> {
    forget();
    wake();
    await working;
    const ended = new AbortController();
    const late = runtime.sleep(CLOSE_MS, ended.signal).then(
      () => cut.abort(),
      () => undefined,
    );
    // What only waited here waits on in the outbox, for anybody.
    await Promise.all([...runs, ...lanes.clear().map(({ job, endpoint }) => end(job, [again(job, endpoint, job.dueAt)]).catch(report))]);
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
      working = work();
    },
    close() {
      // Set before anything is awaited: the loop looks at it.
      closed ??= Promise.resolve().then(() => stop(forget));
      wake();
      return closed;
    },
  };
}

function again({ event, failures }: OutboxJob, endpoint: string, dueAt: number): NextJob {
  return { event, endpoint, failures, dueAt };
}

/** Neither its address, which may hold a token, nor anything that it said. */
function givenUp({ event, endpoint = '' }: OutboxJob, tries: number, { status, ...rest }: Failure, follows: string): TransportError {
  const why = status === GONE ? 'says that it is gone' : `failed ${tries} times`;
  const cause = 'cause' in rest ? { cause: rest.cause } : {};
  const message = `The endpoint ${endpoint} ${why}, so it is not told of ${event.id}. ${follows}`;
  return new TransportError('service_unavailable', message, { details: { status }, retry: 'never', ...cause });
}
