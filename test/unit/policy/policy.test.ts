import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pinnedMint, SOLANA_DEVNET, SOLANA_MAINNET } from '../../../src/network.js';
import { formatUsd } from '../../../src/amount.js';
import { parsePolicy } from '../../../src/policy/policy.js';
import { capsOf, parse, refusedOption } from './parse.js';

const USDC = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint ?? '';

describe('a policy by default', () => {
  it('has the documented rules', () => {
    expect(parse({})).toEqual({
      maxPerPayment: 1_000_000n,
      maxAmount: new Map(),
      perPayment: [],
      caps: [
        { name: 'maxPerDay', unit: 'USD', limit: 10_000_000n, windowMs: 86_400_000 },
        { name: 'maxLamportsPerDay', unit: 'lamports', limit: 50_000_000n, windowMs: 86_400_000 },
      ],
      lists: [],
      approve: undefined,
      resign: 0,
      maxInAmount: new Map(),
      minSwap: 50_000n,
      topUp: undefined,
      maxSlippageBps: 50,
      maxPriceImpactBps: 100,
      maxSwapLossBps: 100,
      maxFeeLamports: 250_000n,
      maxRentLamports: 10_000_000n,
    });
  });

  it('cannot be changed afterwards', () => {
    const policy = parse({});
    expect(() => Object.assign(policy, { maxPerPayment: 10n ** 12n })).toThrow(TypeError);
    for (const list of [policy.caps, policy.perPayment, policy.lists])
      expect(() => Object.assign(list, { length: 0 })).toThrow(TypeError);
  });

  it('ignores later changes to its options', () => {
    const deny = { hosts: ['a.test'] };
    const limits = [{ payments: 1, per: 'day' as const }];
    const policy = parse({ deny, limits });
    deny.hosts.pop();
    limits.pop();
    expect(policy).toMatchObject({
      lists: [{ entries: ['a.test'] }],
      caps: [{}, {}, { name: 'limits[0]' }],
    });
  });
});

describe('a misspelt rule', () => {
  const names = ['maxPerday', 'max_per_day', 'reSign', ''];
  it.each(names)('is refused with the name %j, because it would have no effect', (name) => {
    expect(refusedOption({ [name]: '1.00' })).toBe(`policy.${name}`);
  });
});

describe('an amount in dollars', () => {
  it.each([
    ['0', 0n],
    ['0.25', 250_000n],
    ['5', 5_000_000n],
    ['1.000001', 1_000_001n],
    ['99999999999999999999.999999', 99_999_999_999_999_999_999_999_999n],
  ])('is read from %s as %s millionths', (text, expected) => {
    const dollars = {
      maxPerHour: text,
      maxPerDay: text,
      maxTotal: text,
      maxPerPayment: text,
      minSwap: text,
    };
    expect(capsOf(dollars)).toMatchObject([
      { name: 'maxPerHour', unit: 'USD', limit: expected, windowMs: 3_600_000 },
      { name: 'maxPerDay', unit: 'USD', limit: expected, windowMs: 86_400_000 },
      { name: 'maxTotal', unit: 'USD', limit: expected, windowMs: undefined },
    ]);
    expect(parse(dollars)).toMatchObject({
      maxPerPayment: expected,
      minSwap: expected,
    });
    expect(formatUsd(expected)).toBe(text);
  });

  const wrong = [0.25, 1, 1n, ' 1', '1 ', '1\n', '-1', '5.', '1e3', '0x1', '1.0000001', '١'];
  it.each(wrong.map((value) => [inspect(value), value]))(
    'is refused in every option when it is %s',
    (_, value) => {
      for (const name of ['maxPerPayment', 'maxPerHour', 'maxPerDay', 'maxTotal', 'minSwap'])
        expect(refusedOption({ [name]: value })).toBe(`policy.${name}`);
      expect(refusedOption({ limits: [{ usd: value, per: 'day' }] })).toBe('policy.limits[0].usd');
      expect(refusedOption({ maxPerHost: { 'a.test': value } })).toBe(
        "policy.maxPerHost['a.test']",
      );
    },
  );
});

