import {
  address,
  createKeyPairFromBytes,
  getBase58Encoder,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  partiallySignTransaction,
  signBytes,
} from '@solana/kit';
import {
  createClient,
  settled,
  type Client,
  type ClientEvent,
  type ClientOptions,
  type Receipt,
  type MessageSigner,
  type SigningIntent,
} from 'exact-change';
import type { Sandbox, SandboxWallet } from 'exact-change-sandbox';
import { closedAfterTest } from './payer.js';

/**
 * Returns the options of a client on the sandbox. By `?caller=client` the node counts the client's
 * calls separately.
 */
export function onSandbox(
  sandbox: Sandbox,
  wallet: SandboxWallet,
  more: ClientOptions = {},
): ClientOptions {
  return {
    walletSecretKey: wallet.secretKey,
    rpcUrl: `${sandbox.rpcUrl}/?caller=client`,
    jupiterUrl: sandbox.jupiterUrl,
    autoSwap: true,
    ...more,
  };
}

/** Makes a client on the sandbox, which the sandbox of the file closes after the test. */
export function clientOn(sandbox: Sandbox, wallet: SandboxWallet, more?: ClientOptions): Client {
  return closedAfterTest(createClient(onSandbox(sandbox, wallet, more)));
}

/** Waits until the chain has decided the payment of a response, and returns its receipt. */
export async function decided(response: Response): Promise<Receipt> {
  const receipt = await settled(response);
  if (receipt === undefined) throw new Error(`Nothing was paid for the answer ${response.status}.`);
  return receipt;
}

/** Returns a list that collects every later event of a client, in order. */
export function recorded(client: Client): ClientEvent[] {
  const events: ClientEvent[] = [];
  client.on('*', (event) => events.push(event));
  return events;
}

/** Returns a list that collects the query and body of every later call to the aggregator. */
export function overheard(
  sandbox: Sandbox,
): { readonly endpoint: string; readonly query: URLSearchParams; readonly body: unknown }[] {
  const seen: { endpoint: string; query: URLSearchParams; body: unknown }[] = [];
  for (const endpoint of [
    '/swap/v1/quote',
    '/swap/v1/swap-instructions',
    '/swap/v1/swap',
    '/swap/v2/build',
  ]) {
    sandbox.controls.aggregator.lie(endpoint, (answer, { query, body }) => {
      seen.push({ endpoint, query, body });
      return answer;
    });
  }
  return seen;
}

/** Returns a signer that uses kit, and the list of intents that it signed. */
export async function kitSigner(
  wallet: SandboxWallet,
): Promise<{ readonly signer: MessageSigner; readonly signed: readonly SigningIntent[] }> {
  const { privateKey } = await createKeyPairFromBytes(getBase58Encoder().encode(wallet.secretKey));
  const signed: SigningIntent[] = [];
  const signMessage = async (message: Uint8Array, intent: SigningIntent) => {
    signed.push(intent);
    return new Uint8Array(await signBytes(privateKey, message));
  };
  return { signer: { address: address(wallet.address), signMessage }, signed };
}

/** Signs a base64 transaction by kit alone: all that a caller of a service needs besides HTTP. */
export async function signedByKit(
  wallet: SandboxWallet,
  transaction = '',
): Promise<{ readonly wire: string; readonly signature: () => string }> {
  const keys = await createKeyPairFromBytes(getBase58Encoder().encode(wallet.secretKey));
  const signed = await partiallySignTransaction(
    [keys],
    getTransactionDecoder().decode(getBase64Encoder().encode(transaction)),
  );
  return {
    wire: getBase64EncodedWireTransaction(signed),
    signature: () => getSignatureFromTransaction(signed),
  };
}

/** Returns a fetch that holds each 402 until `calls` of them have arrived. */
export function arrivingTogether(calls: number): typeof fetch {
  let release = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (release = resolve));
  let unpaid = 0;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 402) return response;
    unpaid += 1;
    if (unpaid === calls) release();
    await arrived;
    return response;
  };
}
