import { expect, it } from 'vitest';
import { refuseUnknown } from '../../../src/internal/options.js';

const NAMES = ['autoSwap', 'maxPerDay', 'per', 'signer'];
const refusal = (options: unknown, path?: string): string => {
  try {
    refuseUnknown(options, NAMES, path);
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
  return '';
};

it.each<[string, unknown, string]>([
  [
    'a missing letter',
    { autoSwp: true },
    'Option autoSwp is not known. Did you mean autoSwap? Correct its name.',
  ],
  [
    'two letters in the wrong order',
    { maxPerDya: '1' },
    'Option maxPerDya is not known. Did you mean maxPerDay? Correct its name.',
  ],
  [
    'another case',
    { AUTOSWAP: true },
    'Option AUTOSWAP is not known. Did you mean autoSwap? Correct its name.',
  ],
  [
    'a short name with a wrong letter',
    { pr: 'day' },
    `Option pr is not known. Use one of ${NAMES.join(', ')}.`,
  ],
  ['another word', { wallet: 'x' }, `Option wallet is not known. Use one of ${NAMES.join(', ')}.`],
])('names the likely option, or all options, for %s', (_, options, message) => {
  expect(refusal(options)).toBe(message);
});

it('names a nested option by its path', () => {
  expect(refusal({ maxPerDy: '1' }, 'policy')).toBe(
    'Option policy.maxPerDy is not known. Did you mean policy.maxPerDay? Correct its name.',
  );
});

it('names the place of an option that stands too high', () => {
  const inner = { policy: ['minSwap'] };
  expect(() => refuseUnknown({ minSwap: '1' }, NAMES, undefined, inner)).toThrow(
    'Option minSwap is not known. Did you mean policy.minSwap? Correct its name.',
  );
});

it.each([[null], ['text'], [[]], [new Map()]])('refuses %j, which has no options', (options) => {
  expect(refusal(options, 'policy')).toBe('Option policy must be an object.');
});

it('accepts all known options', () => {
  expect(refusal({ per: 'day', signer: 1 })).toBe('');
});
