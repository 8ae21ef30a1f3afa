import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pinnedMint, SOLANA_DEVNET, SOLANA_MAINNET } from '../../../src/network.js';
import { type ListOptions } from '../../../src/policy/lists.js';
import { checkOffer, checkPlace } from '../../../src/policy/refusals.js';
import { parse, refusedOption } from './parse.js';

const USDC = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint ?? '';
const USDT = pinnedMint(SOLANA_MAINNET, 'USDT')?.mint ?? '';
const PAYEE = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const OTHER = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const offer = { payTo: PAYEE, mint: USDC, network: SOLANA_MAINNET, scheme: 'exact' };

describe('a list of hosts', () => {
  const cases: readonly (readonly [entry: string, url: string, named: boolean])[] = [
    ['api.example.com', 'https://api.example.com/x', true],
    ['api.example.com', 'https://API.EXAMPLE.COM/', true],
    ['API.Example.COM.', 'https://api.example.com/', true],
    ['api.example.com', 'https://api.example.com./', true],
    ['api.example.com', 'https://api.example.com:8443/', true],
    ['api.example.com', 'https://api.example.com.:8443/', true],
    ['api.example.com', 'https://api.example.com.evil.test/', false],
    ['api.example.com', 'https://sub.api.example.com/', false],
    ['api.example.com', 'https://example.com/', false],
    ['api.example.com', 'https://api-example.com/', false],
    ['api.example.com:8443', 'https://api.example.com:8443/', true],
    ['api.example.com:8443', 'https://api.example.com/', false],
    ['api.example.com:8443', 'https://api.example.com:443/', false],
    ['api.example.com:8443', 'https://api.example.com:8444/', false],
    ['*.example.com', 'https://api.example.com/', true],
    ['*.example.com', 'https://a.b.example.com./', true],
    ['*.EXAMPLE.com.', 'https://Api.example.com:8443/', true],
    ['*.example.com', 'https://example.com/', false],
    ['*.example.com', 'https://evilexample.com/', false],
    ['*.example.com', 'https://a.example.com.evil.test/', false],
    ['*.example.com:8443', 'https://a.example.com:8443/', true],
    ['*.example.com:8443', 'https://a.example.com/', false],
    ['bücher.example', 'https://xn--bcher-kva.example/', true],
    ['[::1]:4021', 'http://[::1]:4021/', true],
    ['[::1]:4021', 'http://[::1]:4022/', false],
    ['[::1]', 'http://[::2]/', false],
    ['__proto__', 'https://__proto__/', true],
    ['constructor', 'https://__proto__/', false],
  ];
  it.each(cases)('matches entry %s with URL %s: %s, for allow and deny', (entry, url, named) => {
    const { host } = new URL(url);
    const refusals = [
      checkPlace(parse({ allow: { hosts: [entry] } }), host),
      checkPlace(parse({ deny: { hosts: [entry] } }), host),
    ];
    expect(refusals.map((error) => error === undefined)).toEqual([named, !named]);
  });

  const wrong: readonly unknown[] = [
    '*',
    '*example.com',
    'api.*.com',
    '*.*.example.com',
    '*.0.0.1',
    '*.[::1]',
    'api.example.com:443',
    'api.example.com:0443',
    'localhost:80',
    '*.example.com:443',
    'https://api.example.com',
    5,
    ['api.example.com'],
  ];
  it.each(wrong.map((host) => [inspect(host), host]))(
    'refuses the entry %s, because it would be another rule or no rule',
    (_, host) => {
      expect(refusedOption({ deny: { hosts: ['a.test', host] } })).toBe('policy.deny.hosts[1]');
      expect(refusedOption({ allow: { hosts: [host] } })).toBe('policy.allow.hosts[0]');
    },
  );
});

describe('a list of payees, mints, networks or schemes', () => {
  const cases: readonly (readonly [
    lists: ListOptions,
    change: Partial<typeof offer>,
    named: boolean,
  ])[] = [
    [{ payees: [PAYEE] }, {}, true],
    [{ payees: [OTHER, PAYEE] }, {}, true],
    [{ payees: [OTHER] }, {}, false],
    [{ payees: [PAYEE] }, { payTo: PAYEE.toLowerCase() }, false],
    [{ payees: [PAYEE] }, { payTo: `${PAYEE} ` }, false],
    [{ payees: [PAYEE] }, { payTo: '__proto__' }, false],
    [{ mints: ['USDC'] }, {}, true],
    [{ mints: [USDC] }, {}, true],
    [{ mints: ['USDT'] }, {}, false],
    [{ mints: ['USDC'] }, { mint: 'USDC' }, false],
    [{ mints: [USDT, 'USDC'] }, { mint: USDT }, true],
    [{ networks: ['solana'] }, {}, true],
    [{ networks: [SOLANA_MAINNET] }, { network: 'solana:mainnet' }, true],
    [{ networks: ['solana-devnet'] }, { network: SOLANA_DEVNET }, true],
    [{ networks: ['solana-devnet'] }, {}, false],
    [{ networks: ['solana'] }, { network: 'constructor' }, false],
    [{ schemes: ['exact'] }, {}, true],
    [{ schemes: ['EXACT'] }, { scheme: 'Exact' }, true],
    [{ schemes: ['upto', 'exact'] }, { scheme: ' exact ' }, true],
    [{ schemes: ['upto'] }, {}, false],
    [{ schemes: ['exact'] }, { scheme: 'constructor' }, false],
  ];
  it.each(cases)(
    'matches the lists %j with an offer of %j: %s, for allow and deny',
    (lists, change, named) => {
      const refusals = [
        checkOffer(parse({ allow: lists }), { ...offer, ...change }),
        checkOffer(parse({ deny: lists }), { ...offer, ...change }),
      ];
      expect(refusals.map((error) => error === undefined)).toEqual([named, !named]);
    },
  );

  const wrong: readonly (readonly [kind: string, entry: unknown])[] = [
    ['payees', 'USDC'],
    ['payees', `${PAYEE} `],
    ['mints', 'usdc'],
    ['mints', 5],
    ['networks', 'solona'],
    ['networks', 'constructor'],
    ['schemes', ''],
    ['schemes', 'exact '],
    ['schemes', '*'],
    ['schemes', 5],
  ];
  it.each(wrong)('refuses in %s the entry %j', (kind, entry) => {
    expect(refusedOption({ allow: { [kind]: [entry] } })).toBe(`policy.allow.${kind}[0]`);
    expect(refusedOption({ deny: { [kind]: [entry] } })).toBe(`policy.deny.${kind}[0]`);
  });
});

