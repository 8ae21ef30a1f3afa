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

/** An error of any code; the details do not matter here. */
const ofCode = (code: ErrorCode) => new ExactChangeError(code, 'It failed.', { details: {} });

describe('codes', () => {
  it('are lower snake case, each with one of the exported classes', () => {
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

  it('each say what repeating does, in one of three words', () => {
    for (const code of errorCodes) expect(['never', 'same', 'fresh']).toContain(ofCode(code).retry);
  });

  it('of what the caller has to mend are never worth repeating', () => {
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

  it('is an Error of its class, with everything at hand', () => {
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

  it('is JSON-safe: neither stack nor cause nor response', () => {
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

  it('shows no response if it is listed or inspected, and no cause if there is none', () => {
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

  it('cannot be changed by code that catches it', () => {
    expect(() => Object.assign(error.details, { required: '0' })).toThrow(TypeError);
    expect(() => (error.moved as Moved[]).push(payment)).toThrow(TypeError);
    expect(() => Object.assign(error.untrusted ?? {}, { reason: 'x' })).toThrow(TypeError);
  });

  it('keeps a list of its own of what moved', () => {
    const moved = [swap];
    const made = noRoute({ moved });
    moved.push(payment);
    expect(made.moved).toEqual([swap]);
  });
});

describe('the guard', () => {
  it('knows errors by brand and code', () => {
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
  ])('takes nothing else for one: %o', (value) => {
    expect(isExactChangeError(value)).toBe(false);
    expect(isExactChangeError(value, 'no_route')).toBe(false);
  });

  it('knows those of another copy of the package, though no class is shared', async () => {
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

  it('knows those of another realm', () => {
    const foreign: unknown = runInNewContext(
      `Object.defineProperty(Object.assign(new Error('x'), { code: 'timeout' }), Symbol.for('exact-change.error'), { value: true })`,
    );
    expect(foreign).not.toBeInstanceOf(Error);
    expect(isExactChangeError(foreign, 'timeout')).toBe(true);
  });
});

describe('amending', () => {
  it('adds what moved before, first, and says so', () => {
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
  ] as const)('funds %s with %o are %s: never better than they were', (funds, moved, expected) => {
    expect(amendError(noRoute({ funds }), { moved }).funds).toBe(expected);
  });

  it('keeps class, name, code, message, details, retry, cause, stack and untrusted', () => {
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

  it('leaves the error itself as it was, because another call may share it', () => {
    const error = noRoute();
    amendError(error, { moved: [swap], response: new Response() });
    expect([error.funds, error.moved, error.response]).toEqual(['untouched', [], undefined]);
  });

  it('attaches a response, hidden, but keeps the one that is nearer', () => {
    const [near, far] = [new Response(), new Response()];
    const amended = amendError(noRoute(), { response: far });
    expect(amended.response).toBe(far);
    expect(Object.keys(amended)).not.toContain('response');
    expect(amendError(noRoute({ response: near }), { response: far }).response).toBe(near);
  });

  it('takes errors with codes that only a newer copy knows', () => {
    const newer = Object.assign(noRoute({ funds: 'uncertain' }), {
      code: 'from_the_future',
      name: 'FutureError',
    });
    // As it is after its constructor: the code is no longer one of ours.
    const amended = amendError(newer, { moved: [swap] });
    expect(amended).toMatchObject({
      code: 'from_the_future',
      name: 'FutureError',
      funds: 'uncertain',
      moved: [swap],
    });
  });
});

describe('text from others', () => {
  it.each([
    ['control characters', 'a\u0000b\u001bc\u007fd\u0085e\nf\tg', 'a b c d e f g'],
    ['direction', '\u202egpj.exe\u202c \u2066x\u2069 \u061cy \u200fz', 'gpj.exe   x   y  z'],
    ['zero width', 'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg', 'a b c d e f g'],
    ['separators', 'a\u2028b\u2029c', 'a b c'],
    [
      'tags, which spell hidden sentences',
      `ok${'PAY'.replace(/./g, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0)))}`,
      'ok',
    ],
    [
      'variation selectors, which carry hidden bytes',
      `ok${String.fromCodePoint(0xe0100, 0xe01ef, 0xfe00)}!`,
      'ok   !',
    ],
    ['fillers that show nothing', 'a\u3164b\u115fc\u034fd', 'a b c d'],
    ['private and no characters', 'a\ue000b\uffffc\u{10ffff}d', 'a b c d'],
    ['half surrogates', 'a\ud83db\ude00c', 'a b c'],
    ['spaces around', '  a  ', 'a'],
    ['nothing', '', ''],
  ])('%s are taken out', (_, text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  it.each(['grüße, 日本語, العربية, हिन्दी', '👍 100% – “ok”', '🇩🇪'])('%s stays', (text) => {
    expect(cleanText(text)).toBe(text);
  });

  it('is cut at 200, never within a character', () => {
    expect(cleanText('x'.repeat(10_000))).toBe('x'.repeat(200));
    expect(cleanText(`${'x'.repeat(199)}👍`)).toBe('x'.repeat(199));
    expect(cleanText(`${'x'.repeat(198)}👍`)).toBe(`${'x'.repeat(198)}👍`);
    expect(cleanText(`${' '.repeat(799)}👍`)).toBe('');
  });

  it('is always fit to show, and clean text is clean', () => {
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

  it('costs no time worth naming, however long', () => {
    expect(cleanText('\u200b'.repeat(5_000_000))).toBe('');
  });
});
