import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isExactChangeError } from '../../../src/errors.js';
import { pinnedMint, SOLANA_DEVNET, SOLANA_MAINNET } from '../../../src/network.js';
import { formatUsd, parsePolicy, type PolicyOptions } from '../../../src/policy/policy.js';

const USDC = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint ?? '';
const parse = (options: PolicyOptions) => parsePolicy(options, SOLANA_MAINNET);

function refusedOption(options: unknown): string {
  try {
    parse(options as PolicyOptions);
  } catch (error) {
    if (isExactChangeError(error, 'invalid_option')) return error.details.option;
    throw error;
  }
  throw new Error('It was taken.');
}

describe('rules by default', () => {
  it('are those of the documentation', () => {
    expect(parse({})).toEqual({
      maxPerPayment: 1_000_000n,
      maxPerDay: 10_000_000n,
      maxPerHost: new Map(),
      maxAmount: new Map(),
      maxInAmount: new Map(),
      minSwap: 50_000n,
      maxSlippageBps: 50,
      maxPriceImpactBps: 100,
      maxSwapLossBps: 100,
      maxFeeLamports: 250_000n,
      maxRentLamports: 10_000_000n,
    });
  });

  it('cannot be changed afterwards', () => {
    const policy = parse({});
    expect(() => Object.assign(policy, { maxPerDay: 10n ** 12n })).toThrow(TypeError);
  });
});

describe('a misspelt rule', () => {
  const names = [
    'maxPerday',
    'maxperday',
    'max_per_day',
    'MaxPerDay',
    'maxPerPayments',
    'maxPerHosts',
    'maxAmounts',
    'maxSlippage',
    'limit',
    '',
  ];
  it.each(names)('%j is refused, because it would be no rule at all', (name) => {
    expect(refusedOption({ [name]: '1.00' })).toBe(`policy.${name}`);
  });
});

describe('dollars', () => {
  it.each([
    ['0', 0n],
    ['0.25', 250_000n],
    ['5', 5_000_000n],
    ['1.000001', 1_000_001n],
    ['99999999999999999999.999999', 99_999_999_999_999_999_999_999_999n],
  ])('%s are %s millionths', (text, expected) => {
    expect(parse({ maxPerDay: text, maxPerPayment: text, minSwap: text })).toMatchObject({
      maxPerDay: expected,
      maxPerPayment: expected,
      minSwap: expected,
    });
    expect(formatUsd(expected)).toBe(text);
  });

  const wrong = [
    0.25,
    1,
    1n,
    true,
    [],
    {},
    '',
    ' 1',
    '1 ',
    '1\n',
    '+1',
    '-1',
    '.5',
    '5.',
    '01',
    '1,5',
    '1e3',
    '0x1',
    '$1',
    '1.00 USD',
    '1.0000001',
    'NaN',
    'Infinity',
    '١',
    '１',
  ];
  it.each(wrong.map((value) => [inspect(value), value]))('%s are refused in every place', (_, value) => {
    for (const name of ['maxPerPayment', 'maxPerDay', 'minSwap']) expect(refusedOption({ [name]: value })).toBe(`policy.${name}`);
    expect(refusedOption({ maxPerHost: { 'a.test': value } })).toBe("policy.maxPerHost['a.test']");
  });
});

