import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { getBase58Encoder } from '@solana/kit';
import {
  createClient,
  isExactChangeError,
  type Client,
  type ClientEvent,
  type ClientOptions,
  type ErrorCode,
  type ExactChangeError,
  type MessageSigner,
  type SigningIntent,
} from 'exact-change';
import type { MintSymbol, Sandbox, SandboxWallet } from 'exact-change-sandbox';
import { expect } from 'vitest';

/** Bytes of a PKCS #8 Ed25519 key before its seed. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Decodes a base58 secret key to its 64 bytes. */
export function secretBytes(secretKey: string): Uint8Array {
  return Uint8Array.from(getBase58Encoder().encode(secretKey));
}

/** Makes a signer that uses `node:crypto` and records each message that it signs. */
export function recordingSigner(
  address: string,
  secretKey: string,
): {
  readonly signer: MessageSigner;
  readonly signed: readonly SigningIntent[];
  readonly messages: readonly Uint8Array[];
} {
  const der = Buffer.concat([PKCS8_PREFIX, secretBytes(secretKey).subarray(0, 32)]);
  const key: KeyObject = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const signed: SigningIntent[] = [];
  const messages: Uint8Array[] = [];
  const signMessage = (message: Uint8Array, intent: SigningIntent) => {
    signed.push(intent);
    messages.push(Uint8Array.from(message));
    return Promise.resolve(Uint8Array.from(sign(null, message, key)));
  };
  return { signer: { address, signMessage }, signed, messages };
}

/** A wallet, its client, the messages that it signed and the events of its clients. */
export interface Payer {
  readonly address: string;
  readonly secretKey: string;
  readonly client: Client;
  readonly signed: readonly SigningIntent[];
  /** Bytes of the signed messages, in the order of `signed`. */
  readonly messages: readonly Uint8Array[];
  readonly events: readonly ClientEvent[];
  /** Makes another client of the same wallet. */
  again(options?: ClientOptions): Client;
}

const open = new Set<Client>();

/** Makes a wallet with funds, and a client of it on the sandbox. */
export async function payerOn(
  sandbox: Sandbox,
  funds: Partial<Record<MintSymbol, string>> = {},
  options: ClientOptions = {},
): Promise<Payer> {
  return payerOf(sandbox, await sandbox.createWallet(funds), options);
}

/** Does the same as {@link payerOn} for an existing wallet. */
export function payerOf(
  sandbox: Sandbox,
  { address, secretKey }: SandboxWallet,
  options: ClientOptions = {},
): Payer {
  const { signer, signed, messages } = recordingSigner(address, secretKey);
  const events: ClientEvent[] = [];
  const make = (change: ClientOptions): Client => {
    const connections = {
      rpcUrl: sandbox.rpcUrl,
      wsUrl: sandbox.wsUrl,
      jupiterUrl: sandbox.jupiterUrl,
    };
    const base = change.connection === undefined ? connections : { jupiterUrl: sandbox.jupiterUrl };
    const client = createClient({ ...base, signer, ...change });
    client.on('*', (event) => void events.push(event));
    return closedAfterTest(client);
  };
  return {
    address,
    secretKey,
    client: make(options),
    signed,
    messages,
    events,
    again: (change = options) => make(change),
  };
}

/** Lets {@link closePayers} close a client. */
export function closedAfterTest(client: Client): Client {
  open.add(client);
  return client;
}

/** Closes every client of this module. */
export async function closePayers(): Promise<void> {
  const clients = [...open];
  open.clear();
  await Promise.all(clients.map((client) => client.close()));
}

/** Returns the error of a call. Throws unless the library made it, with `code` if given. */
export async function failureOf<C extends ErrorCode = ErrorCode>(
  call: Promise<unknown>,
  code?: C,
): Promise<ExactChangeError<C>> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!('error' in outcome))
    throw new Error(
      `expected ${code ?? 'an error'}, but the call succeeded with ${describe(outcome.value)}`,
    );
  const { error } = outcome;
  if (!isExactChangeError(error)) throw error;
  if (code !== undefined)
    expect({ code: error.code, message: error.message }).toEqual({ code, message: error.message });
  if (!isExactChangeError<C>(error, code)) throw error;
  return error;
}

function describe(value: unknown): string {
  return value instanceof Response ? `status ${value.status}` : typeof value;
}
