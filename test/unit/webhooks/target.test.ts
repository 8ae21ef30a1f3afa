import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAddress, whyNotPublic } from '../../../adapters/webhooks/addresses.js';
import { literalOf, readTarget } from '../../../adapters/webhooks/target.js';

const STRICT = { allowPrivate: false, ports: [443] };
const LOOSE = { allowPrivate: true, ports: [443] };

/** Addresses that lead, or may lead, into a private network. */
const REFUSED: readonly string[] = [
  // IPv4 of this machine, its network and its cloud
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '0',
    '0.0.0.1',
    '10.0.0.1',
    '10.255.255.255',
  ],
  ...[
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.168.255.255',
    '169.254.169.254',
    '169.254.0.1',
    '169.254.170.2',
  ],
  ...[
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
    '192.0.0.192',
    '192.0.0.1',
    '168.63.129.16',
  ],
  // IPv4 for documentation, benchmarks, relays, multicast, reserved use and broadcast
  ...[
    '192.0.2.1',
    '198.51.100.7',
    '203.0.113.255',
    '198.18.0.1',
    '198.19.255.255',
    '192.88.99.1',
    '192.31.196.1',
    '192.52.193.1',
  ],
  ...['192.175.48.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  // Private IPv4 in other notations
  ...[
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '017700000001',
    '0x7f.1',
    '00000177.0.0.1',
    '127.0.0.1.',
    '127.0.0.01',
  ],
  ...[
    '0xA9FEA9FE',
    '2852039166',
    '0251.0376.0251.0376',
    '0xa9.254.0xa9.254',
    '169.254.43518',
    '3232235521',
    '0xc0.0xa8.0x0.0x1',
  ],
  ...[
    '１２７.０.０.１',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '127%2e0%2e0%2e1',
    '%31%32%37.0.0.1',
    '0x7F.0X0.0.1',
    '4294967295',
  ],
  // IPv6
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[0000::0001]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:10.0.0.1]',
  ],
  ...[
    '[::ffff:169.254.169.254]',
    '[::FFFF:8.8.8.8]',
    '[0:0:0:0:0:ffff:a00:1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::10.0.0.1]',
  ],
  ...[
    '[64:ff9b::8.8.8.8]',
    '[64:ff9b:1::1]',
    '[64:ff9b:1:ffff::a9fe:a9fe]',
    '[100::1]',
    '[100:0:0:1::1]',
    '[2001::1]',
    '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
  ],
  ...[
    '[2001:2::1]',
    '[2001:10::1]',
    '[2001:20::1]',
    '[2001:1ff:ffff::1]',
    '[2001:db8::1]',
    '[2002:7f00:1::]',
    '[2002:a00:1::1]',
    '[2002:808:808::1]',
  ],
  ...[
    '[3ffe::1]',
    '[3fff::1]',
    '[3fff:fff::1]',
    '[2620:4f:8000::1]',
    '[5f00::1]',
    '[4000::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fdff::1]',
  ],
  ...['[fe80::1]', '[febf::1]', '[fec0::1]', '[ff02::1]', '[ff0e::1]', '[e000::1]'],
  // Names of the local network
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'ｌｏｃａｌｈｏｓｔ',
    'printer.local',
    'metadata.google.internal',
    'x.internal',
    'router.lan',
  ],
  ...[
    'nas.home',
    'x.home.arpa',
    'wiki.corp',
    'intranet',
    'wiki.intranet',
    'db.private',
    'kubernetes',
    'x.test',
    'x.example',
    'x.invalid',
    'x.onion',
    'x.alt',
  ],
  // Malformed names, which parsers read in different ways
  ...[
    'example.com.',
    'example..com',
    '.example.com',
    '-a.example.com',
    'a-.example.com',
    `${'a'.repeat(64)}.example.com`,
    `${'a.'.repeat(130)}com`,
  ],
].map((host) => `https://${host}/hook`);