describe('hosts', () => {
  const same: readonly (readonly [string, string])[] = [
    ['api.example.com', 'api.example.com'],
    ['API.Example.COM', 'api.example.com'],
    ['api.example.com.', 'api.example.com'],
    ['api.example.com:443', 'api.example.com'],
    ['api.example.com:8443', 'api.example.com:8443'],
    ['api.example.com.:8443', 'api.example.com:8443'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['аpple.com', 'xn--pple-43d.com'],
    ['localhost:4021', 'localhost:4021'],
    ['127.0.0.1:80', '127.0.0.1:80'],
    ['0x7f.1', '127.0.0.1'],
    ['[::1]:4021', '[::1]:4021'],
    ['[0:0:0:0:0:0:0:1]', '[::1]'],
  ];
  it.each(same)('%s is %s', (given, host) => {
    expect([...parse({ maxPerHost: { [given]: '1' } }).maxPerHost]).toEqual([[host, 1_000_000n]]);
  });

  const wrong = [
    '',
    ' ',
    '.',
    'https://api.example.com',
    'https:',
    '//api.example.com',
    'api.example.com/path',
    'api.example.com/',
    'api.example.com?q',
    'api.example.com?',
    'api.example.com#',
    'user@api.example.com',
    ':secret@api.example.com',
    '@api.example.com',
    'api.example.com\\evil.test',
    ' api.example.com',
    'api.exa\tmple.com',
    'api.example.com\n',
    'api.example.com:port',
    'api.example.com:99999',
    '*.example.com',
    '*',
    'api%2eexample.com',
    '[::1',
    'a..b',
  ];
  it.each(wrong)('%j is refused: it would be no cap at all', (host) => {
    expect(refusedOption({ maxPerHost: { [host]: '1' } })).toBe(`policy.maxPerHost['${host}']`);
  });

  it('under two spellings are refused: one cap would be lost', () => {
    expect(refusedOption({ maxPerHost: { 'api.example.com': '1', 'API.example.com.': '5' } })).toBe(
      "policy.maxPerHost['API.example.com.']",
    );
  });
});

describe.each(['maxAmount', 'maxInAmount'] as const)('caps in base units: %s', (name) => {
  it('take a mint or a pinned symbol, as bigint or decimal text', () => {
    const other = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
    expect([...parse({ [name]: { USDC: '5', [other]: 7n } })[name]]).toEqual([
      [USDC, 5n],
      [other, 7n],
    ]);
    expect([...parsePolicy({ [name]: { USDC: 1n } }, SOLANA_DEVNET)[name].keys()]).not.toContain(USDC);
  });

  it.each([[5], ['-1'], [-1n], ['1.5'], ['0x5'], [''], [2n ** 64n], ['18446744073709551616'], [null]])('refuse the amount %s', (amount) => {
    expect(refusedOption({ [name]: { USDC: amount } })).toBe(`policy.${name}['USDC']`);
  });

  it.each(['usdc', 'BONK', '', USDC.slice(9), `${USDC} `, '__proto__x'])('refuse the mint %j', (mint) => {
    expect(refusedOption({ [name]: { [mint]: '1' } })).toBe(`policy.${name}['${mint}']`);
  });

  it('under a symbol and its address are refused: one cap would be lost', () => {
    expect(refusedOption({ [name]: { USDC: '1', [USDC]: '2' } })).toBe(`policy.${name}['${USDC}']`);
  });
});

describe('what is no table of caps', () => {
  // A Map has no entries as an object: it would silently be no cap.
  const wrong = [new Map([['a.test', '1']]), new Set(['a.test']), [['a.test', '1']], 'a.test', 5, true];
  it.each(wrong)('%j is refused', (value) => {
    expect(refusedOption({ maxPerHost: value })).toBe('policy.maxPerHost');
    expect(refusedOption({ maxAmount: value })).toBe('policy.maxAmount');
    expect(refusedOption({ maxInAmount: value })).toBe('policy.maxInAmount');
    expect(refusedOption(value)).toBe('policy');
  });
});

describe('bounds', () => {
  it.each(['maxSlippageBps', 'maxPriceImpactBps', 'maxSwapLossBps'])('%s are whole basis points from 0 to 10000', (name) => {
    for (const value of [0, 1, 10_000]) expect(parse({ [name]: value })).toMatchObject({ [name]: value });
    for (const value of [-1, 10_001, 0.5, NaN, Infinity, '50', 50n, true, []])
      expect(refusedOption({ [name]: value })).toBe(`policy.${name}`);
  });

  it.each(['maxFeeLamports', 'maxRentLamports'])('%s are lamports', (name) => {
    for (const value of [0n, '0', 5n, '5', 2n ** 64n - 1n]) expect(parse({ [name]: value })).toMatchObject({ [name]: BigInt(value) });
    for (const value of [5, -1n, '-1', '1.5', '0.001 SOL', 2n ** 64n, true])
      expect(refusedOption({ [name]: value })).toBe(`policy.${name}`);
  });
});
