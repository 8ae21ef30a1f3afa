import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import * as errors from '../../src/errors.js';
import { amendError } from '../../src/errors/amend.js';
import { anyText } from '../helpers/any-text.js';

const {
  cleanText,
  errorCodes,
  ExactChangeError,
  FundsError,
  isExactChangeError,
  PolicyError,
  QuoteError,
  TransportError,
} = errors;
type ErrorCode = errors.ErrorCode;
type Moved = errors.Moved;

const swap: Moved = { kind: 'swap', signature: 'swap-signature', inAmount: '1', outAmount: '2' };
const payment: Moved = { kind: 'payment', signature: 'payment-signature' };
const noRoute = (init: Partial<errors.ErrorInit<'no_route'>> = {}) =>
  new QuoteError('no_route', 'There is no way.', {
    details: { inputMint: 'a', outputMint: 'b' },
    ...init,
  });

/** Makes an error with the code; its details do not matter here. */
const ofCode = (code: ErrorCode) => new ExactChangeError(code, 'It failed.', { details: {} });

describe('error codes', () => {
  it('use lower snake case, and each belongs to an exported class', () => {
    const exported = Object.keys(errors).filter(
      (name) =>
        name.endsWith('Error') &&
        !['ExactChangeError', 'amendError', 'isExactChangeError'].includes(name),
    );
    expect(exported).toHaveLength(8);
    expect(new Set(errorCodes.map((code) => ofCode(code).name))).toEqual(new Set(exported));
    for (const code of errorCodes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(Object.isFrozen(errorCodes)).toBe(true);
  });

  it('each have never, same or fresh as their retry advice', () => {
    for (const code of errorCodes) expect(['never', 'same', 'fresh']).toContain(ofCode(code).retry);
  });

  it('advise never to retry a ConfigError', () => {
    const config = errorCodes.filter((code) => ofCode(code).name === 'ConfigError');
    expect(config.map((code) => ofCode(code).retry)).toEqual(config.map(() => 'never'));
  });
});

describe('an error', () => {
  const cause = new Error('below');
  const response = new Response('body', { status: 402 });
  const error = new FundsError('insufficient_funds', 'It lacks 2.', {
    details: { mint: 'm', required: '3', available: '1' },
    moved: [swap],
    funds: 'swapped',
    cause,
    response,
    untrusted: { reason: 'pay\u202e me\u0007' },
  });

  it('is an instance of its class and holds every field that it was given', () => {
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(FundsError);
    expect(error).not.toBeInstanceOf(PolicyError);
    expect([error.name, error.code, error.message, error.funds, error.retry]).toEqual([
      'FundsError',
      'insufficient_funds',
      'It lacks 2.',
      'swapped',
      'never',
    ]);
    expect(error.cause).toBe(cause);
    expect(error.response).toBe(response);
    expect(error.untrusted).toEqual({ reason: 'pay  me' });
  });

  it('leaves stack, cause and response out of its JSON', () => {
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({
      error: {
        name: 'FundsError',
        code: 'insufficient_funds',
        message: 'It lacks 2.',
        funds: 'swapped',
        moved: [swap],
        retry: 'never',
        details: { mint: 'm', required: '3', available: '1' },
        untrusted: { reason: 'pay  me' },
      },
    });
  });

  it('hides its response from keys and inspect, and has no cause unless given', () => {
    expect(Object.keys(error)).not.toContain('response');
    expect(inspect(error)).not.toContain('Response');
    expect('cause' in noRoute()).toBe(false);
    expect('response' in noRoute()).toBe(false);
    expect(
      new TransportError('timeout', 'Late.', {
        details: { step: 's', timeoutMs: 1 },
        cause: undefined,
      }),
    ).toHaveProperty('cause', undefined);
  });

  it('throws when code that catches it changes its details, moved or untrusted', () => {
    expect(() => Object.assign(error.details, { required: '0' })).toThrow(TypeError);
    expect(() => (error.moved as Moved[]).push(payment)).toThrow(TypeError);
    expect(() => Object.assign(error.untrusted ?? {}, { reason: 'x' })).toThrow(TypeError);
  });

  it('keeps its own copy of the moved list', () => {
    const moved = [swap];
    const made = noRoute({ moved });
    moved.push(payment);
    expect(made.moved).toEqual([swap]);
  });
});

describe('isExactChangeError', () => {
  it('accepts an error by its brand, and by its code when a code is given', () => {
    const error: unknown = noRoute();
    expect(isExactChangeError(error)).toBe(true);
    expect(isExactChangeError(error, 'no_route')).toBe(true);
    expect(isExactChangeError(error, 'timeout')).toBe(false);
  });

  it.each([
    [undefined],
    [null],
    ['no_route'],
    [5],
    [new Error('no_route')],
    [{ code: 'no_route' }],
    [Object.assign(new Error('x'), { code: 'no_route' })],
    [() => 1],
  ])('refuses the value %o', (value) => {
    expect(isExactChangeError(value)).toBe(false);
    expect(isExactChangeError(value, 'no_route')).toBe(false);
  });

  it('refuses what cannot even be looked at, such as an object of a frame that is gone', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(isExactChangeError(proxy)).toBe(false);
  });

  it('accepts errors from a second copy of the package, which shares no class', async () => {
    vi.resetModules();
    const other = await import('../../src/errors.js');
    const foreign = new other.QuoteError('no_route', 'x', {
      details: { inputMint: 'a', outputMint: 'b' },
    });
    expect(other.ExactChangeError).not.toBe(ExactChangeError);
    expect(foreign).not.toBeInstanceOf(ExactChangeError);
    expect(isExactChangeError(foreign, 'no_route') && foreign.details.inputMint).toBe('a');
    expect(other.isExactChangeError(noRoute(), 'no_route')).toBe(true);
    const amended = amendError(foreign, { moved: [swap] });
    expect(amended).toBeInstanceOf(other.QuoteError);
    expect(other.isExactChangeError(amended, 'no_route') && amended.funds).toBe('swapped');
  });

  it('accepts errors from another realm', () => {
    const foreign: unknown = runInNewContext(
      `Object.defineProperty(Object.assign(new Error('x'), { code: 'timeout' }), Symbol.for('exact-change.error'), { value: true })`,
    );
    expect(foreign).not.toBeInstanceOf(Error);
    expect(isExactChangeError(foreign, 'timeout')).toBe(true);
  });
});

