import type { Part } from './plan.js';
import type { Random } from './random.js';

/** A fault of a port of the library: its journal or its signer. */
export type Trouble = Part & { readonly kind: 'port' };

/** Runs a step of a port, or makes it fail. */
export type Strike = <T>(step: string, work: () => T) => T | Promise<Awaited<T>>;

/** Matches the steps that return a promise, by the names of {@link through}. */
const ANSWERS =
  /^(?:signer|reserve|put|raise|release|similar|used|attempts\.next|(?:claims|ledger)\.\w+)$/;

/** @param troubles - The current faults. */
export function strikeBy(
  troubles: ReadonlySet<Trouble>,
  random: Random,
  trace: (line: string) => void,
): Strike {
  const isOf = (name: string, { step }: Trouble) =>
    name === step || name.startsWith(`${step}.`) || (step === 'journal' && name !== 'signer');
  return (name, work) => {
    if (!ANSWERS.test(name)) return work();
    const trouble = [...troubles].find((fault) => isOf(name, fault) && random.chance(fault.share));
    if (trouble === undefined) return work();
    trace(`${name} ${trouble.what}`);
    return struck(trouble, work);
  };
}

async function struck<T>({ what, ms }: Trouble, work: () => T): Promise<Awaited<T>> {
  // A timer of the process, so that the step is not done if the process ends before.
  const waits = () => new Promise((resolve) => setTimeout(resolve, ms));
  if (what === 'fails') throw new Error('The port is down.');
  if (what === 'comes late') await waits();
  const answer = await work();
  if (what === 'answers late') await waits();
  if (what === 'is lost') throw new Error('The answer of the port is lost.');
  return answer;
}

/**
 * Wraps an object so that `strike` runs each of its methods under a name such as `put` or
 * `claims.take`, and wraps the results too. Promises settle only after `whileRunning` resolves, so
 * that results never reach a process that has ended.
 */
export function through<T extends object>(
  target: T,
  strike: Strike,
  whileRunning: () => Promise<void>,
  path = '',
): T {
  const wrap = (value: unknown, name: string): unknown => {
    if (value instanceof Promise)
      return value.then(
        (result: unknown) => whileRunning().then(() => result),
        (error: unknown) => whileRunning().then(() => Promise.reject(error)),
      );
    return typeof value === 'object' && value !== null
      ? through(value, strike, whileRunning, name)
      : value;
  };
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key);
      const name = String(key);
      if (typeof value !== 'function') return wrap(value, name);
      const step = path === '' || path === 'coordination' ? name : `${path}.${name}`;
      return (...args: unknown[]) =>
        wrap(
          strike(step, () => Reflect.apply(value, object, args)),
          typeof key === 'symbol' ? path : name,
        );
    },
  });
}
