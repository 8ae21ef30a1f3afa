import { address, createKeyPairFromBytes, getBase58Encoder, signBytes } from '@solana/kit';
import {
  settled,
  type Client,
  type ClientEvent,
  type ClientOptions,
  type Receipt,
  type MessageSigner,
  type SigningIntent,
} from 'exact-change';
import type { Sandbox, SandboxWallet } from 'exact-change-sandbox';

/**
 * What a client of the sandbox is set to; `?caller=client` lets the node count its calls apart from
 * those of all others.
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

/** The receipt of a response once the chain has decided its payment. */
export async function decided(response: Response): Promise<Receipt> {
  const receipt = await settled(response);
  if (receipt === undefined) throw new Error(`Nothing was paid for the answer ${response.status}.`);
  return receipt;
}

/** Everything that a client tells from now on, in its order. */
export function recorded(client: Client): ClientEvent[] {
  const events: ClientEvent[] = [];
  client.on('*', (event) => events.push(event));
  return events;
}

/** Queries and bodies that the aggregator answered from now on. */
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

/** A signer that is kit's, and all that it was asked to sign. */
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

/** A fetch that gives out the 402s of so many calls at the same moment. */
export function arrivingTogether(calls: number): typeof fetch {
  let release = (): void => undefined;
  const all = new Promise<void>((resolve) => (release = resolve));
  let unpaid = 0;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 402) return response;
    unpaid += 1;
    if (unpaid === calls) release();
    await all;
    return response;
  };
}
