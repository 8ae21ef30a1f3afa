import { createClient, HTTPInterceptor, isExactChangeError, local, receiptOf, type Client, type Journal, type Signer } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';
import { createSandbox, type Sandbox } from 'exact-change/sandbox';

export async function pay(url: string, signer: Signer, journal: Journal): Promise<string | undefined> {
  const client: Client = createClient({ signer, journal, autoSwap: true, policy: { maxPerPayment: '0.25' } });
  try {
    return receiptOf(await client.fetch(url))?.payment.amount;
  } catch (error) {
    if (isExactChangeError(error, 'insufficient_funds')) return error.details.required;
    // @ts-expect-error a code that does not exist
    if (isExactChangeError(error, 'insufficient_fun')) return undefined;
    throw error;
  }
}

// @ts-expect-error an option that does not exist
export const misspelt = () => new HTTPInterceptor({ walletSecretKey: '', autoSwop: true });

export const sandbox: Promise<Sandbox> = createSandbox();

export const handler: (request: Request) => Promise<Response> = createHandler(local(), {
  authorize: apiKeys(['a-key-that-is-long-enough']),
});
