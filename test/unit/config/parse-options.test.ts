import { inspect } from 'node:util';
import { ed25519 } from '@noble/curves/ed25519';
import { base58, base64, hex } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { parseLocalOptions, parseOptions } from '../../../src/config/parse-options.js';
import type { ClientOptions, LocalOptions } from '../../../src/config/options.js';
import { parseSwapRequest } from '../../../src/config/swap-request.js';
import { ConfigError, isExactChangeError, type ExactChangeError } from '../../../src/errors.js';
import { createMemoryJournal } from '../../../src/journal/memory.js';
import { pinnedMint, SOLANA_DEVNET, SOLANA_MAINNET, WSOL_MINT } from '../../../src/network.js';

const seed = Uint8Array.from({ length: 32 }, (_, index) => (index * 37 + 11) % 256);
const publicKey = ed25519.getPublicKey(seed);
const keypair = Uint8Array.of(...seed, ...publicKey);
const address = base58.encode(publicKey);
const walletSecretKey = base58.encode(keypair);
const usdc = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint;

function refusal(make: () => unknown): ExactChangeError {
  try {
    make();
  } catch (error) {
    if (isExactChangeError(error) && error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('The options were accepted.');
}

/** Wrong options bypass the types, as those of a JavaScript caller do. */
const refusedWith = (options: unknown) =>
  refusal(() => parseOptions({ walletSecretKey, ...(options as ClientOptions) }));

describe('the default configuration', () => {
  const config = parseOptions({ walletSecretKey });

  it('is complete', () => {
    expect(config).toMatchObject({
      rpcUrls: ['https://api.mainnet-beta.solana.com/'],
      jupiterUrl: 'https://api.jup.ag',
      network: SOLANA_MAINNET,
      autoSwap: false,
      retryWindow: 60_000,
      timeouts: { rpc: 10_000, jupiter: 10_000, service: 30_000, terms: 10_000, payment: 120_000 },
      policy: {
        maxPerPayment: 1_000_000n,
        caps: [
          { name: 'maxPerDay', unit: 'USD', limit: 10_000_000n, windowMs: 86_400_000 },
          { name: 'maxLamportsPerDay', unit: 'lamports', limit: 50_000_000n, windowMs: 86_400_000 },
        ],
        maxSlippageBps: 50,
      },
    });
    expect(config.signer.address).toBe(address);
    for (const name of [
      'apiUrl',
      'apiKey',
      'transport',
      'journal',
      'connection',
      'swapFrom',
      'wsUrl',
      'jupiterApiKey',
    ])
      expect(config).toHaveProperty(name, undefined);
  });

  it('applies when an option is undefined, as process.env may give it', () => {
    const names = [
      'rpcUrl',
      'jupiterUrl',
      'jupiterApiKey',
      'network',
      'autoSwap',
      'policy',
      'timeouts',
      'fetch',
      'journal',
      'signer',
    ];
    const empty = Object.fromEntries(names.map((name) => [name, undefined]));
    expect(parseOptions({ walletSecretKey, ...empty })).toMatchObject({
      network: config.network,
      rpcUrls: config.rpcUrls,
      policy: config.policy,
    });
  });

  it('looks up the global fetch at each call', async () => {
    const before = globalThis.fetch;
    globalThis.fetch = () => Promise.resolve(new Response('replaced later'));
    try {
      expect(await (await config.fetch('http://x.test')).text()).toBe('replaced later');
    } finally {
      globalThis.fetch = before;
    }
  });
});

describe('the configuration from options', () => {
  it('keeps the given values, and turns names into addresses', () => {
    const journal = createMemoryJournal();
    const config = parseOptions({
      walletSecretKey,
      rpcUrl: ['https://a.test', 'http://127.0.0.1:8899/?api-key=k'],
      wsUrl: 'wss://a.test/ws',
      jupiterUrl: 'https://proxy.test/jup/',
      jupiterApiKey: '  key ',
      network: 'solana',
      swapFrom: ['USDC', address],
      autoSwap: true,
      retryWindow: 0,
      timeouts: { rpc: 1 },
      journal,
    });
    expect(config).toMatchObject({
      rpcUrls: ['https://a.test/', 'http://127.0.0.1:8899/?api-key=k'],
      wsUrl: 'wss://a.test/ws',
      jupiterUrl: 'https://proxy.test/jup',
      jupiterApiKey: 'key',
      swapFrom: [usdc, address],
      autoSwap: true,
      retryWindow: 0,
      timeouts: { rpc: 1, jupiter: 10_000 },
    });
    expect(config.journal).toBe(journal);
  });

  it.each([
    ['https://pay.test', 'https://pay.test'],
    ['https://pay.test/base/', 'https://pay.test/base'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://127.1/pay', 'http://127.0.0.1/pay'],
    ['http://[::1]:3000/', 'http://[::1]:3000'],
  ])('keeps the base path of a service: %s', (apiUrl, kept) => {
    expect(parseOptions({ walletSecretKey, apiUrl }).apiUrl).toBe(kept);
  });

  it('treats an empty API key as no key, because servers refuse an empty header', () => {
    expect(parseOptions({ walletSecretKey, jupiterApiKey: ' ' }).jupiterApiKey).toBeUndefined();
    expect(
      parseOptions({ walletSecretKey, apiUrl: 'https://pay.test', apiKey: '' }).apiKey,
    ).toBeUndefined();
    expect(parseOptions({ walletSecretKey, apiKey: '' }).apiKey).toBeUndefined();
  });

  it('trims the key of a service', () => {
    expect(
      parseOptions({ walletSecretKey, apiUrl: 'https://pay.test', apiKey: ' key\n' }).apiKey,
    ).toBe('key');
  });

  it('calls a given fetch without a receiver, because browsers refuse it as a member', async () => {
    const own = function (this: unknown) {
      return Promise.resolve(new Response(String(this)));
    };
    const config = parseOptions({ walletSecretKey, fetch: own });
    expect(await (await config.fetch('http://x.test')).text()).toBe('undefined');
  });

  it('merges all spellings of a node in rpcUrl, because a node cannot confirm itself', () => {
    const rpcUrl = [
      ...[
        'https://a.test/v2/Key',
        'https://b.test?api-key=K',
        'HTTPS://A.Test:443/v2/Key/',
        'https://a.test./v2/Key',
        'https://a.test/v2/Key#x',
      ],
      ...[
        'https://b.test/?api-key=K',
        'https://b.test/?api-key=k',
        'https://a.test/v2/key',
        'https://a.test:444/v2/Key',
      ],
    ];
    expect(parseOptions({ walletSecretKey, rpcUrl }).rpcUrls).toEqual([
      ...['https://a.test/v2/Key', 'https://b.test/?api-key=K'],
      ...['https://b.test/?api-key=k', 'https://a.test/v2/key', 'https://a.test:444/v2/Key'],
    ]);
  });

  it('accepts plain names of networks, and adds a public node', () => {
    const config = parseOptions({ walletSecretKey, network: 'devnet' });
    expect(config.network).toBe(SOLANA_DEVNET);
    expect(config.rpcUrls).toEqual(['https://api.devnet.solana.com/']);
    for (const name of ['solana', 'mainnet', 'mainnet-beta', ' solana-mainnet '])
      expect(parseOptions({ walletSecretKey, network: name }).network).toBe(SOLANA_MAINNET);
    const policy = { deny: { networks: ['devnet'] } };
    expect(() => parseOptions({ walletSecretKey, policy })).not.toThrow();
    expect(refusedWith({ rpcUrl: [] }).details).toEqual({ option: 'rpcUrl' });
  });

  it('uses a signer in place of a key, for the account that it has then', async () => {
    const signer = {
      address,
      bytes: new Uint8Array(64),
      async signMessage() {
        return this.bytes;
      },
    };
    const { signer: parsed } = parseOptions({ signer });
    // A wallet app changes the account of its object when the person does.
    signer.address = 'another account';
    expect(parsed.address).toBe(address);
    const intent = {
      kind: 'payment',
      network: '',
      mint: '',
      amount: '',
      payTo: '',
      url: '',
    } as const;
    expect('signMessage' in parsed && (await parsed.signMessage(new Uint8Array(), intent))).toBe(
      signer.bytes,
    );
  });
});

const signMessage = () => Promise.resolve(new Uint8Array(64));
const wrong: readonly (readonly [option: string, options: Record<string, unknown>])[] = [
  ['autoswap', { autoswap: true }],
  ['maxPerDay', { maxPerDay: '1' }],
  ['policy.maxPerday', { policy: { maxPerday: '1' } }],
  ['timeouts.rcp', { timeouts: { rcp: 1 } }],
  ['timeouts.rpc', { timeouts: { rpc: -1 } }],
  ...['rpc', 'jupiter', 'service', 'terms', 'payment', 'signer', 'journal'].flatMap((name) =>
    [0, 0.9].map((ms) => [`timeouts.${name}`, { timeouts: { [name]: ms } }] as const),
  ),
  ['timeouts.payment', { timeouts: { payment: '120000' } }],
  ['timeouts.terms', { timeouts: { terms: NaN } }],
  ['timeouts', { timeouts: [] }],
  ['retryWindow', { retryWindow: -1 }],
  ['retryWindow', { retryWindow: 2 ** 31 }],
  ['autoSwap', { autoSwap: 'false' }],
  ['timeouts.service', { timeouts: { service: -1 } }],
  ['apiUrl', { apiUrl: '' }],
  ['apiUrl', { apiUrl: 'http://pay.test' }],
  ['apiUrl', { apiUrl: 'http://localhost.pay.test' }],
  ['apiUrl', { apiUrl: 'http://10.0.0.1' }],
  ['apiUrl', { apiUrl: 'https://pay.test/?key=1' }],
  ['apiUrl', { apiUrl: 'https://pay.test/#key' }],
  ['apiUrl', { apiUrl: 'https://me:secret@pay.test' }],
  ['apiUrl', { apiUrl: 'https://pay.test', transport: {} }],
  ['apiKey', { apiKey: 'key' }],
  ['apiKey', { apiKey: 'key', transport: {} }],
  ['apiKey', { apiUrl: 'https://pay.test', apiKey: 5 }],
  ['apiKey', { apiUrl: 'https://pay.test', apiKey: 'a b' }],
  ['network', { network: 'base' }],
  ['network', { network: 'constructor' }],
  ['rpcUrl', { rpcUrl: [] }],
  ['rpcUrl', { rpcUrl: '' }],
  ['rpcUrl', { rpcUrl: {} }],
  ['rpcUrl', { rpcUrl: 'wss://a.test' }],
  ['wsUrl', { wsUrl: 'https://a.test' }],
  ['connection', { connection: {} }],
  ['connection', { connection: 'https://a.test' }],
  ['connection', { connection: null }],
  [
    'connection',
    {
      rpcUrl: 'https://a.test',
      connection: {
        getGenesisHash: signMessage,
        getLatestBlockhash: signMessage,
        sendRawTransaction: signMessage,
      },
    },
  ],
  ['jupiterUrl', { jupiterUrl: 'jup.ag' }],
  ['jupiterUrl', { jupiterUrl: 'ftp://api.jup.ag' }],
  ['jupiterUrl', { jupiterUrl: 'http://api.jup.ag' }],
  ['jupiterUrl', { jupiterUrl: 'https://lite-api.jup.ag/swap/v1' }],
  ['jupiterUrl', { jupiterUrl: 'https://quote-api.jup.ag/v6' }],
  ['jupiterUrl', { jupiterUrl: 'https://a.test/?key=1' }],
  ['jupiterUrl', { jupiterUrl: 'https://a.test/#x' }],
  ['jupiterApiKey', { jupiterApiKey: 5 }],
  ['jupiterApiKey', { jupiterApiKey: 'a b' }],
  ['swapFrom', { swapFrom: 'USDC' }],
  ['swapFrom[1]', { swapFrom: ['SOL', 'DOGE'] }],
  ['policy', { policy: [] }],
  ['journal', { journal: './payments.jsonl' }],
  ['journal', { journal: {} }],
  ['journal', { journal: { ...createMemoryJournal(), used: undefined } }],
  ['journal', { journal: null }],
  ['transport', { transport: 'https://a.test' }],
  ['transport', { transport: { quote: signMessage } }],
  ['fetch', { fetch: 'node-fetch' }],
  ['signer', { signer: { address, signMessage } }],
  ['signer', { walletSecretKey: undefined, signer: null }],
  ['signer', { walletSecretKey: undefined, signer: address }],
  ['signer', { walletSecretKey: undefined, signer: { address } }],
  ['signer', { walletSecretKey: undefined, signer: { address: 'not an address', signMessage } }],
  ['walletSeed', { walletSeed: seed }],
  [
    'walletSeed',
    { walletSecretKey: undefined, walletSeed: seed, signer: { address, signMessage } },
  ],
  ['walletSecretKey', { walletSecretKey: undefined }],
  ['walletSecretKey', { walletSecretKey: '' }],
];

describe('a wrong option', () => {
  it.each(wrong)('is refused at once by its name %s: %j', (option, options) => {
    const error = refusedWith(options);
    expect(error).toMatchObject({
      code: 'invalid_option',
      details: { option },
      funds: 'untouched',
      moved: [],
      retry: 'never',
    });
    expect(error.message.slice(0, `Option ${option} `.length)).toBe(`Option ${option} `);
    expect(error.message).toMatch(/\.$/);
  });

  it.each([[undefined], [null], [[walletSecretKey]]])(
    'is refused when the options themselves are %j',
    (options) => {
      expect(refusal(() => parseOptions(options as unknown as ClientOptions)).details).toEqual({
        option: 'options',
      });
      expect(refusal(() => parseLocalOptions(options as unknown as LocalOptions)).details).toEqual({
        option: 'options',
      });
    },
  );

  it('is refused with what to do instead when it is a timeout of 0', () => {
    expect(refusedWith({ timeouts: { payment: 0 } }).message).toBe(
      'Option timeouts.payment must be milliseconds from 1 to 2147483647. Leave it out for the default.',
    );
    expect(refusedWith({ retryWindow: -1 }).message).toContain('from 0 to 2147483647.');
  });

  it('is refused with the place of an option of policy that stands too high', () => {
    const says = 'Did you mean policy.maxPerDay?';
    expect(refusedWith({ maxPerDay: '1' }).message).toContain(says);
    const local = { maxPerDay: '1' } as LocalOptions;
    expect(refusal(() => parseLocalOptions(local)).message).toContain(says);
  });

  it('is refused when a transport gets a wallet key', () => {
    expect(refusal(() => parseLocalOptions({ walletSecretKey } as LocalOptions)).details).toEqual({
      option: 'walletSecretKey',
    });
    expect(parseLocalOptions({ jupiterApiKey: 'k' }).jupiterApiKey).toBe('k');
  });

  it('is refused when a transport gets an approval, which it would never ask for', () => {
    const policy = { maxPerPayment: '0.10', approve: () => false };
    expect(refusal(() => parseLocalOptions({ policy })).details).toEqual({
      option: 'policy.approve',
    });
    expect(parseOptions({ walletSecretKey, policy }).policy.approve).toBe(policy.approve);
  });
});

describe('a secret', () => {
  const canary = 'c4n4ry5ecret';
  const holders: readonly (readonly [string, Record<string, unknown>])[] = [
    ['rpcUrl', { rpcUrl: `ftp://rpc.test/?api-key=${canary}` }],
    ['rpcUrl', { rpcUrl: `rpc.test/${canary}` }],
    ['rpcUrl', { rpcUrl: ['https://a.test', `https://[${canary}`] }],
    ['rpcUrl', { rpcUrl: `https://user:${canary}@rpc.test/` }],
    ['rpcUrl', { rpcUrl: `https://${canary}@rpc.test/` }],
    ['wsUrl', { wsUrl: `https://rpc.test/?api-key=${canary}` }],
    ['wsUrl', { wsUrl: `wss://user:${canary}@rpc.test/` }],
    ['jupiterUrl', { jupiterUrl: `https://jup.test/?key=${canary}` }],
    ['jupiterUrl', { jupiterUrl: `https://user:${canary}@jup.test/` }],
    ['jupiterApiKey', { jupiterApiKey: `${canary}\r\nx-evil: 1` }],
    ['jupiterApiKey', { jupiterApiKey: `${canary}€` }],
    ['jupiterApiKey', { jupiterApiKey: [canary] }],
    ['apiKey', { apiUrl: 'https://pay.test', apiKey: `${canary}\r\nx-evil: 1` }],
    ['apiKey', { apiUrl: 'https://pay.test', apiKey: `${canary}€` }],
    ['apiKey', { apiUrl: 'https://pay.test', apiKey: [canary] }],
    ['apiKey', { apiKey: canary }],
    ['network', { network: canary }],
    ['swapFrom[0]', { swapFrom: [canary] }],
    ['signer', { walletSecretKey: undefined, signer: { address: canary, signMessage } }],
    ['signer', { walletSecretKey: canary, signer: { address, signMessage } }],
  ];

  it.each(holders)('is not repeated by the error of the option %s: %j', (option, options) => {
    const error = refusedWith(options);
    expect(error.details).toEqual({ option });
    expect(
      inspect(error, { showHidden: true, depth: 10 }) + JSON.stringify(error) + String(error.stack),
    ).not.toContain(canary);
  });

  it('is in no text that shows a configuration', () => {
    const keys = [walletSecretKey, JSON.stringify([...keypair]), keypair, [...keypair]].map(
      (key) => ({ walletSecretKey: key }),
    );
    for (const options of [...keys, { walletSeed: seed }]) {
      const config = parseOptions(options);
      const shown =
        inspect(config, { showHidden: true, depth: 10 }) +
        inspect(config.signer, { showHidden: true, depth: 10 });
      const json = JSON.stringify(config, (_, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      );
      for (const text of encodings(seed)) expect(shown + json).not.toContain(text);
      expect(config.signer.address).toBe(address);
    }
  });
});

/** Texts in which a secret might appear. */
function encodings(secret: Uint8Array): string[] {
  const numbers = [...secret.subarray(0, 8)];
  return [
    base58.encode(secret),
    hex.encode(secret),
    base64.encode(secret).slice(0, 40),
    numbers.join(','),
    numbers.join(', '),
    walletSecretKey,
  ];
}

describe('a wallet key of a wrong form', () => {
  const half = base58.encode(seed).slice(0, 20);
  const forms: readonly (readonly [string, unknown])[] = [
    ['hex', hex.encode(keypair)],
    ['base64', base64.encode(keypair)],
    ['half of the key', half],
    ['the key twice', walletSecretKey + walletSecretKey],
    ['a character that base58 lacks', `${walletSecretKey.slice(0, -1)}0`],
    [
      'a changed character',
      `${walletSecretKey.slice(0, 40)}${walletSecretKey[40] === 'a' ? 'b' : 'a'}${walletSecretKey.slice(41)}`,
    ],
    ['a mnemonic', 'abandon abandon abandon abandon abandon about'],
    ['an array too short', [...seed.subarray(1)]],
    ['an array too long', [...keypair, 1]],
    ['an array with a fraction', [...seed.subarray(1), 0.5]],
    ['an array with 256', [...seed.subarray(1), 256]],
    ['an array with text', [...seed.subarray(1), '1']],
    ['an array with a hole', Object.assign([...seed], { length: 33 })],
    ['a JSON array cut off', JSON.stringify([...keypair]).slice(0, -4)],
    ['a JSON object', JSON.stringify(Object.fromEntries(keypair.entries()))],
    ['a JSON array with other halves', JSON.stringify([...seed, ...seed])],
    ['bytes with other halves', Uint8Array.of(...seed, ...seed)],
    ['63 bytes', keypair.subarray(1)],
    ['16-bit words', new Uint16Array(keypair)],
    ['an ArrayBuffer', keypair.buffer],
    ['a number', 5],
    ['a bigint', 5n],
    ['null', null],
    ['true', true],
    ['an object', { secretKey: keypair }],
    ['spaces', '   '],
    ['a megabyte', '1'.repeat(1_000_000)],
  ];

  it.each(forms)('is refused without a trace of the key: %s', (_, form) => {
    const error = refusal(() =>
      parseOptions({ walletSecretKey: form } as unknown as ClientOptions),
    );
    expect(error).toMatchObject({ code: 'invalid_key', funds: 'untouched', retry: 'never' });
    expect(error.cause).toBeUndefined();
    const shown = inspect(error, { showHidden: true, depth: 10 }) + JSON.stringify(error);
    const pieces =
      typeof form === 'string'
        ? [form.trim().slice(0, 12), form.trim().slice(-12)]
        : encodings(seed);
    for (const piece of pieces.filter((text) => text.length >= 4))
      expect(shown).not.toContain(piece);
  });
});

describe('a swap request', () => {
  const settings = parseLocalOptions({ policy: { maxSlippageBps: 30 } });
  const request = { inputMint: 'SOL', outputMint: 'USDC', amount: '5' };
  const parse = (over: Record<string, unknown>) =>
    parseSwapRequest({ ...request, ...over }, settings);

  it('takes addresses for symbols, and the policy for missing fields', () => {
    expect(parse({})).toMatchObject({
      inputMint: WSOL_MINT,
      outputMint: usdc,
      amount: '5',
      swapMode: 'ExactIn',
      slippageBps: 30,
    });
    expect(parse({ amount: 5n, swapMode: 'ExactOut', slippageBps: 0 })).toMatchObject({
      amount: '5',
      swapMode: 'ExactOut',
      slippageBps: 0,
    });
  });

  it.each([
    ['amount', { amount: '0' }],
    ['amount', { amount: 5 }],
    ['amount', { amount: '1.5' }],
    ['swapMode', { swapMode: 'exactIn' }],
    ['swapMode', { swapMode: 1 }],
    ['slippageBps', { slippageBps: 31 }],
    ['slippageBps', { slippageBps: 0.5 }],
    ['slippageBps', { slippageBps: '30' }],
    ['maxAccounts', { maxAccounts: 0 }],
    ['maxAccounts', { maxAccounts: 65 }],
    ['inputMint', { inputMint: 'DOGE' }],
    ['outputMint', { outputMint: 5 }],
    ['outputMint', { outputMint: WSOL_MINT }],
  ])('is refused by the name of its field %s: %j', (option, over) => {
    expect(refusal(() => parse(over))).toMatchObject({
      code: 'invalid_option',
      details: { option },
    });
  });
});