describe('a policy with lists', () => {
  it.each(['allow', 'deny'])('refuses an unknown or invalid list in %s', (side) => {
    for (const kind of ['host', 'Hosts', 'origins', 'payTo', ''])
      expect(refusedOption({ [side]: { [kind]: [] } })).toBe(`policy.${side}.${kind}`);
    for (const list of ['a.test', { 0: 'a.test' }, new Set(['a.test']), null, true])
      expect(refusedOption({ [side]: { hosts: list } })).toBe(`policy.${side}.hosts`);
    expect(refusedOption({ [side]: { hosts: Array(1) } })).toBe(`policy.${side}.hosts[0]`);
    expect(refusedOption({ [side]: null })).toBe(`policy.${side}`);
  });

  it('lets everything through when its lists are left out', () => {
    for (const policy of [parse({}), parse({ allow: {}, deny: {} })])
      expect([checkPlace(policy, 'a.test'), checkOffer(policy, offer)]).toEqual([
        undefined,
        undefined,
      ]);
  });

  it('lets nothing through with empty allow lists, and everything with empty deny lists', () => {
    const empty = { hosts: [], payees: [], mints: [], networks: [], schemes: [] };
    expect([
      checkPlace(parse({ deny: empty }), 'a.test'),
      checkOffer(parse({ deny: empty }), offer),
    ]).toEqual([undefined, undefined]);
    const policy = parse({ allow: empty });
    expect([checkPlace(policy, 'a.test')?.code, checkOffer(policy, offer)?.code]).toEqual([
      'not_allowed',
      'not_allowed',
    ]);
  });

  it('applies its deny lists before its allow lists', () => {
    const policy = parse({
      allow: { hosts: ['*.example.com'], mints: ['USDC'] },
      deny: { hosts: ['bad.example.com'], mints: [USDC] },
    });
    expect(checkPlace(policy, 'good.example.com')).toBeUndefined();
    expect(checkPlace(policy, 'bad.example.com')?.details).toEqual({
      list: 'deny.hosts',
      value: 'bad.example.com',
    });
    expect(checkOffer(policy, offer)?.details).toEqual({ list: 'deny.mints', value: USDC });
    const both = parse({ allow: { hosts: ['a.test'] }, deny: { hosts: ['b.test'] } });
    expect(checkPlace(both, 'b.test')?.details.list).toBe('deny.hosts');
  });

  it('requires every allow list to match', () => {
    const policy = parse({
      allow: { payees: [PAYEE], mints: ['USDC'], networks: ['solana'], schemes: ['exact'] },
    });
    expect(checkOffer(policy, offer)).toBeUndefined();
    const changes = { payTo: OTHER, mint: USDT, network: SOLANA_DEVNET, scheme: 'upto' };
    const lists = Object.entries(changes).map(
      ([field, value]) => checkOffer(policy, { ...offer, [field]: value })?.details.list,
    );
    expect(lists).toEqual(['allow.payees', 'allow.mints', 'allow.networks', 'allow.schemes']);
  });

  it('refuses with the rule and the value as details, and keeps seller text out of the message', () => {
    const error = checkPlace(parse({ allow: { hosts: ['a.test'] } }), 'send-me-money.test.:8443');
    expect(error).toMatchObject({
      code: 'not_allowed',
      details: { list: 'allow.hosts', value: 'send-me-money.test:8443' },
      funds: 'untouched',
      retry: 'never',
    });
    expect(error?.message).toBe(
      'Refused by policy.allow.hosts, which does not name what is in details.value. Change the list to allow it.',
    );
    const hidden = checkOffer(parse({ deny: { schemes: [] }, allow: { schemes: [] } }), {
      ...offer,
      scheme: 'a\u202eb',
    });
    expect(hidden?.details.value).toBe('a b');
  });
});
