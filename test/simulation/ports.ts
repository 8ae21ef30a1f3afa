import type { Part } from './plan.js';
import type { Random } from './random.js';

/** What is wrong with a port of the library's: its journal, or its signer. */
export type Trouble = Part & { readonly kind: 'port' };

/** Calls a step of a port, or has it go wrong. */
export type Strike = <T>(step: string, work: () => T) => T | Promise<Awaited<T>>;

/** What steps answer later, by the names that {@link through} gives them. */
const ANSWERS =
  /^(?:signer|reserve|put|raise|release|similar|used|attempts\.next|(?:claims|ledger)\.\w+)$/;

/** @param troubles - What is wrong now. */
export function strikeBy(
  troubles: ReadonlySet<Trouble>,
  random: Random,
  trace: (line: string) => void,
): Strike {
  const isOf = (name: string, { step }: Trouble) =>
    name === step || name.startsWith(`${step}.`) || (step === 'journal' && name !== 'signer');
  return (name, work) => {
    if (!ANSWERS.test(name)) return work();
    const trouble = [...troubles].find((one) => isOf(name, one) && random.chance(one.share));
    if (trouble === undefined) return work();
    trace(`${name} ${trouble.what}`);
    return struck(trouble, work);
  };
}

async function struck<T>({ what, ms }: Trouble, work: () => T): Promise<Awaited<T>> {
  // The process's own timer: what it has not done when it ends is not done.
  const waits = () => new Promise((resolve) => setTimeout(resolve, ms));
  if (what === 'fails') throw new Error('The port is down.');
  if (what === 'comes late') await waits();
  const answer = await work();
  if (what === 'answers late') await waits();
  if (what === 'is lost') throw new Error('The answer of the port is lost.');
  return answer;
}

/**
 * The same, but each of its methods, and of what these give, is called by `strike` under a name such
 * as `put` or `claims.take`. What a promise comes to is given once `standing` lets it: results of a
 * process that has ended never come.
 */
export function through<T extends object>(
  whole: T,
  strike: Strike,
  standing: () => Promise<void>,
  path = '',
): T {
  const given = (value: unknown, name: string): unknown => {
    if (value instanceof Promise)
      return value.then(
        (result: unknown) => standing().then(() => result),
        (error: unknown) => standing().then(() => Promise.reject(error)),
      );
    return typeof value === 'object' && value !== null
      ? through(value, strike, standing, name)
      : value;
  };
  return new Proxy(whole, {
    get(of, key) {
      const value: unknown = Reflect.get(of, key);
      const name = String(key);
      if (typeof value !== 'function') return given(value, name);
      const step = path === '' || path === 'coordination' ? name : `${path}.${name}`;
      return (...args: unknown[]) =>
        given(
          strike(step, () => Reflect.apply(value, of, args)),
          typeof key === 'symbol' ? path : name,
        );
    },
  });
}
