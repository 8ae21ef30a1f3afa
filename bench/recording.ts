import type { Attempt, Journal } from 'exact-change';

interface Step {
  readonly method: string;
  readonly attempt: Attempt;
  readonly rest: readonly unknown[];
}

/**
 * A journal that writes down what is written of its first attempt, so that the same can be written
 * of thousands more without paying for them.
 */
export function recording(journal: Journal) {
  const steps: Step[] = [];
  let made = 0;
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

  /** One more attempt; returns how long each step took, in milliseconds. */
  const again = async (at: number, leftAt: number): Promise<number[]> => {
    const [first] = steps;
    if (first === undefined) throw new Error('Nothing was paid yet.');
    const id = (made += 1).toString(16).padStart(first.attempt.id.length, '0');
    const took: number[] = [];
    for (const { method, attempt, rest } of steps) {
      const copy = renamed(attempt, id);
      const dated = { ...copy, at, ...(copy.leftAt !== undefined && { leftAt }) };
      const from = performance.now();
      const result = await call(method, [dated, ...along(rest, first.attempt.id, id)]);
      took.push(performance.now() - from);
      if (isRefusal(result)) throw new Error(`The journal refused to ${method}.`);
    }
    return took;
  };

  return {
    journal: recorder,
    /** The attempt that was written down, as it was reserved. */
    first: () => steps[0]?.attempt,
    steps: () => steps.map(({ method, attempt }) => `${method} ${attempt.state}`),
    /**
     * So many more in so many milliseconds from now on, some at once, and the clock goes with them.
     * Returns how long each step took.
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
        // What is later is written later: a journal may count on it.
        const leftAt = Math.floor(start + spacing * (done + 0.5));
        const each = await Promise.all(ats.map((at) => again(at, leftAt)));
        took.push(...each.flat());
        setClock(start + spacing * done);
      }
      return { added: done, took: Float64Array.from(took) };
    },
  };
}

/** The same attempt under another id, which stands in its receipt too, and as another payment. */
function renamed(attempt: Attempt, id: string): Attempt {
  const signature = attempt.payment?.payerSignature ?? '';
  const other = `${id.replaceAll('0', 'z')}${signature.slice(id.length)}`;
  const text = JSON.stringify(attempt).replaceAll(attempt.id, id);
  return JSON.parse(signature === '' ? text : text.replaceAll(signature, other)) as Attempt;
}

/** What goes along with a write, of another attempt. */
function along<T>(value: T, from: string, to: string): T;
function along(value: unknown, from: string, to: string): unknown {
  if (typeof value === 'string') return value.replaceAll(from, to);
  if (Array.isArray(value)) return value.map((one) => along<unknown>(one, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, along<unknown>(one, from, to)]),
  );
}

function isRefusal(result: unknown): boolean {
  return typeof result === 'object' && result !== null && ('cap' in result || 'taken' in result);
}

/** Lets the clock of this process go on from a time. Milliseconds since the epoch. */
export function setClock(now: number): void {
  const shift = now - performance.now();
  Date.now = () => Math.floor(shift + performance.now());
}

function isAttempt(value: unknown): value is Attempt {
  return typeof value === 'object' && value !== null && 'id' in value && 'state' in value;
}
