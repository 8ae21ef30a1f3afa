import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAmount, U64_MAX } from '../../../src/amount.js';
import { operations } from '../../../src/wire/operations.js';
import { readQuery, writeQuery } from '../../../src/wire/query.js';
import { readAs, readRequest } from '../../../src/wire/read.js';
import { balanceOfUsdc, quote, USDC, WALLET, WSOL } from './samples.js';

const parameters = { inputMint: 'SOL', outputMint: USDC, amount: '1000000' };
const optionOf = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    expect(error).toMatchObject({
      name: 'ConfigError',
      code: 'invalid_option',
      funds: 'untouched',
    });
    const { message, details } = error as { message: string; details: { option: string } };
    expect(message).toMatch(/^Field \S+ .*\.$/);
    return details.option;
  }
  throw new Error('The request was accepted.');
};

describe('a request', () => {
  it('is returned unchanged if it is valid', () => {
    const whole = { ...parameters, swapMode: 'ExactOut', slippageBps: 50, maxAccounts: 32 };
    expect(readRequest(operations.quote, whole)).toEqual(whole);
    expect(readRequest(operations.quote, parameters)).toEqual(parameters);
    expect(readRequest(operations.buildSwap, { wallet: WALLET, quote })).toEqual({
      wallet: WALLET,
      quote,
    });
    expect(readRequest(operations.buildSwap, { wallet: WALLET, ...parameters })).toEqual({
      wallet: WALLET,
      ...parameters,
    });
    expect(readRequest(operations.balance, { wallet: WALLET, mint: ['SOL', USDC] })).toEqual({
      wallet: WALLET,
      mint: ['SOL', USDC],
    });
    const parts = {
      url: 'https://api.example.com/',
      status: 402,
      headers: { 'PAYMENT-REQUIRED': 'e30=' },
      body: { accepts: [{ any: 1 }] },
    };
    expect(readRequest(operations.parsePayment, parts)).toEqual(parts);
    const step = {
      paymentRequired: parts,
      wallet: WALLET,
      autoSwap: true,
      limits: { [USDC]: '10' },
      signedSwap: 'A'.repeat(1_644),
    };
    expect(readRequest(operations.autoPay, step)).toEqual(step);
  });

  const swapOf = (change: object) => ({ wallet: WALLET, quote: { ...quote, ...change } });
  const step = { paymentRequired: {}, wallet: WALLET };

  it.each<[string, keyof typeof operations, unknown, string]>([
    ['nothing', 'quote', undefined, 'request'],
    ['a list', 'autoPay', [], 'request'],
    ['text', 'parsePayment', 'GET', 'request'],
    ['a list if no field is required', 'parsePayment', [], 'request'],
    ['no amount', 'quote', { inputMint: 'SOL', outputMint: USDC }, 'amount'],
    ['an amount that is a number', 'quote', { ...parameters, amount: 1_000_000 }, 'amount'],
    ['an amount with an exponent', 'quote', { ...parameters, amount: '1e6' }, 'amount'],
    ['an amount above a u64', 'quote', { ...parameters, amount: String(U64_MAX + 1n) }, 'amount'],
    [
      'an amount of a million digits',
      'quote',
      { ...parameters, amount: '9'.repeat(1_000_000) },
      'amount',
    ],
    ['an unknown field', 'quote', { ...parameters, platformFeeBps: 0 }, 'platformFeeBps'],
    ['a field that every object has', 'quote', { ...parameters, constructor: 1 }, 'constructor'],
    [
      'a prototype',
      'quote',
      JSON.parse(`{"inputMint":"SOL","outputMint":"USDC","amount":"1","__proto__":{}}`),
      '__proto__',
    ],
    ['another mode', 'quote', { ...parameters, swapMode: 'exactIn' }, 'swapMode'],
    ['part of a basis point', 'quote', { ...parameters, slippageBps: 0.5 }, 'slippageBps'],
    ['null for an option', 'quote', { ...parameters, slippageBps: null }, 'slippageBps'],
    [
      'a mint of a million characters',
      'quote',
      { ...parameters, inputMint: '1'.repeat(1_000_000) },
      'inputMint',
    ],
    ['an address of 31 bytes', 'balance', { wallet: '1'.repeat(31) }, 'wallet'],
    ['an invalid address', 'balance', { wallet: `${WALLET.slice(0, -1)}0` }, 'wallet'],
    ['a symbol as a wallet', 'balance', { wallet: 'SOL' }, 'wallet'],
    ['101 mints', 'balance', { wallet: WALLET, mint: Array(101).fill('SOL') }, 'mint'],
    ['an empty mint', 'balance', { wallet: WALLET, mint: [''] }, 'mint'],
    ['neither a quote nor parameters', 'buildSwap', { wallet: WALLET }, 'inputMint'],
    [
      'both a quote and parameters',
      'buildSwap',
      { wallet: WALLET, quote, ...parameters },
      'inputMint',
    ],
    [
      'a quote with a platform fee',
      'buildSwap',
      swapOf({ platformFeeBps: 5 }),
      'quote.platformFeeBps',
    ],
    [
      'a quote with a foreign field',
      'buildSwap',
      swapOf({ feeAccount: WALLET }),
      'quote.feeAccount',
    ],
    [
      'a quote without its original',
      'buildSwap',
      swapOf({ raw: undefined, quotedAt: '1' }),
      'quote.quotedAt',
    ],
    ['a relative URL', 'parsePayment', { url: '/premium' }, 'url'],
    [
      'a URL of another scheme',
      'autoPay',
      { ...step, paymentRequired: { url: 'javascript:alert(1)' } },
      'paymentRequired.url',
    ],
    ['a header with an invalid name', 'parsePayment', { headers: { 'a b': 'c' } }, 'headers.a b'],
    ['a header that is not text', 'parsePayment', { headers: { a: 1 } }, 'headers.a'],
    [
      'a header that is too long',
      'parsePayment',
      { headers: { a: 'b'.repeat(16_385) } },
      'headers.a',
    ],
    ['no wallet', 'autoPay', { paymentRequired: {} }, 'wallet'],
    ['a limit that is a number', 'autoPay', { ...step, limits: { [USDC]: 1 } }, `limits.${USDC}`],
    ['a limit on a symbol', 'autoPay', { ...step, limits: { USDC: '1' } }, 'limits.USDC'],
    [
      'a swap that is too large',
      'autoPay',
      { ...step, signedSwap: 'A'.repeat(1_648) },
      'signedSwap',
    ],
    [
      'a payment that is not base64',
      'autoPay',
      { ...step, signedPayment: '*'.repeat(1_000) },
      'signedPayment',
    ],
  ])('is refused by the name of its field: %s', (_, id, value, option) => {
    expect(optionOf(() => readRequest<unknown>(operations[id], value))).toBe(option);
  });

  it('is refused without repeating its values', () => {
    const canary = 'canary1234567890';
    for (const value of [
      { ...parameters, amount: canary },
      { ...parameters, swapMode: canary },
      { ...parameters, slippageBps: canary },
    ]) {
      expect(() => readRequest(operations.quote, value)).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining(canary) }),
      );
    }
  });

  it('has as its amount only a strict decimal string of a u64', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.bigInt({ min: -1n, max: 2n ** 65n }).map(String),
      fc.stringMatching(/^[0-9.eE+-]{0,22}$/),
    );
    fc.assert(
      fc.property(texts, (amount) => {
        expect(readAs(operations.quote.request, { ...parameters, amount }).ok).toBe(
          parseAmount(amount) !== undefined,
        );
      }),
    );
  });

  it('is accepted or refused by a rule, and never by another error, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(operations)),
        fc.jsonValue(),
        (operation, value) => {
          const reading = readAs<unknown>(operation.request, value);
          if (!reading.ok) expect(reading.rule).toMatch(/\.$/);
        },
      ),
    );
  });
});

