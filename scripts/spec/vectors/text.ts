import { cleanText } from '../../../src/errors.js';
import { hideAddress, hideHeaders, hideKey, redact } from '../../../src/internal/redact.js';
import { readHost, readListedHost } from '../../../src/policy/hosts.js';

const WILD = [
  ...['plain', '  space  ', 'a\u0000b', 'a\nb', '\u202eevil', 'zero\u200bwidth', 'x'.repeat(201)],
  ...['tag\u{e0041}\u{e0042}', '\ud800half', 'half\udc00', '😀'.repeat(101), 'grün', '\ufeffmark'],
  ...['\ufff9note', 'private \ue000', '\u2028line', 'noncharacter \uffff', 'é\u0301', ''],
];

const SECRETS = {
  key: 'Sk-3f9aQ/plus+slash',
  address: 'https://us%2Fer:pass%20word1@rpc.example.com/v2/AbCdEf123456?api-key=zz99%2Fyy88xx77',
  headers: { authorization: 'Bearer tok_4711abcdefg', accept: 'application/json' },
};

const SHOWN = [
  'nothing to hide',
  'the key Sk-3f9aQ/plus+slash was refused',
  'the key sk-3F9AQ/PLUS+SLASH was refused',
  'escaped Sk-3f9aQ\\/plus+slash and Sk-3f9aQ\\\\\\/plus+slash',
  `encoded ${encodeURIComponent('Sk-3f9aQ/plus+slash')}`,
  ...[0, 1, 2].map((n) => Buffer.from(`${'x'.repeat(n)}Sk-3f9aQ/plus+slash!`).toString('base64')),
  'at /v2/AbCdEf123456/x and zz99/yy88xx77 or zz99%2Fyy88xx77',
  'tok_4711abcdefg application/json Bearer',
  `basic ${Buffer.from('us/er:pass word1').toString('base64')}`,
];

const HOSTS = [
  ...['api.example.com', 'API.Example.COM', 'example.com.', 'example.com:8443', 'example.com:443'],
  ...['*.example.com', '*', '*.', '', ' ', 'a b', 'https://example.com', 'example.com/path'],
  ...['[::1]', '[::1]:8080', '127.0.0.1', '127.0.0.1:80', 'user@example.com', 'münchen.example'],
  ...['xn--mnchen-3ya.example', 'example.com:80', 'example.com:0443', 'a..b', '-a.example', '_x.y'],
  // Letters with vowel signs, which are marks.
  'उदाहरण.भारत',
];

const attempt = (work: () => string): string | null => {
  try {
    return work();
  } catch {
    return null;
  }
};

export function text(): unknown[] {
  const clean = WILD.map((text) => ({ of: 'cleanText', in: text, out: cleanText(text) }));
  hideKey(SECRETS.key);
  hideAddress(SECRETS.address);
  hideHeaders(SECRETS.headers);
  return [
    ...clean,
    { of: 'secrets', in: SECRETS },
    ...SHOWN.map((text) => ({ of: 'redact', in: text, out: redact(text) })),
    ...HOSTS.map((host) => ({ of: 'host', in: host, out: attempt(() => readHost('host', host)) })),
    ...HOSTS.map((host) => ({
      ...{ of: 'listedHost', in: host },
      out: attempt(() => readListedHost('host', host)),
    })),
  ];
}
