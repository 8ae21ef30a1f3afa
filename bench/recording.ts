import type { Attempt, Journal } from 'exact-change';

interface Step {
  readonly method: string;
  readonly attempt: Attempt;
  readonly rest: readonly unknown[];
}

/**
 * Wraps a journal and records the writes of its first attempt, so that they can be replayed for
 * thousands of further attempts without payments.
 */
export function recording(journal: Journal) {
  const steps: Step[] = [];
  let copies = 0;
  const call = (method: string, args: readonly unknown[]): unknown => {
    const value: unknown = Reflect.get(journal, method);
    return typeof value === 'function' ? Reflect.apply(value, journal, args) : value;
  };
  const recorder = new Proxy(journal, {
    get: (target, method) => {
      const value: unknown = Reflect.get(target, method);
      if (typeof value !== 'function' || typeof method !== 'string') return value;
      return (...args: readonly unknown[]) => {
        const [attempt, ...rest] = args;
        if (isAttempt(attempt) && (steps[0] === undefined || steps[0].attempt.id === attempt.id))
          steps.push(structuredClone({ method, attempt, rest }));
        return call(method, args);
      };
    },
  });

  /** Writes a copy of the attempt. Returns the milliseconds that each step took. */
  const replayOnce = async (at: number, leftAt: number): Promise<number[]> => {
    const [first] = steps;
    if (first === undefined) throw new Error('Nothing was paid yet.');
    const id = (copies += 1).toString(16).padStart(first.attempt.id.length, '0');
    const took: number[] = [];
    for (const { method, attempt, rest } of steps) {
      const copy = renamed(attempt, id);
      const dated = { ...copy, at, ...(copy.leftAt !== undefined && { leftAt }) };
      const from = performance.now();
      const result = await call(method, [dated, ...withId(rest, first.attempt.id, id)]);
      took.push(performance.now() - from);
      if (isRefusal(result)) throw new Error(`The journal refused to ${method}.`);
    }
    return took;
  };

  return {
    journal: recorder,
    /** Returns the recorded attempt as it was reserved. */
    first: () => steps[0]?.attempt,
    steps: () => steps.map(({ method, attempt }) => `${method} ${attempt.state}`),
    /**
     * Adds `count` copies, spread over the next `spanMs` of a clock that it moves along, `atOnce`
     * at the same time. Returns the milliseconds that each step took.
     */
    async replay(count: number, spanMs: number, atOnce: number, mostMs = Infinity) {
      const from = performance.now();
      const start = Date.now();
      const spacing = spanMs / count;
      const took: number[] = [];
      let done = 0;
      while (done < count && performance.now() - from < mostMs) {
        const ats = Array.from({ length: Math.min(atOnce, count - done) }, () =>
          Math.floor(start + spacing * (done += 1)),
        );
        // Write later attempts later, because a journal may rely on that order.
        const leftAt = Math.floor(start + spacing * (done + 0.5));
        const each = await Promise.all(ats.map((at) => replayOnce(at, leftAt)));
        took.push(...each.flat());
        setClock(start + spacing * done);
      }
      return { added: done, took: Float64Array.from(took) };
    },
  };
}

/** Returns the attempt with another id, also in its receipt, and with another signature. */
function renamed(attempt: Attempt, id: string): Attempt {
  const signature = attempt.payment?.payerSignature ?? '';
  const newSignature = `${id.replaceAll('0', 'z')}${signature.slice(id.length)}`;
  const text = JSON.stringify(attempt).replaceAll(attempt.id, id);
  return JSON.parse(signature === '' ? text : text.replaceAll(signature, newSignature)) as Attempt;
}

/** Replaces an attempt's id in the further arguments of a write. */
function withId<T>(value: T, from: string, to: string): T;
function withId(value: unknown, from: string, to: string): unknown {
  if (typeof value === 'string') return value.replaceAll(from, to);
  if (Array.isArray(value)) return value.map((item) => withId<unknown>(item, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, withId<unknown>(field, from, to)]),
  );
}

function isRefusal(result: unknown): boolean {
  return typeof result === 'object' && result !== null && ('cap' in result || 'taken' in result);
}

/** Sets the clock of this process, in milliseconds since the epoch; it runs on from there. */
export function setClock(now: number): void {
  const shift = now - performance.now();
  Date.now = () => Math.floor(shift + performance.now());
}

function isAttempt(value: unknown): value is Attempt {
  return typeof value === 'object' && value !== null && 'id' in value && 'state' in value;
}
