import { inspect } from 'node:util';
import { Connection } from '@solana/web3.js';
import { createClient, isExactChangeError, remote, type Client } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TransportError } from '../../../src/errors.js';
import { hideAddress, hideKey, redact } from '../../../src/internal/redact.js';
import { eachNth, share } from '../../helpers/sampled.js';

const signer = {
  address: '9C6hybhQ6Aycep9jaUnP6uL9ZYvDjUp1aSkFWPUFJtpj',
  signMessage: () => Promise.reject(new Error('never asked')),
};
const swap = {
  inputMint: 'SOL',
  outputMint: 'USDC',
  amount: '1000000',
  swapMode: 'ExactIn',
} as const;

/** Spellings in which a server may repeat a key of its caller. */
function spellings(key: string): string[] {
  const around = ['', 'x', 'xy', 'https://node.test/?api-key='].map((before) =>
    Buffer.from(`${before}${key}&z`),
  );
  const base64s = around.flatMap((bytes) => [
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]);
  return [
    key,
    key.toUpperCase(),
    encodeURIComponent(key),
    encodeURIComponent(key).toLowerCase(),
    key.replace(/\//g, '\\/'),
    ...base64s,
  ];
}

/** Everything that an error shows, by every way to print it. */
function shownBy(error: unknown): string {
  return [
    inspect(error, { showHidden: true, depth: 10 }),
    JSON.stringify(error),
    String(error),
    error instanceof Error ? error.stack : '',
  ].join('\n');
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isExactChangeError(error)) throw new Error('expected an error of this library');
  return error;
}

