import { deliverOver } from '../../../adapters/webhooks/deliver.js';

/**
 * Delivers to each URL in its arguments, with every name resolved to this machine, and prints the
 * outcomes: a status, or an error code of OpenSSL or Node.
 */
const deliver = deliverOver({
  rules: { allowPrivate: true, ports: [443] },
  resolve: async () => ['127.0.0.1'],
  timeoutMs: 30_000,
});
const outcomes = [];
for (const url of process.argv.slice(2)) {
  const message = {
    url,
    headers: { 'content-type': 'application/json', 'webhook-id': 'a' },
    body: '{}',
  };
  outcomes.push(
    await deliver(message, new AbortController().signal).then(
      ({ status }) => status,
      (error: unknown) => (error instanceof Error && 'code' in error ? error.code : String(error)),
    ),
  );
}
process.stdout.write(JSON.stringify(outcomes));
