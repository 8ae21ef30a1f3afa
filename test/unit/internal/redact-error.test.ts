import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { TransportError } from '../../../src/errors.js';
import { redactError } from '../../../src/internal/redact-error.js';
import { hideKey } from '../../../src/internal/redact.js';

const KEY = 'kEy-of-a-test-3b1f9c';
hideKey(KEY);

/** Everything that an error of this library shows of its cause. */
function shownOf(cause: unknown): string {
  const error = new TransportError('rpc_unavailable', 'x', { details: { method: 'm' }, cause });
  return [inspect(error, { showHidden: true, depth: 20 }), JSON.stringify(error)].join('\n');
}

class Opaque {
  readonly headers = new Headers({ authorization: `Bearer ${KEY}` });
}

describe('a key in the cause of an error', () => {
  const nested = new Error('a', { cause: new Error('b', { cause: new Error(KEY) }) });
  const foreign: unknown = runInNewContext(
    `Object.assign(new TypeError(${JSON.stringify(KEY)}), { code: 'ENOTFOUND' })`,
  );
  const getter = Object.defineProperty(new Error('a'), 'config', {
    get: () => ({ url: KEY }),
    enumerable: true,
  });

  it.each<[string, unknown]>([
    ['the third error of a chain of causes', nested],
    [
      'an error of an AggregateError',
      new AggregateError([new Error('a'), new Error(KEY)], 'all failed'),
    ],
    [
      'the cause of an error of an AggregateError',
      new AggregateError([new Error('a', { cause: new Error(KEY) })], 'all failed'),
    ],
    ['a text among the errors of an AggregateError', new AggregateError([KEY])],
    ['an error of another realm', foreign],
    ['thrown plain data', { status: 401, headers: { authorization: [`Bearer ${KEY}`] } }],
    ['the name of a field', { [KEY]: 1 }],
    [
      'a field of an error',
      Object.assign(new Error('a'), { config: { headers: { 'x-api-key': KEY } } }),
    ],
    ['the code of an error', Object.assign(new Error('a'), { code: KEY })],
    ['the name of an error', Object.assign(new Error('a'), { name: KEY })],
    ['an object of a class in a field', Object.assign(new Error('a'), { request: new Opaque() })],
    ['a thrown object of a class', new Opaque()],
    ['a getter', getter],
    [
      'the hundredth cause',
      Array.from({ length: 100 }).reduce<unknown>(
        (cause) => new Error('a', { cause }),
        new Error(KEY),
      ),
    ],
  ])('is hidden in %s', (_where, cause) => {
    expect(inspect(cause, { showHidden: true, depth: 200, getters: true })).toContain('3b1f9c');
    expect(shownOf(cause)).not.toContain('3b1f9c');
  });

  it('is hidden without a change to names, codes and errors that do not show it', () => {
    const clean = new RangeError('b');
    const cause = new AggregateError(
      [Object.assign(new TypeError(KEY), { code: 'ENOTFOUND' }), clean],
      'all failed',
      { cause: clean },
    );
    const copy = redactError(cause);
    const first: unknown = expect.objectContaining({
      name: 'TypeError',
      message: '[hidden]',
      code: 'ENOTFOUND',
    });
    expect(copy).toMatchObject({
      name: 'AggregateError',
      message: 'all failed',
      errors: [first, clean],
    });
    expect((copy as Error).cause).toBe(clean);
  });

  it('is hidden in a copy, and the original error stays unchanged', () => {
    const inner = new Error(KEY);
    const outer = Object.freeze(new AggregateError([inner], `for ${KEY}`, { cause: inner }));
    const before = inspect(outer, { showHidden: true, depth: 5 });
    expect(redactError(outer)).not.toBe(outer);
    expect([inspect(outer, { showHidden: true, depth: 5 }), outer.cause, outer.errors]).toEqual([
      before,
      inner,
      [inner],
    ]);
  });

  it('causes no copy if the error does not show it', () => {
    for (const error of [
      new TypeError('fetch failed', {
        cause: Object.assign(new Error('closed'), {
          code: 'UND_ERR_SOCKET',
          socket: { bytesRead: 0 },
        }),
      }),
      new AggregateError([new Error('a')], 'b'),
      new DOMException('gone', 'AbortError'),
      undefined,
      null,
      7,
      'closed',
    ])
      expect(redactError(error)).toBe(error);
  });
});

describe('the constructor of an error with an odd cause', () => {
  const cyclic = new Error('a');
  cyclic.cause = new Error('b', { cause: cyclic });
  const keyed = new AggregateError([], KEY);
  keyed.errors.push(keyed);
  keyed.cause = { keyed };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const throwing = (name: string) =>
    Object.defineProperty(new Error('a'), name, {
      enumerable: true,
      get() {
        throw new Error(`never: ${KEY}`);
      },
    });

  it.each<[string, unknown]>([
    ['an error that is its own cause', cyclic],
    ['an error with a key that is its own cause', keyed],
    ['an error with a number for a message', Object.assign(new Error('a'), { message: 7 })],
    [
      'an error with an object for a message',
      Object.assign(new Error('a'), { message: { text: KEY } }),
    ],
    ['an error with a symbol for a name', Object.assign(new Error(KEY), { name: Symbol('x') })],
    ['an error with a list for a stack', Object.assign(new Error(KEY), { stack: [KEY] })],
    ['an error with a text for its errors', Object.assign(new Error(KEY), { errors: KEY })],
    ['an error with a message that throws', throwing('message')],
    ['an error with a field that throws', throwing('config')],
    ['an error with a cause that throws', throwing('cause')],
    ['a revoked proxy', proxy],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 })],
  ])('does not throw for %s', (_what, cause) => {
    expect(shownOf(cause)).not.toContain('3b1f9c');
  });

  it('keeps the cycle of an error that is its own cause', () => {
    expect(redactError(cyclic)).toBe(cyclic);
    const copy = redactError(keyed);
    expect(copy).toMatchObject({ message: '[hidden]' });
    expect((copy as AggregateError).errors).toEqual([copy]);
  });
});