describe('a query', () => {
  const read = (id: 'quote' | 'balance', text: string) =>
    readQuery(operations[id], new URLSearchParams(text));

  it('becomes a request with types', () => {
    expect(read('quote', 'inputMint=SOL&amount=7&slippageBps=50')).toEqual({
      inputMint: 'SOL',
      amount: '7',
      slippageBps: 50,
    });
    expect(read('balance', `wallet=${WALLET}`)).toEqual({ wallet: WALLET });
    expect(read('balance', `wallet=${WALLET}&mint=SOL`)).toEqual({ wallet: WALLET, mint: ['SOL'] });
    expect(read('balance', 'mint=SOL&mint=USDC')).toEqual({ mint: ['SOL', 'USDC'] });
  });

  it.each(['050', '5e1', '+50', ' 50', '0x32', '50.0', '', '9007199254740993'])(
    'keeps %j as text, because it is not the only spelling of a number',
    (text) => {
      expect(read('quote', new URLSearchParams({ slippageBps: text }).toString())).toEqual({
        slippageBps: text,
      });
      expect(
        optionOf(() => readRequest(operations.quote, { ...parameters, slippageBps: text })),
      ).toBe('slippageBps');
    },
  );

  it('is refused if it repeats a field that is not a list', () => {
    expect(optionOf(() => read('quote', 'amount=1&amount=1'))).toBe('amount');
    expect(optionOf(() => read('balance', 'wallet=a&mint=SOL&wallet=b'))).toBe('wallet');
  });

  it('becomes the request that it was written from', () => {
    const amounts = fc.bigInt({ min: 0n, max: U64_MAX }).map(String);
    const request = fc.record(
      {
        inputMint: fc.constantFrom('SOL', WSOL),
        outputMint: fc.constantFrom('USDC', USDC),
        amount: amounts,
        swapMode: fc.constantFrom('ExactIn', 'ExactOut'),
        slippageBps: fc.integer({ min: 0, max: 10_000 }),
        maxAccounts: fc.integer({ min: 1, max: 64 }),
      },
      { requiredKeys: ['inputMint', 'outputMint', 'amount'] },
    );
    fc.assert(
      fc.property(request, (fields) => {
        expect(readRequest(operations.quote, read('quote', writeQuery(fields).toString()))).toEqual(
          fields,
        );
      }),
    );
    const balance = { wallet: WALLET, mint: ['SOL', USDC] };
    expect(
      readRequest(operations.balance, read('balance', writeQuery(balance).toString())),
    ).toEqual(balance);
    expect(writeQuery({ wallet: WALLET, mint: undefined }).toString()).toBe(`wallet=${WALLET}`);
  });
});

