import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import type { Journal } from 'exact-change';

/** Kinds of payers; `floor` only sends the two requests of a payment. */
export type Kind = 'ours' | 'official' | 'floor';

export interface Payer {
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** Resolves when all payments have settled. */
  settled(): Promise<void>;
  /** Makes headers for `count` payments. */
  prepare(url: string, count: number): Promise<void>;
}

export interface PayerOptions {
  readonly secretKey: string;
  readonly rpcUrl: string;
  readonly jupiterUrl: string;
  /** Further options of `createClient`. */
  readonly options?: object;
  readonly journal?: Journal | undefined;
}

const nothing = (): Promise<void> => Promise.resolve();
/** Caps so high that they never end a run. */
const policy = { maxPerPayment: '100', maxPerDay: '1000000', maxLamportsPerDay: 10n ** 12n };

export const payers: Record<Kind, (options: PayerOptions) => Promise<Payer>> = {
  async ours({ secretKey, rpcUrl, jupiterUrl, options, journal }) {
    const { createClient } = await import('exact-change');
    const base = { walletSecretKey: secretKey, rpcUrl, jupiterUrl, policy, journal };
    const client = createClient({ ...base, ...options });
    let open = 0;
    const waiting: (() => void)[] = [];
    const closed = () => {
      open -= 1;
      if (open === 0) for (const resolve of waiting.splice(0)) resolve();
    };
    client.on('payment.signed', () => (open += 1));
    client.on('payment.settled', closed);
    client.on('payment.unsettled', closed);
    return {
      fetch: client.fetch,
      prepare: () => client.warm(),
      // Without a timer, because the CPU of the wait counts as the client's.
      settled: () => (open === 0 ? nothing() : new Promise((resolve) => waiting.push(resolve))),
    };
  },
  async official(options) {
    const { wrapFetchWithPaymentFromConfig } = await import('@x402/fetch');
    const config = { schemes: [{ network: 'solana:*' as const, client: await scheme(options) }] };
    const paying = wrapFetchWithPaymentFromConfig((...call) => fetch(...call), config);
    return { fetch: paying, settled: nothing, prepare: nothing };
  },
  async floor(options) {
    const { x402Client, x402HTTPClient } = await import('@x402/fetch');
    const client = new x402HTTPClient(new x402Client().register('solana:*', await scheme(options)));
    const ready: Record<string, string>[] = [];
    return {
      async fetch(url) {
        const headers = ready.shift();
        if (headers === undefined) throw new Error('Too few headers were prepared.');
        await (await fetch(url)).arrayBuffer();
        return fetch(url, { headers });
      },
      settled: nothing,
      async prepare(url, count) {
        const unpaid = await fetch(url);
        const terms = client.getPaymentRequiredResponse(
          (name) => unpaid.headers.get(name),
          await unpaid.json(),
        );
        while (ready.length < count) {
          const payment = await client.createPaymentPayload(terms);
          ready.push(client.encodePaymentSignatureHeader(payment));
        }
      },
    };
  },
};

async function scheme({ secretKey, rpcUrl }: PayerOptions) {
  const { ExactSvmScheme } = await import('@x402/svm/exact/client');
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(secretKey));
  return new ExactSvmScheme(signer, { rpcUrl });
}