function clientOf(options: Parameters<typeof createClient>[0]): Client {
  const client = createClient({
    signer,
    retries: 0,
    timeouts: { rpc: 300, jupiter: 300, service: 300 },
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** Answers of a server that repeats a text of its request. */
const echoes: readonly (readonly [string, (text: string) => Response])[] = [
  [
    'a JSON-RPC error',
    (text) => Response.json({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: text } }),
  ],
  ['a 400 in JSON', (text) => Response.json({ error: text, errorCode: text }, { status: 400 })],
  ['a 400 in text', (text) => new Response(text, { status: 400 })],
  ['a 403', (text) => Response.json({ error: text, message: text }, { status: 403 })],
  [
    'a problem',
    (text) =>
      Response.json(
        { code: 'no_route', title: text, detail: text, details: {} },
        { status: 422, headers: { 'content-type': 'application/problem+json' } },
      ),
  ],
];

/** A fetch with this answer. A JSON-RPC answer gets the id of its request, as a client demands. */
function echo(answer: (text: string) => Response, text: string): typeof fetch {
  return async (_input, init) => {
    const response = answer(text);
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (
      typeof init?.body !== 'string' ||
      typeof body !== 'object' ||
      body === null ||
      !('jsonrpc' in body)
    )
      return response;
    const question = JSON.parse(init.body) as { id: unknown };
    return Response.json({ ...body, id: question.id });
  };
}

const KEY = 'kEy+With/s1gns=and-3b1f9c';

describe('a key of a configured address or header', () => {
  type Call = (fetch: typeof globalThis.fetch) => Promise<unknown>;
  const node = 'https://node.test';
  const encoded = encodeURIComponent(KEY);
  const reading =
    (rpcUrl: string): Call =>
    (fetch) =>
      clientOf({ rpcUrl, fetch }).balance();
  const quoting =
    (options: Partial<Parameters<typeof createClient>[0]>): Call =>
    (fetch) =>
      clientOf({ rpcUrl: node, ...options, fetch }).quote(swap);
  const callers: readonly (readonly [string, Call])[] = [
    ['the query of rpcUrl', reading(`${node}/?api-key=${encoded}`)],
    ['the path of rpcUrl', reading(`${node}/v2/${encoded}`)],
    ['the query of rpcUrl, without a name', reading(`${node}/?${encoded}`)],
    [
      'the address of a connection',
      (fetch) => {
        const options = { fetch, disableRetryOnRateLimit: true };
        return clientOf({ connection: new Connection(`${node}/v2/${encoded}`, options) }).balance();
      },
    ],
    ['jupiterApiKey', quoting({ jupiterApiKey: KEY })],
    ['the path of jupiterUrl', quoting({ jupiterUrl: `https://jupiter.test/${encoded}` })],
    ['apiKey', quoting({ apiUrl: 'https://pay.test', apiKey: KEY })],
    [
      'a header of remote()',
      (fetch) => {
        const headers = { authorization: `Basic ${KEY}` };
        return remote('https://pay.test', { headers, fetch }).quote(swap);
      },
    ],
  ];

  const answers = callers.flatMap(([where, call]) =>
    echoes.map(([how, answer]) => [where, how, call, answer] as const),
  );
  it.each(share(answers, eachNth(answers, 3)))(
    'is in no error when a server repeats it: %s, in %s',
    async (_where, _how, call, answer) => {
      // All spellings run together, because each call asks its node twice with a pause.
      await Promise.all(
        spellings(KEY).map(async (spelling) => {
          const shown = shownBy(await failureOf(call(echo(answer, `refused: ${spelling}`))));
          for (const each of spellings(KEY)) expect(shown).not.toContain(each);
          expect(shown).not.toContain('3b1f9c');
        }),
      );
    },
  );

  it.each(callers)('is in no error when a fetch fails with it: %s', async (_where, call) => {
    const cause = Object.assign(new Error(`getaddrinfo ${KEY}`), { code: 'ENOTFOUND' });
    const fail = () =>
      Promise.reject(new TypeError(`request to https://node.test/v2/${KEY} failed`, { cause }));
    const error = await failureOf(call(fail));
    expect(shownBy(error)).not.toContain('3b1f9c');
  });
});

describe('the redaction of a text', () => {
  it('hides the user and the password of an address, also as HTTP Basic encodes them', () => {
    hideAddress('https://ada-lovelace:p%40ss%20word@node.test/');
    expect(redact('ada-lovelace p@ss word p%40ss%20word')).toBe('[hidden] [hidden] [hidden]');
    const basic = Buffer.from('ada-lovelace:p@ss word').toString('base64');
    expect(redact(`Basic ${basic}`)).toMatch(/^Basic \[hidden\].?=*$/);
  });

  it('hides no short word, and no part of a text that is not an address', () => {
    hideAddress('https://node.test/v2/main?a=b');
    hideAddress('no address at all');
    hideKey('key');
    expect(redact('v2 main a b no address at all key')).toBe('v2 main a b no address at all key');
  });

  it('hides a key before it cuts a text', () => {
    hideKey('a-key-that-a-cut-would-halve');
    const { untrusted } = new TransportError('rpc_unavailable', 'x', {
      details: { method: 'm' },
      untrusted: { rpc: `${'.'.repeat(190)}a-key-that-a-cut-would-halve` },
    });
    expect(untrusted).toEqual({ rpc: `${'.'.repeat(190)}[hidden]` });
  });

  it('hides no ordinary word, and no name that contains an ordinary word', () => {
    hideAddress('https://node.test/settlement/PAYMENTS/Transactions?mode=confirmed');
    hideKey('Bearer a-key-beside-a-word-71');
    // A process hides for good what any of its tests hid, so this name is of this test alone.
    const words = 'settlement_of_this_test: PAYMENTS, Transactions, confirmed, Bearer';
    expect(redact(`${words} a-key-beside-a-word-71`)).toBe(`${words} [hidden]`);
  });

  it('hides a key of letters alone if it is longer than a word or has letters of mixed case', () => {
    hideAddress('https://node.test/abcdefghijklmnopqrst/qWertzUiop');
    expect(redact('abcdefghijklmnopqrst qWertzUiop')).toBe('[hidden] [hidden]');
  });

  it('hides no word that an encoded part of an address decodes to', () => {
    hideAddress('https://node.test/%41%42%43');
    expect(redact('ABC %41%42%43')).toBe('ABC [hidden]');
  });

  it('hides no header that describes the content', () => {
    const headers = {
      accept: 'application/json',
      'Content-Type': 'application/vnd.pay+json',
      'user-agent': 'shop-agent/1.0',
      'x-key': 'key-of-x-1',
    };
    remote('https://pay.test', { headers });
    const words = 'application/json application/vnd.pay+json shop-agent/1.0';
    expect(redact(`${words} key-of-x-1`)).toBe(`${words} [hidden]`);
  });

  it('hides a key however often JSON escapes its slashes', () => {
    hideKey('/a-key/with-slashes/');
    for (const slash of ['/', '\\/', '\\\\/', '\\\\\\\\/'])
      expect(redact(`x ${slash}a-key${slash}with-slashes${slash} \\`)).toBe('x [hidden] \\');
  });

  it('takes time in proportion to the length of a text', () => {
    for (let count = 0; count < 500; count += 1) hideKey(`/one-of-many-keys-${count}`);
    // With quadratic time this would not end.
    redact('\\'.repeat(2_000_000));
    redact('/one-of-many-keys-'.repeat(100_000));
    new TransportError('rpc_unavailable', 'x', {
      details: { method: 'm' },
      cause: new Error('\\'.repeat(2_000_000)),
    });
  });

  it('hides a key whole at the cut of a long text', () => {
    hideKey('key-at-the-very-end-of-a-long-text');
    for (let before = 12_760; before <= 12_800; before += 1) {
      const text = redact(`${'.'.repeat(before)}key-at-the-very-end-of-a-long-text`);
      expect(text.replace(/^\.+/, '')).toMatch(/^(?:\[hidden\])?$/);
    }
  });

  it('keeps a bounded number of keys: the newest, and keys that are named again', () => {
    hideKey('customer-of-old-key');
    for (let count = 0; count < 4_095; count += 1) hideKey(`customer-${count}-key`);
    expect([redact('customer-of-old-key'), redact('customer-0-key')]).toEqual([
      '[hidden]',
      '[hidden]',
    ]);
    hideKey('customer-of-old-key');
    hideKey('customer-4095-key');
    expect([
      redact('customer-of-old-key'),
      redact('customer-4095-key'),
      redact('customer-0-key'),
    ]).toEqual(['[hidden]', '[hidden]', 'customer-0-key']);
  });

  it('keeps a key hidden after a key with an equal spelling is forgotten', () => {
    hideKey('shared%2Fspelling');
    for (let count = 0; count < 4_095; count += 1) hideKey(`filling-${count}-key`);
    hideKey('shared/spelling');
    expect(redact('shared/spelling')).toBe('[hidden]');
    hideKey('filling-4095-key');
    expect([redact('shared/spelling'), redact('shared%2Fspelling')]).toEqual([
      '[hidden]',
      '[hidden]',
    ]);
  });
});