describe('an answer', () => {
  it('keeps its known fields, and drops the rest', () => {
    expect(readAs(operations.quote.response, { ...quote, news: 1 })).toEqual({
      ok: true,
      value: quote,
    });
    expect(readAs(operations.balance.response, balanceOfUsdc)).toEqual({
      ok: true,
      value: balanceOfUsdc,
    });
    expect(
      readAs(operations.balance.response, [balanceOfUsdc, { ...balanceOfUsdc, news: 1 }]),
    ).toEqual({
      ok: true,
      value: [balanceOfUsdc, balanceOfUsdc],
    });
  });

  const offer = { index: 0, x402Version: 2, payable: true };

  it.each<[string, keyof typeof operations, unknown]>([
    ['a platform fee', 'quote', { ...quote, platformFeeBps: 1 }],
    ['an amount that is a number', 'quote', { ...quote, inAmount: 5 }],
    ['a provider that is a sentence', 'quote', { ...quote, provider: 'trust me' }],
    ['a balance that is negative', 'balance', { ...balanceOfUsdc, amount: '-1' }],
    [
      'a header that is not a payment',
      'autoPay',
      {
        state: 'ready_to_present',
        offer,
        header: { name: 'Authorization', value: 'aaaa' },
      },
    ],
    ['an unknown state', 'autoPay', { state: 'send_key', offer }],
    ['no offers', 'parsePayment', { x402Version: 2 }],
  ])('is refused if it has %s', (_, id, value) => {
    expect(readAs<unknown>(operations[id].response, value).ok).toBe(false);
  });

  it('shows its texts cleaned', () => {
    const reading = readAs(operations.quote.response, {
      ...quote,
      route: ['Good\u202e Dex\u0007'],
    });
    expect(reading).toMatchObject({ ok: true, value: { route: ['Good  Dex'] } });
  });
});