describe('the host of a cap', () => {
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
  it.each(same)('is read from %s as %s', (spelling, host) => {
    const cap = { unit: 'USD', limit: 1_000_000n, windowMs: 86_400_000, host };
    expect(capsOf({ maxPerHost: { [spelling]: '1' } }).slice(1)).toEqual([
      { ...cap, name: `maxPerHost['${host}']` },
    ]);
    expect(capsOf({ limits: [{ usd: '1', per: 'day', host: spelling }] }).slice(1)).toEqual([
      { ...cap, name: 'limits[0]' },
    ]);
  });

  const wrong = [
    '',
    '.',
    'https://api.example.com',
    'https:',
    'api.example.com/',
    'api.example.com?q',
    'api.example.com#',
    ':secret@api.example.com',
    '@api.example.com',
    'api.example.com\\evil.test',
    ' api.example.com',
    'api.exa\tmple.com',
    'api.example.com\n',
    'api.example.com:port',
    '*.example.com',
    '*',
    'api%2eexample.com',
    '[::1',
    'a..b',
  ];
  it.each(wrong)('is refused when it is %j, because it would cap nothing', (host) => {
    expect(refusedOption({ maxPerHost: { [host]: '1' } })).toBe(`policy.maxPerHost['${host}']`);
    if (host !== '*')
      expect(refusedOption({ limits: [{ usd: '1', per: 'day', host }] })).toBe(
        'policy.limits[0].host',
      );
    if (host !== '*.example.com')
      expect(refusedOption({ deny: { hosts: [host] } })).toBe('policy.deny.hosts[0]');
  });

  it('may have the name of a member that every object has', () => {
    const names = ['__proto__', 'constructor', 'tostring', 'valueof'];
    const maxPerHost = JSON.parse(`{${names.map((name) => `"${name}":"1"`).join()}}`) as Record<
      string,
      string
    >;
    expect(
      capsOf({ maxPerHost })
        .slice(1)
        .map(({ host }) => host),
    ).toEqual(names);
  });

  it('is refused under two spellings, because a cap would be lost', () => {
    expect(refusedOption({ maxPerHost: { 'api.example.com': '1', 'API.example.com.': '5' } })).toBe(
      "policy.maxPerHost['API.example.com.']",
    );
  });
});

describe.each(['maxAmount', 'maxInAmount'] as const)(
  'the table %s of caps in base units',
  (name) => {
    it('takes a mint or a pinned symbol, with a bigint or decimal text', () => {
      const other = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
      expect([...parse({ [name]: { USDC: '5', [other]: 7n } })[name]]).toEqual([
        [USDC, 5n],
        [other, 7n],
      ]);
      expect([...parsePolicy({ [name]: { USDC: 1n } }, SOLANA_DEVNET)[name].keys()]).not.toContain(
        USDC,
      );
    });

    it.each([[5], ['-1'], [-1n], ['1.5'], [''], [2n ** 64n], ['18446744073709551616']])(
      'refuses the amount %s',
      (amount) => {
        expect(refusedOption({ [name]: { USDC: amount } })).toBe(`policy.${name}['USDC']`);
      },
    );

    it('says that base units are whole when the amount has decimals', () => {
      expect(() => parse({ [name]: { USDC: '0.5' } })).toThrow(
        `policy.${name}['USDC'] must be base units as a bigint or a whole number as text.`,
      );
    });

    it.each(['usdc', 'BONK', '', USDC.slice(9), `${USDC} `, '__proto__x'])(
      'refuses the mint %j',
      (mint) => {
        expect(refusedOption({ [name]: { [mint]: '1' } })).toBe(`policy.${name}['${mint}']`);
      },
    );

    it('refuses a symbol beside its address, because a cap would be lost', () => {
      expect(refusedOption({ [name]: { USDC: '1', [USDC]: '2' } })).toBe(
        `policy.${name}['${USDC}']`,
      );
    });
  },
);