const ODD: readonly string[] = [
  'http://hooks.example.com/', 'ftp://hooks.example.com/', 'file:///etc/passwd', 'data:text/plain,x', 'javascript:alert(1)', 'ws://hooks.example.com/', 'gopher://hooks.example.com/',
  'blob:https://hooks.example.com/1', 'hooks.example.com', '//hooks.example.com', '', '/', 'https:', 'https://', 'https:///', 'https://?x',
  'https://user@hooks.example.com/', 'https://user:pass@hooks.example.com/', 'https://@hooks.example.com/', 'https://:@hooks.example.com/', 'https://hooks.example.com@127.0.0.1/',
  'https:user@hooks.example.com', 'https:/user:pass@hooks.example.com/', 'https:///user:pass@hooks.example.com/', 'https:@hooks.example.com/',
  'https://127.0.0.1#@hooks.example.com/', 'https://hooks.example.com/#fragment', 'https://hooks.example.com/#',
  'https://hooks.example.com:80/', 'https://hooks.example.com:8443/', 'https://hooks.example.com:22/', 'https://hooks.example.com:0/', 'https://hooks.example.com:65536/', 'https://hooks.example.com:443443/',
  'https://127.0.0.1:443/', 'https:\\\\hooks.example.com\\', 'https://hooks.example.com\\@127.0.0.1/', 'https://hooks.exam\tple.com/', 'https://hooks.example.com/\n', ' https://hooks.example.com/', 'https://hooks.example.com/a b',
  'https://hooks.example.com\u0000/', 'https://hooks_example,com/', 'https://[::1', 'https://[::1]x/', 'https://[fe80::1%25eth0]/', 'https://1.2.3.4.5/', 'https://256.1.1.1/', 'https://0x/',
  'https://ex ample.com/', 'https://exa<mple.com/', `https://hooks.example.com/${'a'.repeat(2_048)}`,
  // Its escapes make it longer than deliveries allow.
  `https://hooks.example.com/${'é'.repeat(400)}`,
]; // prettier-ignore

const ACCEPTED: readonly (readonly [input: string, kept: string])[] = [
  ['https://hooks.example.com/paid', 'https://hooks.example.com/paid'],
  ['https://hooks.example.com', 'https://hooks.example.com/'],
  [
    'https://hooks.example.com:443/paid?token=a%20b&x=@',
    'https://hooks.example.com/paid?token=a%20b&x=@',
  ],
  ['HTTPS://Hooks.EXAMPLE.com/Paid', 'https://hooks.example.com/Paid'],
  ['https://hooks.example.com/a@b', 'https://hooks.example.com/a@b'],
  ['https://a-b.c_d.example.co.uk/', 'https://a-b.c_d.example.co.uk/'],
  ['https://bücher.example.com/', 'https://xn--bcher-kva.example.com/'],
  ['https://localhost.example.com/', 'https://localhost.example.com/'],
  ['https://mylocal.com/', 'https://mylocal.com/'],
  ['https://127.0.0.1.nip.io/', 'https://127.0.0.1.nip.io/'],
  ['https://8.8.8.8/', 'https://8.8.8.8/'],
  ['https://134744072/', 'https://8.8.8.8/'],
  ['https://9.255.255.255/', 'https://9.255.255.255/'],
  ['https://172.32.0.1/', 'https://172.32.0.1/'],
  ['https://100.128.0.1/', 'https://100.128.0.1/'],
  ['https://168.63.129.17/', 'https://168.63.129.17/'],
  ['https://223.255.255.255/', 'https://223.255.255.255/'],
  ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
  ['https://[2A00:1450:4001:80b::200E]/x', 'https://[2a00:1450:4001:80b::200e]/x'],
  ['https://[2001:200::1]/', 'https://[2001:200::1]/'],
];

