import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type Client } from 'exact-change';
import { createHandler, rateLimit } from 'exact-change/http';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { afterAll, describe, expect, it } from 'vitest';
import { entryV2, envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, sellerOfTest } from '../helpers/seller.js';
import { expectUnread, expectUntouched, nothingSent } from '../helpers/untouched.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const folder = mkdtempSync(join(tmpdir(), 'exact-change-mistakes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const usdcApi = `${sandbox.apiUrl}/usdc`;

describe('a journal in a folder that does not exist', () => {
  it('fails the call with the path, the reason and the next step', async () => {
    const path = join(folder, 'data', 'payments.jsonl');
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal: fileJournal(path) });
    const error = await nothingSent(sandbox, payer, () => failureOf(payer.client.fetch(usdcApi)));
    expectUnread(error);
    expect(error.message).toContain(path);
    expect(error.message).toMatch(/ENOENT.* folder must exist.* to find that payment/);
  });
});

describe('a wrong argument', () => {
  const swap = { inputMint: 'SOL', outputMint: 'USDC', amount: '10000000' };

  // A caller in plain JavaScript can pass any value.
  it.each<
    [option: string, call: (client: Client, value: never) => Promise<unknown>, value: unknown]
  >([
    ['idempotencyKey', (client, idempotencyKey) => client.fetch(usdcApi, { idempotencyKey }), 7],
    ['repeatable', (client, repeatable) => client.fetch(usdcApi, { repeatable }), 'false'],
    ['counted', (client, counted) => client.swap(swap, { counted }), 'false'],
    ['mint', (client, mint) => client.balance(mint), 5],
    ['mint', (client, mint) => client.balance(mint), null],
    ['slipageBps', (client, request) => client.quote(request), { ...swap, slipageBps: 10 }],
    ['slipageBps', (client, request) => client.swap(request), { ...swap, slipageBps: 10 }],
    ['noWorseThn', (client, options) => client.swap(swap, options), { noWorseThn: {} }],
    ['uri', (client, options) => client.pay(new Response(), options), { uri: usdcApi }],
  ])('is refused by its name: %s (case %#)', async (option, call, value) => {
    const payer = await payerOn(sandbox, { SOL: '1', USDC: '1' });
    const error = await nothingSent(sandbox, payer, () =>
      failureOf(call(payer.client, value as never), 'invalid_option'),
    );
    expect(error.details).toEqual({ option });
    expectUntouched(error);
  });

  it.each([undefined, null, 'https://api.example.com/premium', 5, {}])(
    'is refused as no terms when client.pay gets %s',
    async (value) => {
      const payer = await payerOn(sandbox, { USDC: '1' });
      const error = await nothingSent(sandbox, payer, () =>
        failureOf(payer.client.pay(value as never), 'malformed_payment_required'),
      );
      expect(error.message).toContain('Give a 402 with payment terms');
    },
  );
});

describe('a wrong option', () => {
  const signer = { address: sandbox.merchant, signMessage: () => Promise.reject(new Error()) };

  // A caller in plain JavaScript can pass any value.
  it.each<[option: string, make: (value: never) => unknown, value: unknown]>([
    ['shema', postgresJournal, { connectionString: 'postgres://localhost/x', shema: 'other' }],
    ['options', postgresJournal, undefined],
    ['keyof', rateLimit, { perMinute: 1, keyof: () => '' }],
    ['transport', createHandler, undefined],
    ['transport', createHandler, createClient({ signer })],
  ])('is refused by its name: %s (case %#)', (option, make, value) => {
    expect(() => make(value as never)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option } }),
    );
  });

  it('is refused with the next step when it is a path as journal, or a wallet app as signer', () => {
    const thrown = (options: unknown) => () => createClient(options as never);
    expect(thrown({ signer, journal: './payments.jsonl' })).toThrow('such as fileJournal(path)');
    expect(thrown({ signer: { publicKey: signer.address } })).toThrow(
      'signMessage or signTransaction',
    );
  });
});

describe('a refusal', () => {
  it('names the clusters when the node serves another one', async () => {
    const payer = await payerOn(sandbox, {}, { network: 'devnet' });
    const error = await failureOf(payer.client.fetch(usdcApi), 'rpc_wrong_network');
    expect(error.message).toContain('serves mainnet, but the client is set to devnet.');
  });

  it('says why none of several offers can be paid', async () => {
    const accepts = ['eip155:8453', 'eip155:137'].map((network) => entryV2({ network }));
    const seller = await sellerOfTest((_, response) => answerTerms(response, envelopeV2(accepts)));
    const payer = await payerOn(sandbox);
    const error = await failureOf(payer.client.fetch(seller.url), 'no_payable_offer');
    expect(error.message).toContain('2 offers can be paid. Offer 1 is for Base, and this client ');
  });
});