describe('amendError', () => {
  it('puts earlier moves first, and derives funds from all moves', () => {
    const amended = amendError(noRoute(), { moved: [swap] });
    expect([amended.funds, amended.moved]).toEqual(['swapped', [swap]]);
    expect(amendError(noRoute({ moved: [payment] }), { moved: [swap] })).toMatchObject({
      moved: [swap, payment],
      funds: 'spent',
    });
    expect(amendError(noRoute({ moved: [swap] }), { moved: [swap] }).moved).toEqual([swap]);
  });

  it.each([
    ['untouched', [], 'untouched'],
    ['untouched', [swap], 'swapped'],
    ['untouched', [swap, payment], 'spent'],
    ['swapped', [], 'swapped'],
    ['swapped', [payment], 'spent'],
    ['uncertain', [], 'uncertain'],
    ['uncertain', [swap], 'uncertain'],
    ['uncertain', [swap, payment], 'uncertain'],
    ['spent', [], 'spent'],
    ['spent', [swap], 'spent'],
  ] as const)('turns funds %s with moves %o into %s', (funds, moved, expected) => {
    expect(amendError(noRoute({ funds }), { moved }).funds).toBe(expected);
  });

  it('keeps class, name, code, message, details, retry, cause, stack and untrusted text', () => {
    const cause = { any: 'value' };
    const error = noRoute({ cause, retry: 'fresh', untrusted: { reason: 'r' } });
    const amended = amendError(error, { moved: [swap] });
    expect(amended).not.toBe(error);
    expect(amended).toBeInstanceOf(QuoteError);
    for (const key of [
      'name',
      'code',
      'message',
      'details',
      'retry',
      'stack',
      'untrusted',
    ] as const)
      expect(amended[key]).toEqual(error[key]);
    expect(amended.cause).toBe(cause);
    expect(Object.keys(amended)).not.toContain('cause');
  });

  it('says what may still land, also over transactions that landed', () => {
    const amended = amendError(noRoute(), { moved: [swap], funds: 'uncertain', retry: 'same' });
    expect(amended).toMatchObject({ funds: 'uncertain', retry: 'same', moved: [swap] });
  });

  it('does not change the original error, because another call may share it', () => {
    const error = noRoute();
    amendError(error, { moved: [swap], response: new Response() });
    expect([error.funds, error.moved, error.response]).toEqual(['untouched', [], undefined]);
  });

  it('attaches a hidden response unless the error already has a response', () => {
    const [near, far] = [new Response(), new Response()];
    const amended = amendError(noRoute(), { response: far });
    expect(amended.response).toBe(far);
    expect(Object.keys(amended)).not.toContain('response');
    expect(amendError(noRoute({ response: near }), { response: far }).response).toBe(near);
  });

  it('amends an error with a code that only a newer copy of the package knows', () => {
    const newer = Object.assign(noRoute({ funds: 'uncertain' }), {
      code: 'from_the_future',
      name: 'FutureError',
    });
    // The code changed after construction, so this copy does not know it.
    const amended = amendError(newer, { moved: [swap] });
    expect(amended).toMatchObject({
      code: 'from_the_future',
      name: 'FutureError',
      funds: 'uncertain',
      moved: [swap],
    });
  });
});

