import { createClient, type Client, type ErrorCode } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  base64,
  entryV1,
  entryV2,
  envelopeV1,
  envelopeV2,
  KEYS,
  ODD_402S,
  type Odd402,
  type Verdict,
} from '../fixtures/malformed-402.js';
import { closePayers, failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { type Seller, sellerOfTest, startSeller } from '../helpers/seller.js';
import { expectUntouched, nothingSent, refusal } from '../helpers/untouched.js';

let sandbox: Sandbox;
let table: Seller;
let payer: Payer;
let reader: Client;

/** Returns the bytes of a row's body on the wire. */
const bytesOf = ({ body }: Odd402) => (body === null ? Buffer.alloc(0) : Buffer.from(body));

beforeAll(async () => {
  sandbox = await createSandbox({ confirmationMs: 20 });
  table = await startSeller((request, response) => {
    const odd = ODD_402S[Number(request.url?.slice(1))];
    if (odd === undefined) return void response.writeHead(404).end();
    response.writeHead(402, odd.headers);
    response.end(bytesOf(odd));
  });
  payer = await payerOn(sandbox, { USDC: '50' });
  // The table names this wallet as the payer. No test has its key, so it must never sign.
  const signer = {
    address: KEYS.payer,
    signMessage: () => Promise.reject(new Error('asked to sign')),
  };
  reader = createClient({
    signer,
    rpcUrl: sandbox.rpcUrl,
    jupiterUrl: sandbox.jupiterUrl,
    autoSwap: true,
  });
});

afterAll(async () => {
  await closePayers();
  await reader.close();
  await table.close();
  await sandbox.close();
});

/**
 * The error code of each verdict. The payee of the table has no token account, so even valid terms
 * cannot be paid.
 */
const CODES: Readonly<Record<Exclude<Verdict, 'untouched'>, ErrorCode>> = {
  malformed: 'malformed_payment_required',
  malformed_payment_required: 'malformed_payment_required',
  unsupported_offer: 'unsupported_offer',
  unsupported_network: 'unsupported_network',
  payable: 'payee_account_missing',
};

describe('a broken, odd or hostile 402 over a socket', () => {
  // `malformed.test.ts` judges each of them; a tenth of them comes over a socket here.
  const overSocket = ODD_402S.map((odd, index) => [odd.name, odd, index] as const).filter(
    ([, , index]) => index % 10 === 0,
  );
  it.each(overSocket)(
    'leaves the response readable and sends no payment: %s',
    async (_, odd, index) => {
      const address = `${table.url}/${index}`;
      const plain = await fetch(address).catch((error: unknown) => error);
      if (!(plain instanceof Response)) {
        // The runtime refuses such a response, so the client rejects with the runtime's error.
        await expect(reader.fetch(address)).rejects.toThrow(TypeError);
        return;
      }
      expect(Buffer.from(await plain.arrayBuffer()).equals(bytesOf(odd))).toBe(true);
      await nothingSent(sandbox, payer, async () => {
        const response =
          odd.verdict === 'untouched'
            ? await reader.fetch(address)
            : await refused(address, odd.verdict);
        expect(response.status).toBe(402);
        expect(response.bodyUsed).toBe(false);
        expect(Buffer.from(await response.arrayBuffer()).equals(bytesOf(odd))).toBe(true);
      });
      expect(table.paid).toEqual([]);
    },
  );

  async function refused(
    address: string,
    verdict: Exclude<Verdict, 'untouched'>,
  ): Promise<Response> {
    const error = await failureOf(reader.fetch(address), CODES[verdict]);
    expectUntouched(error);
    expect(error.retry).toBe('never');
    if (error.response === undefined) throw new Error('the error has no response');
    // Loggers write enumerable properties, and the response may hold secrets.
    expect(Object.keys(error)).not.toContain('response');
    return error.response;
  }

  it('adds nothing to Object.prototype', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Reflect.get({}, 'payTo')).toBeUndefined();
  });
});

describe('a call that exceeds a limit', () => {
  it.each([
    ['v2', envelopeV2, (extra: object) => entryV2({ payTo: sandbox.merchant, extra })],
    [
      'v1 in a v2 header',
      envelopeV2,
      (extra: object) => entryV2({ payTo: sandbox.merchant, extra, network: 'solana' }),
    ],
  ])(
    'is refused when the header that repeats the terms is too large: %s',
    async (_, envelope, entry) => {
      const long = 'x'.repeat(3_900);
      const terms = envelope([entry({ feePayer: sandbox.feePayer, a: long, b: long, c: long })]);
      const seller = await sellerOfTest((_request, response) => {
        response.writeHead(402, { 'content-type': 'application/json' }).end(JSON.stringify(terms));
      });
      // The wallet lacks the token, but must not swap for a payment that it cannot present.
      const short = await payerOn(sandbox, { SOL: '1', BONK: '5000000' }, { autoSwap: true });
      const error = await refusal(sandbox, short, 'header_too_large', () =>
        short.client.fetch(seller.url),
      );
      expect(error).toMatchObject({
        name: 'ProtocolError',
        retry: 'never',
        details: { limitBytes: 12_288 },
      });
      expect(error.details.bytes).toBeGreaterThan(12_288);
      expect(error.message).toContain(String(error.details.bytes));
    },
  );
});

describe('pay() with a response of another fetch', () => {
  it('refuses the terms that fetch() refuses', async () => {
    const response = (body: unknown, headers: Record<string, string> = {}) =>
      new Response(JSON.stringify(body), { status: 402, headers });
    const pay = (unpaid: Response, url = 'https://api.example.com/') =>
      payer.client.pay(unpaid, { url });
    await refusal(sandbox, payer, 'malformed_payment_required', () =>
      pay(response({ error: 'no terms' })),
    );
    await refusal(sandbox, payer, 'malformed_payment_required', () =>
      pay(response({}, { 'payment-required': '%%%' })),
    );
    await refusal(sandbox, payer, 'payee_account_missing', () =>
      pay(response(envelopeV1([entryV1()]))),
    );
    await refusal(sandbox, payer, 'insecure_origin', () =>
      pay(response(envelopeV1([entryV1()])), 'http://api.example.com/'),
    );
    const nowhere = response({}, { 'payment-required': base64(envelopeV2()) });
    expect(
      (await refusal(sandbox, payer, 'invalid_option', () => payer.client.pay(nowhere))).details
        .option,
    ).toBe('url');
    expect(
      (
        await refusal(sandbox, payer, 'invalid_option', () =>
          pay(response(envelopeV1([entryV1()])), 'nonsense'),
        )
      ).details.option,
    ).toBe('url');
  });
});