describe('the URL of an endpoint', () => {
  it('is tested with at least eighty private addresses', () => {
    expect(new Set(REFUSED).size).toBe(REFUSED.length);
    expect(REFUSED.length).toBeGreaterThanOrEqual(80);
  });

  it.each([...REFUSED, ...ODD])('is refused as %j', (url) => {
    expect(() => readTarget(url, STRICT)).toThrow(
      expect.objectContaining({
        name: 'ConfigError',
        code: 'invalid_option',
        details: { option: 'url' },
      }),
    );
  });

  it.each([
    undefined,
    null,
    7,
    {},
    ['https://hooks.example.com/'],
    new URL('https://hooks.example.com/'),
  ])('is refused as %j, which is not text', (url) => {
    expect(() => readTarget(url, STRICT)).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    );
  });

  it.each(ACCEPTED)('is accepted as %s', (input, kept) => {
    expect(readTarget(input, STRICT).href).toBe(kept);
  });

  it('may have an allowed port only', () => {
    const rules = { allowPrivate: false, ports: [443, 8443] };
    expect(readTarget('https://hooks.example.com:8443/', rules).port).toBe('8443');
    expect(() => readTarget('https://hooks.example.com/', { ...rules, ports: [8443] })).toThrow(
      /port 8443/,
    );
    expect(() => readTarget('https://hooks.example.com:8080/', rules)).toThrow(/port 443 or 8443/);
  });

  it('may be private and without TLS when options allow it, but never malformed', () => {
    for (const url of [
      'http://127.0.0.1:4021/hook',
      'http://localhost:3000/',
      'https://[::1]:8443/',
      'http://db.internal/',
    ]) {
      expect(readTarget(url, LOOSE).href).toBe(url);
    }
    for (const url of [
      'ftp://127.0.0.1/',
      'http://user@127.0.0.1/',
      'http://127.0.0.1/#x',
      'http:\\\\127.0.0.1',
      'nothing',
    ]) {
      expect(() => readTarget(url, LOOSE)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });

  it('is not quoted in an error, because it may hold a token', () => {
    for (const url of [
      'http://hooks.example.com/SECRET',
      'https://127.0.0.1/SECRET',
      'https://user:SECRET@hooks.example.com/',
    ]) {
      expect(() => readTarget(url, STRICT)).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining('SECRET') }),
      );
    }
  });
});

describe('an IP address', () => {
  it.each<[string, number, bigint]>([
    ['0.0.0.0', 4, 0n],
    ['255.255.255.255', 4, 0xffffffffn],
    ['::', 6, 0n],
    ['::1', 6, 1n],
    ['1::', 6, 1n << 112n],
    ['1:2:3:4:5:6:7:8', 6, 0x00010002000300040005000600070008n],
    ['1::8', 6, (1n << 112n) | 8n],
    ['::ffff:1.2.3.4', 6, 0xffff01020304n],
    ['1:2:3:4:5:6:1.2.3.4', 6, 0x00010002000300040005000601020304n],
    ['1:2:3:4:5:6:7::', 6, 0x00010002000300040005000600070000n],
    ['ABCD::', 6, 0xabcdn << 112n],
  ])('is read from %s', (text, version, bits) => {
    expect(readAddress(text)).toEqual({ version, bits });
  });

  it.each(['', '1', '1.2.3', '1.2.3.4.5', '1.2.3.256', '01.2.3.4', '1.2.3.4 ', '1.2.3.-4', '0x1.2.3.4', ':', ':::', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8::', '12345::', 'g::', '::1.2.3', '1.2.3.4::', '::1.2.3.4:5', 'fe80::1%eth0', '[::1]', 'example.com'])('is not read from %j, which is not public either', (text) => {
    expect(readAddress(text)).toBeUndefined();
    expect(whyNotPublic(text)).toBe('no IP address');
  }); // prettier-ignore

  it('is read from the form in which URL writes it', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const literal = literalOf(
          new URL(`https://[${groups.map((value) => value.toString(16)).join(':')}]/`),
        );
        expect(readAddress(literal ?? '')?.bits).toBe(
          groups.reduce((sum, value) => (sum << 16n) | BigInt(value), 0n),
        );
      }),
    );
    fc.assert(
      fc.property(fc.nat(0xffffffff), (number) => {
        expect(readAddress(literalOf(new URL(`https://${number}/`)) ?? '')).toEqual({
          version: 4,
          bits: BigInt(number),
        });
      }),
    );
  });

  it('of version 6 is public within 2000::/3 only', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), (bits) => {
        const groups = Array.from({ length: 8 }, (_, index) =>
          ((bits >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
        );
        if (bits >> 125n !== 1n) expect(whyNotPublic(groups.join(':'))).toBeDefined();
      }),
    );
  });
});
