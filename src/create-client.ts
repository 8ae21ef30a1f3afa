import { buildClient, type Client } from './client.js';
import type { ClientOptions } from './config/options.js';
import { X402_HEADERS } from './protocols/x402/index.js';
import { lazyPart } from './internal/load-once.js';

const everyPart = /* @__PURE__ */ lazyPart(() => import('./parts.js'));

/**
 * Creates a client that pays for calls from one wallet. The global fetch stays as it is, and the
 * client sends nothing before its first call.
 *
 * Throws `ConfigError` (`invalid_option`, `invalid_key`) at once if the options are wrong.
 *
 * @example
 * const client = createClient({
 *   walletSecretKey,
 *   autoSwap: true,
 *   policy: { maxPerPayment: '0.50', maxPerDay: '5.00' },
 * });
 * const response = await client.fetch('https://api.example.com/premium');
 * console.log(receiptOf(response)?.payment.amount);
 */
export function createClient(options: ClientOptions): Client {
  return buildClient(options, {
    headers: X402_HEADERS,
    load: async () => (await everyPart()).parts,
  });
}
