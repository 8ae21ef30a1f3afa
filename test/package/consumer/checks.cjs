// Runs on Node 16 to 22 with the installed package in both module formats, without a test runner
// and without newer syntax.
const assert = require('node:assert/strict');
const { createServer } = require('node:http');

const walletSeed = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
const address = '9C6hybhQ6Aycep9jaUnP6uL9ZYvDjUp1aSkFWPUFJtpj';
const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

exports.check = async (library, { createHandler }, { serve, clientAddress }, webhooks) => {
  const {
    createClient,
    HTTPInterceptor,
    isExactChangeError,
    parsePaymentRequired,
    receiptOf,
    formatUiAmount,
  } = library;

  if (globalThis.fetch === undefined) {
    // Node 16 reports the missing fetch; then the test installs it as README describes.
    assert.throws(
      () => createClient({ walletSeed }),
      (error) =>
        isExactChangeError(error, 'missing_dependency') &&
        error.details.packages.includes('undici'),
    );
    const { fetch, FormData, Headers, Request, Response } = require('undici');
    Object.assign(globalThis, { fetch, FormData, Headers, Request, Response });
  }
  const client = createClient({ walletSeed });
  assert.equal(client.address, address);
  // The first call loads the engine and every dependency.
  assert.ok((await client.spent()).length > 0);
  await client.close();

  assert.equal(new HTTPInterceptor({ walletSeed, install: false }).client.address, address);
  assert.throws(
    () => createClient({ walletSeed, rpcUrl: 'nonsense' }),
    (error) =>
      isExactChangeError(error, 'invalid_option') &&
      error instanceof library.ConfigError &&
      error.funds === 'untouched',
  );

  const offer = {
    scheme: 'exact',
    network: 'solana',
    maxAmountRequired: '10000',
    asset: usdc,
    payTo: address,
    maxTimeoutSeconds: 60,
  };
  const terms = parsePaymentRequired({ body: { x402Version: 1, error: 'pay', accepts: [offer] } });
  assert.equal(terms.accepts.length, 1);
  assert.throws(
    () => parsePaymentRequired({ body: '{"x402Version":1,"accepts":7}' }),
    (error) => isExactChangeError(error, 'malformed_payment_required'),
  );

  // Both entries must share their error classes; otherwise the handler answers 500.
  const handler = createHandler(library.local({ rpcUrl: 'http://127.0.0.1:9' }));
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"body":{"x402Version":1,"accepts":7}}',
  };
  const refused = await handler(new Request('http://service.example/api/x402/parse-payment', init));
  assert.equal(refused.status, 422);
  assert.equal((await refused.json()).code, 'malformed_payment_required');
  assert.equal((await handler(new Request('http://service.example/api/health'))).status, 200);

  const callers = [];
  const service = await serve(
    (request) => (callers.push(clientAddress(request)), handler(request)),
    { port: 0 },
  );
  assert.equal((await fetch(`${service.url}/api/health`)).status, 200);
  assert.equal((await fetch(`${service.url}/api/x402/parse-payment`, init)).status, 422);
  assert.equal(
    (
      await fetch(`${service.url}/api/x402/parse-payment`, {
        ...init,
        body: `"${'x'.repeat(70000)}"`,
      })
    ).status,
    413,
  );
  assert.deepEqual(callers, ['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  await service.close();

  await checkWebhooks(library, webhooks);
  assert.equal(receiptOf({}), undefined);
  assert.equal(formatUiAmount(2500000n, 6), '2.5');
  console.log('ok');
};

/** Delivers an event of a journal over a real socket, and verifies it there. */
async function checkWebhooks(
  { memoryJournal, isExactChangeError },
  { createWebhooks, verifyWebhook },
) {
  const journal = memoryJournal({ outbox: true });
  const webhooks = createWebhooks({ journal, allowPrivateTargets: true });
  let secret;
  const received = new Promise((resolve) => {
    const receiver = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        response.writeHead(204).end(() => receiver.close());
        resolve({ headers: request.headers, body });
      });
    });
    receiver.listen(0, '127.0.0.1', async () => {
      const url = `http://127.0.0.1:${receiver.address().port}/paid`;
      ({ secret } = await webhooks.register({ url, events: ['payment.failed'] }));
      webhooks.start();
      const owner = { wallet: address, network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' };
      const bought = {
        url: 'https://api.example.com/',
        method: 'GET',
        host: 'api.example.com',
        fingerprint: 'a',
        payTo: address,
        mint: usdc,
        amount: '1',
      };
      await journal.reserve(
        { id: 'one', state: 'reserved', delivered: false, at: Date.now(), ...owner, ...bought },
        [],
      );
      await journal.release('one');
    });
  });
  const message = await received;
  assert.equal(verifyWebhook({ ...message, secret }).data.id, 'one');
  assert.throws(
    () => verifyWebhook({ ...message, secret, body: `${message.body} ` }),
    (error) => isExactChangeError(error, 'invalid_response'),
  );
  await webhooks.close();
}
