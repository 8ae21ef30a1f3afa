import type { Config } from '../config.js';
import { TransportError } from '../errors.js';
import type { Events } from '../events.js';
import { walletOf, type Wallet } from '../journal/registry.js';
import type { Journal } from '../journal/types.js';
import { createBlockhashSource } from '../solana/blockhash.js';
import { connectRpc } from '../solana/connection.js';
import type { Rpc } from '../solana/rpc.js';
import type { Lifetime } from '../solana/types.js';
import type { Transport } from '../transport.js';

// Half of a slow slot: fresh enough to last, old enough to serve calls that come together.
const BLOCKHASH_MAX_AGE_MS = 2_000;

/** What every step of the flow works with. */
export interface Core {
  readonly config: Config;
  readonly events: Events;
  readonly rpc: Rpc;
  readonly transport: Transport;
  readonly wallet: Wallet;
  readonly journal: Journal;
  readonly blockhashes: { fresh(options?: { signal?: AbortSignal | undefined }): Promise<Lifetime & { slot: number }>; drop(): void };
  /** Resolves once the node has shown that it serves our network; asked once. */
  ready(): Promise<void>;
  /** Aborts work in the background when the client closes. */
  readonly closing: AbortController;
}

/** What composes the default transport: the core gives it its own connection. */
export type ComposeTransport = (config: Config, rpc: Rpc) => Transport;

export function createCore(config: Config, events: Events, compose: ComposeTransport): Core {
  const { rpcUrls, wsUrl, connection, timeouts } = config;
  const rpc = connectRpc({
    urls: rpcUrls,
    fetch: config.fetch,
    timeoutMs: timeouts.rpc,
    ...(wsUrl === undefined ? {} : { wsUrl }),
    ...(connection === undefined ? {} : { connection }),
  });
  return coreOver(config, events, rpc, config.transport ?? compose(config, rpc), walletOf(config.signer.address, config.network));
}

/** A core over a connection and a transport that are there already. */
export function coreOver(config: Config, events: Events, rpc: Rpc, transport: Transport, wallet: Wallet): Core {
  const { network, runtime } = config;
  return {
    config,
    events,
    rpc,
    transport,
    wallet,
    journal: config.journal ?? wallet.journal,
    blockhashes: createBlockhashSource(rpc, runtime, BLOCKHASH_MAX_AGE_MS),
    ready: askOnce(() => checkNetwork(rpc, network)),
    closing: new AbortController(),
  };
}

/** A call that is made once; a failure is forgotten, so that the next caller asks again. */
function askOnce(ask: () => Promise<void>): () => Promise<void> {
  let answer: Promise<void> | undefined;
  return () =>
    (answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    }));
}

async function checkNetwork(rpc: Rpc, network: string): Promise<void> {
  const actual = `solana:${(await rpc.genesisHash()).slice(0, 32)}`;
  if (actual === network) return;
  throw new TransportError(
    'rpc_wrong_network',
    `The RPC node serves ${actual}, but the client is set to ${network}. Correct rpcUrl or network.`,
    {
      details: { expected: network, actual },
    },
  );
}
