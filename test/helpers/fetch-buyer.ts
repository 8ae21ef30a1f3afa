import {
  createClient,
  type Client,
  type ClientEvent,
  type ClientOptions,
  type EventName,
} from 'exact-change';
import type { MintSymbol, Sandbox, SandboxWallet } from 'exact-change-sandbox';
import { expect, onTestFinished } from 'vitest';

export interface Buyer {
  readonly client: Client;
  readonly wallet: SandboxWallet;
  /** Returns the base units of USDC that left the wallet since the start. */
  spent(): Promise<bigint>;
}

/**
 * Makes a wallet and its client, which closes when the test is over. The wallet holds USDC unless
 * `funds` says otherwise.
 */
export async function newBuyer(
  sandbox: Sandbox,
  options: Partial<ClientOptions> = {},
  funds: Partial<Record<MintSymbol, string>> = { USDC: '5' },
): Promise<Buyer> {
  const wallet = await sandbox.createWallet(funds);
  const client = clientOf(sandbox, wallet, options);
  const before = await sandbox.balance(wallet.address, 'USDC');
  return {
    client,
    wallet,
    spent: async () => before - (await sandbox.balance(wallet.address, 'USDC')),
  };
}

/** Makes a client of a wallet, which closes when the test is over. */
export function clientOf(
  sandbox: Sandbox,
  { secretKey }: SandboxWallet,
  options: Partial<ClientOptions> = {},
): Client {
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const client = createClient({
    walletSecretKey: secretKey,
    rpcUrl,
    wsUrl,
    jupiterUrl,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** Resolves with the next event of a type. Call it before the action that causes the event. */
export function nextEvent<N extends EventName>(client: Client, type: N): Promise<ClientEvent<N>> {
  return new Promise((resolve) => {
    const stop = client.on(type, (event) => {
      stop();
      resolve(event);
    });
  });
}

/** Returns the error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  expect(outcome).toHaveProperty('error');
  return 'error' in outcome ? outcome.error : undefined;
}
