import { describe, expect, it } from 'vitest';
import { isExactChangeError } from '../../../../src/errors.js';
import { readOffers } from '../../../../src/protocols/x402/offers.js';
import { parsePaymentRequired } from '../../../../src/protocols/x402/parse-payment-required.js';
import { readPaymentRequired } from '../../../../src/protocols/x402/read.js';
import { KEYS, MAINNET, ODD_402S } from '../../../fixtures/malformed-402.js';
import type { Odd402, Verdict } from '../../../fixtures/malformed-402.js';

const responseOf = ({ headers, body }: Odd402) => new Response(body, { status: 402, headers });

const bytesOf = (body: Odd402['body']) =>
  body === null
    ? new Uint8Array()
    : typeof body === 'string'
      ? new TextEncoder().encode(body)
      : body;

async function judge(odd: Odd402, response: Response): Promise<Verdict> {
  try {
    const paymentRequired = await readPaymentRequired(response, { timeoutMs: 5_000 });
    if (paymentRequired === undefined) return 'untouched';
    const [first] = readOffers(paymentRequired, MAINNET, KEYS.payer);
    if (first === undefined) throw new Error('no reading of the first offer');
    if (first.ok) return 'payable';
    expect(first.error.code).toBe(first.refusal.code);
    expect(first.error.funds).toBe('untouched');
    return first.refusal.code as Verdict;
  } catch (error) {
    if (!isExactChangeError(error, 'malformed_payment_required')) throw error;
    expect(error.response, odd.name).toBe(response);
    expect(error.funds).toBe('untouched');
    return 'malformed';
  }
}

describe('an odd or hostile 402', () => {
  it('has a row of its own in a table of more than 300 rows', () => {
    expect(ODD_402S.length).toBeGreaterThan(300);
    expect(new Set(ODD_402S.map((odd) => odd.name)).size).toBe(ODD_402S.length);
  });

  it.each(ODD_402S.map((odd) => [odd.name, odd] as const))(
    'gets its verdict and keeps its body readable: %s',
    async (_, odd) => {
      const response = responseOf(odd);
      expect(await judge(odd, response)).toBe(odd.verdict);
      expect(response.bodyUsed).toBe(false);
      expect(Buffer.compare(new Uint8Array(await response.arrayBuffer()), bytesOf(odd.body))).toBe(
        0,
      );
    },
  );

  it('gets the same verdict from its parts as from its response if its body is text', () => {
    const texts = ODD_402S.filter(
      (odd) =>
        typeof odd.body === 'string' &&
        odd.body.length < 60_000 &&
        !(odd.headers['content-type'] ?? '').includes('stream'),
    );
    for (const odd of texts) {
      const read = () => parsePaymentRequired({ headers: odd.headers, body: odd.body as string });
      if (odd.verdict === 'malformed') expect(read, odd.name).toThrow(/cannot be read/);
      else expect(read() === undefined, odd.name).toBe(odd.verdict === 'untouched');
    }
  });

  it('leaves no trace on Object.prototype', () => {
    for (const odd of ODD_402S) {
      if (typeof odd.body !== 'string') continue;
      try {
        parsePaymentRequired({ headers: odd.headers, body: odd.body });
      } catch {
        // The verdicts are asserted above.
      }
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>)['payTo']).toBeUndefined();
  });
});
