import { describe, expect, it } from 'vitest';
import {
  ConfigError,
  errorCodes,
  ExactChangeError,
  FundsError,
  PolicyError,
  ProtocolError,
  SettlementError,
  TransportError,
} from '../../../src/errors.js';
import { cleanForTerminal, cleanLine, jsonText } from '../../../adapters/cli/clean.js';
import { EXITS } from '../../../adapters/cli/exits.js';
import { exitOf, failureReport } from '../../../adapters/cli/failure.js';
import { hideKeys } from '../../../adapters/cli/key-in-words.js';
import { chartRows, spendingBy, spendOf, sumOf } from '../../../adapters/cli/spending.js';
import { csvHead, csvLine } from '../../../adapters/receipts/csv.js';
import { ledgerText } from '../../../adapters/receipts/ledger.js';
import { base58 } from '../../../src/internal/bytes.js';
import { receiptWith } from '../../helpers/receipts.js';

describe('the exit of a command', () => {
  const error = (code: (typeof errorCodes)[number], funds: ExactChangeError['funds']) =>
    new ExactChangeError(code, 'x', { details: {}, funds });

  it('reports uncertain, spent or swapped funds before the error code', () => {
    expect(exitOf(error('timeout', 'uncertain'))).toBe('uncertain');
    expect(exitOf(error('already_spent', 'spent'))).toBe('spent');
    expect(exitOf(error('budget_exhausted', 'swapped'))).toBe('swapped');
  });

  it('includes the link that funds the wallet when the error has it', () => {
    const details = { requiredLamports: '2', availableLamports: '1' };
    const link = 'solana:7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU?amount=0.000000001';
    const short = (more: { readonly link?: string }) =>
      failureReport(new FundsError('insufficient_sol', 'x', { details: { ...details, ...more } }));
    expect([short({ link }).link, short({}).link]).toEqual([link, undefined]);
  });

  it.each([
    ['journal_unavailable', 'uncertain', ' exact-change resume asks the chain.'],
    ['journal_damaged', 'uncertain', ''],
    ['journal_locked', 'uncertain', ''],
    ['journal_unavailable', 'untouched', ''],
  ] as const)('names resume for %s with %s funds only if it may help', (code, funds, next) => {
    const last = failureReport(error(code, funds)).notes?.at(-1);
    expect(last).toBe(`Code ${code}, funds ${funds}.${next}`);
  });

  it('shows in text the details that a message only names', () => {
    const signature = base58.encode(new Uint8Array(64).fill(7));
    const notesOf = (error: ExactChangeError) => failureReport(error).notes?.slice(1, -1);
    const spent = { payerSignature: 'x', signature };
    const moved = [{ kind: 'payment', signature }] as const;
    const refused = { list: 'allow.hosts', value: 'a.example\u001b[1m' };
    const offers = [{ index: 1, code: 'price_unknown', message: 'It has no price.' }] as const;
    expect([
      notesOf(new SettlementError('already_spent', 'x', { details: spent, funds: 'spent', moved })),
      notesOf(new PolicyError('not_allowed', 'x', { details: refused })),
      notesOf(new ProtocolError('no_payable_offer', 'x', { details: { offers } })),
      notesOf(
        new ProtocolError('insecure_origin', 'x', { details: { origin: 'http://a.example' } }),
      ),
    ]).toEqual([
      [`Signature: ${signature}`],
      ['Refused: a.example\ufffd[1m'],
      ['Offer 2: It has no price.'],
      ['Asked by: http://a.example'],
    ]);
  });

  it('has a positive number for each error code', () => {
    for (const code of errorCodes)
      expect(EXITS[exitOf(error(code, 'untouched'))][0]).toBeGreaterThan(0);
    expect(
      exitOf(new TransportError('timeout', 'x', { details: { step: 'rpc', timeoutMs: 1 } })),
    ).toBe('timeout');
    expect(exitOf(new ConfigError('invalid_option', 'x', { details: { option: 'x' } }))).toBe(
      'usage',
    );
  });

  it.each([
    ['ENOTFOUND', 'noHost'],
    ['ECONNREFUSED', 'noConnection'],
    ['UND_ERR_SOCKET', 'noConnection'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['EISDIR', 'failed'],
  ])('maps the connection error %s to %s', (code, exit) => {
    const cause = Object.assign(new Error('inner'), { code });
    expect(exitOf(new TypeError('fetch failed', { cause }))).toBe(exit);
  });
});

describe('a word of the command line that may be a key', () => {
  const bytes = Buffer.from(
    'b3d94c0ffee1f00d5eed2b8a7c6e91d3f4a05b6c7d8e9fa0b1c2d3e4f5061728',
    'hex',
  );
  const seeds = [
    base58.encode(bytes),
    bytes.toString('hex'),
    bytes.toString('base64'),
    JSON.stringify([...bytes]),
    // Parts of these look like words.
    'I+VRtoedTsP+T/rcZyUoovhabCgfn/7e5eT336Do3cs=',
    'LEX_k_G-n_MExRv88_DqB_CNhhNM0Dwfc4pFrOxw_6s',
  ];

  it.each(seeds)('is cut in an error that repeats it, its end or its start: %s', (seed) => {
    for (const [words, text] of [
      [[`--kye=${seed}`], `unknown option '--kye=${seed}'`],
      [[`-k${seed}`], `unknown option '-k${seed}'`],
      [[`-n${seed}`], `argument '${seed}' is invalid`],
      [[seed], `getaddrinfo ENOTFOUND ${seed.toLowerCase()}`],
      [[seed], `cut off: ${seed.slice(0, -20)}`],
    ] as const)
      expect(hideKeys(text, words).toLowerCase()).not.toContain(seed.slice(4, 20).toLowerCase());
  });

  it.each([
    '/Users/alice/projects/exactChange/wallets/devnet2/id.json',
    '/tmp/exact-change-command-aB3dEf/config/exact-change/wallet.json',
    'https://api.example.com/premium/articles-of-the-day?language=english',
  ])('is none if it is made of words: %s', (word) => {
    expect(hideKeys(`no such file: ${word}`, [word])).toBe(`no such file: ${word}`);
  });

  it('leaves addresses that were no argument', () => {
    const text = 'the account 7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU is frozen';
    expect(hideKeys(text, [seeds[0] ?? ''])).toBe(text);
  });
});

describe('text for a terminal', () => {
  it('keeps line breaks and tabs, and replaces control characters', () => {
    expect(cleanForTerminal('a\tb\r\nc\u001b[31m\u202e\u0000\u009b')).toBe(
      'a\tb\nc\ufffd[31m\ufffd\ufffd\ufffd',
    );
  });

  it('shows the whole host of a URL, and tells that the rest is cut', () => {
    // DNS allows 253 characters.
    const host = `api.example.com.${`${'a'.repeat(56)}.`.repeat(4)}example`;
    const line = cleanLine(`https://${host}:65535/${'b'.repeat(300)}`);
    expect(line).toContain(`https://${host}:65535/`);
    expect(line).toMatch(/b\.\.\.$/);
    expect(cleanLine('a\tb\u001b\nc')).toBe('a b\ufffd c');
  });

  it('escapes control characters in JSON without changing the parsed value', () => {
    const text = 'a\tb\u001b[31m\u202e\u009b\u{e0041}ü';
    const json = jsonText({ text });
    expect(json).toBe(String.raw`{"text":"a\tb\u001b[31m\u202e\u009b\udb40\udc41ü"}`);
    expect(JSON.parse(json)).toEqual({ text });
  });
});

describe('receipts as CSV', () => {
  it('put an apostrophe before formulas, and quotes around fields with commas', () => {
    const evil = receiptWith({ url: 'https://api.example.com/a,"b"', method: '=SUM(A1)' });
    const [line = ''] = csvLine(evil, () => 9).split('\r\n');
    expect(line).toContain(",'=SUM(A1),");
    expect(line).toContain('"/a,%22b%22"');
    expect(line.split(',')).toHaveLength(csvHead.split(',').length + 1);
  });
});

describe('receipts as ledger entries', () => {
  const swap = {
    signature: '5swap',
    inputMint: 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263',
    inAmount: '123456789012345',
    outputMint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    outAmount: '50000',
    provider: 'jupiter-v1',
  };

  it('escape seller text so that it adds no entry, and open accounts for Beancount', () => {
    const evil = receiptWith({
      url: 'https://a.b-c.example.com:8443/x";y\u202e|{%',
      method: 'GET"\n2026-01-01 open Assets:Mine',
    });
    expect(ledgerText('beancount', [evil], () => 5)).toBe(
      [
        '2026-07-01 open Expenses:Paid:A-b-c-example-com-8443',
        '2026-07-01 open Assets:Wallet',
        '',
        '2026-07-01 * "a.b-c.example.com:8443" "GET??2026-01-01 open Assets:Mine /x%22?y%E2%80%AE?%7B%"',
        '    ; id: a1b2c3',
        '    ; state: settled',
        '    ; mint: EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
        '    ; to: GsbwXfJraMomNxBcjYLcG3mxkBUiyWXAB32fGbSMQRdW',
        '    ; usd: 0.01',
        '    Expenses:Paid:A-b-c-example-com-8443  0.01 USDC',
        '    Assets:Wallet  -0.01 USDC',
        '',
      ].join('\n'),
    );
  });

  it('keep a swap when its payment never landed, in base units if decimals are unknown', () => {
    const receipt = receiptWith({ state: 'unsettled', swap });
    const lines = (decimals: number | undefined) =>
      ledgerText('hledger', [receipt], (mint) => (mint === swap.inputMint ? decimals : 6))
        .split('\n')
        .filter((line) => line.startsWith('    Assets'));
    expect(lines(undefined)).toEqual([
      expect.stringMatching(/^ {4}Assets:Wallet {2}0\.05 USDC @@ 123456789012345 U[A-Z]{20}$/),
      expect.stringMatching(/^ {4}Assets:Wallet {2}-123456789012345 U[A-Z]{20}$/),
    ]);
    expect(lines(5)[1]).toMatch(/-1234567890\.12345 \w+$/);
    expect(ledgerText('hledger', [receiptWith({ state: 'unsettled' })], () => 6)).toBe('');
  });
});

describe('spending', () => {
  const receipts = [
    receiptWith({ at: Date.UTC(2026, 6, 1), cost: '0.01' }),
    receiptWith({ at: Date.UTC(2026, 6, 2), cost: '0.3', url: 'https://b.example.com/' }),
    receiptWith({ at: Date.UTC(2026, 6, 2), cost: '0.7' }),
    receiptWith({ at: Date.UTC(2026, 6, 2), cost: '9', state: 'unsettled' }),
  ];
  const spends = receipts.flatMap((receipt) => spendOf(receipt) ?? []);

  it('sums exactly by day in order, and by host from the most expensive down', () => {
    expect(spendingBy('day', spends)).toEqual([
      { group: '2026-07-01', usd: '0.01', payments: 1 },
      { group: '2026-07-02', usd: '1', payments: 2 },
    ]);
    expect(spendingBy('host', spends)).toEqual([
      { group: 'api.example.com', usd: '0.71', payments: 2 },
      { group: 'b.example.com', usd: '0.3', payments: 1 },
    ]);
  });

  it('counts the payments whose cost has no price, because the sums leave it out', () => {
    const unpriced = {
      ...receiptWith({ at: Date.UTC(2026, 6, 2) }),
      cost: { networkFeeLamports: '0', rentLamports: '0' },
    };
    const rows = spendingBy(
      'day',
      [...receipts, unpriced].flatMap((each) => spendOf(each) ?? []),
    );
    expect(rows[1]).toEqual({ group: '2026-07-02', usd: '1', payments: 3, unpriced: 1 });
    expect(sumOf('days', rows)).toEqual({ group: 'days', usd: '1.01', payments: 4, unpriced: 1 });
    expect(chartRows(rows).map(([, , , payments]) => payments)).toEqual([
      '1',
      '3 (1 without a price)',
    ]);
  });

  it('draws the longest bar for the day with the highest cost', () => {
    const [first, second] = chartRows(spendingBy('day', spends)).map(([, bar = '']) => bar);
    expect(second).toMatch(/^█+$/);
    expect(first).toMatch(/^░+$/);
  });
});