describe('an invalid table of caps', () => {
  // A Map has no entries as an object, so it would silently cap nothing.
  const wrong = [new Map([['a.test', '1']]), new Set(['a.test']), [['a.test', '1']], 'a.test'];
  it.each(wrong)('is refused when it is %j', (value) => {
    expect(refusedOption({ maxPerHost: value })).toBe('policy.maxPerHost');
    expect(refusedOption({ maxAmount: value })).toBe('policy.maxAmount');
    expect(refusedOption({ maxInAmount: value })).toBe('policy.maxInAmount');
    expect(refusedOption({ allow: value })).toBe('policy.allow');
    expect(refusedOption({ deny: value })).toBe('policy.deny');
    expect(refusedOption({ limits: [value] })).toBe('policy.limits[0]');
    expect(refusedOption(value)).toBe('policy');
  });
});

describe('a bound', () => {
  it.each(['maxSlippageBps', 'maxPriceImpactBps', 'maxSwapLossBps'])(
    'is a whole number of basis points from 0 to 10000: %s',
    (name) => {
      for (const value of [0, 1, 10_000])
        expect(parse({ [name]: value })).toMatchObject({ [name]: value });
      for (const value of [-1, 10_001, 0.5, NaN, Infinity, '50', 50n, true, []])
        expect(refusedOption({ [name]: value })).toBe(`policy.${name}`);
    },
  );

  it.each(['maxFeeLamports', 'maxRentLamports'])('is an amount of lamports: %s', (name) => {
    for (const value of [0n, '0', 5n, '5', 2n ** 64n - 1n])
      expect(parse({ [name]: value })).toMatchObject({ [name]: BigInt(value) });
    for (const value of [5, -1n, '-1', '1.5', '0.001 SOL', 2n ** 64n, true])
      expect(refusedOption({ [name]: value })).toBe(`policy.${name}`);
  });
});

describe('a float', () => {
  const topUp = { token: 'USDC', below: '0.50', to: '2.00' };

  it('is kept in a pinned dollar token, in its base units', () => {
    const read = { symbol: 'USDC', decimals: 6, below: 500_000n, to: 2_000_000n };
    expect(parse({ topUp }).topUp).toMatchObject(read);
    const token = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
    expect(parse({ topUp: { ...topUp, token } }).topUp).toMatchObject(read);
  });

  it.each<[string, object]>([
    ['token', { token: 'SOL' }],
    ['token', { token: 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263' }],
    ['token', { token: ['USDC'] }],
    ['below', { below: 0.5 }],
    ['below', { below: '0' }],
    ['below', { below: '0.0000001' }],
    ['below', { below: '2.00' }],
    ['to', { to: 2_000_000n }],
  ])('is refused with a wrong %s: %o', (name, change) => {
    expect(refusedOption({ topUp: { ...topUp, ...change } })).toBe(`policy.topUp.${name}`);
  });

  it('is refused with an unknown field or when it is no object', () => {
    expect(refusedOption({ topUp: { ...topUp, upTo: '2.00' } })).toBe('policy.topUp.upTo');
    expect(() => parse({ topUp: { ...topUp, bellow: '1' } as never })).toThrow(
      'Did you mean policy.topUp.below?',
    );
    for (const value of [true, 'USDC', [], null])
      expect(refusedOption({ topUp: value })).toBe('policy.topUp');
  });
});

describe('a policy with approve and resign', () => {
  it('keeps both options as they are', () => {
    const approve = () => true;
    expect(parse({ approve, resign: 1 })).toMatchObject({ approve, resign: 1 });
  });

  it.each([[true], [false], ['yes'], [null], [{ call: () => true }], [Promise.resolve(true)]])(
    'refuses %j for approve, which must be a function',
    (approve) => {
      expect(refusedOption({ approve })).toBe('policy.approve');
    },
  );

  it.each([[2], [-1], [0.5], [NaN], ['1'], [1n], [true], [null], [[1]]])(
    'refuses %s for resign, which must be 0 or 1',
    (resign) => {
      expect(refusedOption({ resign })).toBe('policy.resign');
    },
  );
});
