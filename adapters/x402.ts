/**
 * Payments of this library in the official x402 client, and its `wrapFetchWithPayment` shape here.
 *
 * @module exact-change/x402
 */
import { base64 } from '../src/internal/bytes.js';
import type { Client } from '../src/client.js';
import type { ClientOptions } from '../src/config/options.js';
import { createClient } from '../src/index.js';
import { refuse } from '../src/internal/options.js';
import { isRecord } from '../src/internal/record.js';
import { everyPinnedMint } from '../src/network.js';
import { parsePaymentRequired } from '../src/protocols/x402/parse-payment-required.js';
import { checkClient } from './check-client.js';

/** A scheme for `x402Client.register` and `registerV1` of `@x402/core`. */
export interface ExactChangeScheme {
  readonly scheme: 'exact';
  readonly schemeHooks: {
    onBeforePaymentCreation(context: {
      readonly paymentRequired: { readonly resource?: { readonly url: string } };
      readonly selectedRequirements: object;
    }): Promise<void>;
  };
  findDefaultAsset(
    asset: string,
    network: string,
  ): { asset: string; decimals: number; symbol: string } | undefined;
  createPaymentPayload(
    x402Version: number,
    requirements: object,
    context?: { readonly extensions?: Record<string, unknown> },
  ): Promise<{
    x402Version: number;
    payload: Record<string, unknown>;
    extensions?: Record<string, unknown>;
  }>;
}

/**
 * Returns a scheme for the official client that pays through a client of this library. That client
 * swaps if the token is short, and its caps and journal apply.
 *
 * The official client chooses the offer and presents the payment itself. It knows only the URL that
 * the seller states (`resource.url`). So caps and lists by host hold only if the seller is honest.
 * Each 402 is a new purchase: a repeated call pays again, also after a lost answer, and only the caps
 * bound that. The official client reduces errors to their message; its hook `onPaymentCreationFailure` gets the error itself.
 * Its own limits come first: `setSpendControls({ allowedAssets: true })` lets it pay tokens that
 * are no pinned stablecoin.
 *
 * Throws `ConfigError` (`invalid_option`) at once if `client` is no client.
 *
 * @example
 * const official = new x402Client()
 *   .register('solana:*', exactChangeScheme(client))
 *   .registerV1('solana', exactChangeScheme(client));
 * const fetchWithPayment = wrapFetchWithPayment(fetch, official);
 */
export function exactChangeScheme(client: Pick<Client, 'pay'>): ExactChangeScheme {
  checkClient(client, 'pay');
  const urls = new WeakMap<object, string>();
  return {
    scheme: 'exact',
    schemeHooks: {
      async onBeforePaymentCreation({ paymentRequired, selectedRequirements }) {
        const { url } = paymentRequired.resource ?? {};
        if (url !== undefined) urls.set(selectedRequirements, url);
      },
    },
    findDefaultAsset(asset) {
      const pinned = everyPinnedMint.find(({ mint, dollar }) => mint === asset && dollar);
      return pinned && { asset, decimals: pinned.decimals, symbol: pinned.symbol };
    },
    async createPaymentPayload(x402Version, requirements, { extensions } = {}) {
      const url = urls.get(requirements) ?? resourceOf(requirements);
      const body = { x402Version, accepts: [requirements], resource: { url }, extensions };
      const terms = parsePaymentRequired({ url, body });
      if (terms === undefined) throw refuse('requirements', 'must be an entry of accepts.');
      const { header } = await client.pay(terms, { url });
      const written = fieldsOf(JSON.parse(new TextDecoder().decode(base64.decode(header.value))));
      const { payload, extensions: answered } = written;
      return {
        // In version 1 the official client adds no fields, so return the whole payment.
        ...(x402Version === 1 ? written : {}),
        ...{ x402Version, payload: fieldsOf(payload) },
        ...(isRecord(answered) ? { extensions: answered } : {}),
      };
    },
  };
}

/** Returns the URL of an offer of version 1, in which each entry has it. */
function resourceOf(requirements: object): string {
  const url: unknown = Reflect.get(requirements, 'resource');
  if (typeof url === 'string') return url;
  throw refuse(
    'schemeHooks',
    'were not called, so it is not known what is paid for. Use @x402/core 2.27 or newer, or register schemeHooks.onBeforePaymentCreation by onBeforePaymentCreation.',
  );
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/**
 * Wraps the caller's `fetch` so that it pays, like `wrapFetchWithPayment` of the official packages.
 * It makes its client with the options of `createClient`.
 *
 * Throws `ConfigError` (`invalid_option`, `invalid_key`) at once if the options are wrong.
 *
 * @example
 * const fetchWithPayment = withPayment(fetch, { walletSecretKey, autoSwap: true });
 * const response = await fetchWithPayment('https://api.example.com/premium');
 */
export function withPayment(
  fetch: typeof globalThis.fetch,
  options: Omit<ClientOptions, 'fetch'>,
): Client['fetch'] {
  return createClient({ ...options, fetch }).fetch;
}