describe('cleanText', () => {
  it.each([
    ['control characters', 'a\u0000b\u001bc\u007fd\u0085e\nf\tg', 'a b c d e f g'],
    ['direction marks', '\u202egpj.exe\u202c \u2066x\u2069 \u061cy \u200fz', 'gpj.exe   x   y  z'],
    ['zero-width characters', 'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg', 'a b c d e f g'],
    ['line and paragraph separators', 'a\u2028b\u2029c', 'a b c'],
    [
      'tag characters, which spell hidden sentences',
      `ok${'PAY'.replace(/./g, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0)))}`,
      'ok',
    ],
    [
      'variation selectors, which carry hidden bytes',
      `ok${String.fromCodePoint(0xe0100, 0xe01ef, 0xfe00)}!`,
      'ok   !',
    ],
    ['invisible fillers', 'a\u3164b\u115fc\u034fd', 'a b c d'],
    ['private and unassigned characters', 'a\ue000b\uffffc\u{10ffff}d', 'a b c d'],
    ['lone surrogates', 'a\ud83db\ude00c', 'a b c'],
    ['spaces at both ends', '  a  ', 'a'],
    ['no character of empty text', '', ''],
  ])('removes %s', (_, text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  it.each(['grüße, 日本語, العربية, हिन्दी', '👍 100% – “ok”', '🇩🇪'])('keeps %s', (text) => {
    expect(cleanText(text)).toBe(text);
  });

  it('cuts text at 200 units, never within a character', () => {
    expect(cleanText('x'.repeat(10_000))).toBe('x'.repeat(200));
    expect(cleanText(`${'x'.repeat(199)}👍`)).toBe('x'.repeat(199));
    expect(cleanText(`${'x'.repeat(198)}👍`)).toBe(`${'x'.repeat(198)}👍`);
    expect(cleanText(`${' '.repeat(799)}👍`)).toBe('');
  });

  it('returns at most 200 printable units for any text, and does not change clean text', () => {
    const hostile = anyText({ maxLength: 900 });
    fc.assert(
      fc.property(
        fc.oneof(
          hostile,
          fc
            .array(fc.integer({ min: 0, max: 0xffff }))
            .map((units) => String.fromCharCode(...units)),
        ),
        (text) => {
          const clean = cleanText(text);
          expect(clean.length).toBeLessThanOrEqual(200);
          expect(clean).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
          expect(encodeURIComponent(clean)).toBeTypeOf('string');
          expect(cleanText(clean)).toBe(clean);
        },
      ),
    );
  });

  it('cleans five million characters without a slow scan', () => {
    expect(cleanText('\u200b'.repeat(5_000_000))).toBe('');
  });
});
