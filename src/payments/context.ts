import { hex } from '../internal/hex.js';
import { connectTo } from '../config/connect.js';
import type { Config } from '../config/options.js';
import type { Events } from '../events.js';
import { alongWith } from '../journal/along.js';
import { walletOf, type Wallet } from '../journal/registry.js';
import type { Coordination, Journal } from '../journal/types.js';
import type { PaymentProtocol } from '../protocols/protocol.js';
import { createBlockhashSource, type BlockhashSource } from '../solana/rpc/blockhash.js';
import { wrongNetwork } from '../solana/rpc/fault.js';
import { networkOf } from '../solana/rpc/genesis.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import type { SwapSource } from '../swaps/provider.js';
import type { Transport } from '../transport.js';
import {
  coordinationWithTimeouts,
  journalWithTimeouts,
  type StepTimer,
} from './journal-timeouts.js';
import { createMemory, createRecovery, type Memory, type Recovery } from './memory.js';
import { createHistories, type Histories } from './reconcile/account-history.js';
import { transportWithTimeouts, locksWithTimeout } from './transport-timeouts.js';

const ID_BYTES = 12;

/** What every step of the flow works with. */
export interface PaymentContext extends Coordination {
  readonly config: Config;
  readonly protocols: readonly PaymentProtocol[];
  /** Where swaps come from; undefined for all that there are. */
  readonly sources: readonly SwapSource[] | undefined;
  readonly events: Events;
  readonly rpc: Rpc;
  readonly transport: Transport;
  /**
   * What caps and swaps are valued by: the client's own Jupiter, also if `transport` is a
   * service of another operator.
   */
  readonly prices: Pick<Transport, 'quote'>;
  readonly wallet: Wallet;
  readonly journal: Journal;
  readonly memory: Memory;
  readonly recovery: Recovery;
  /** What the chain shows of the accounts that payments leave from. */
  readonly histories: Histories;
  readonly blockhashes: BlockhashSource;
  /** Resolves once the node has shown that it serves our network; asked once. */
  ready(): Promise<void>;
  /** Aborts work in the background when the client closes. */
  readonly closing: AbortController;
}

/** A new attempt's id. */
export function newId({ config }: Pick<PaymentContext, 'config'>): string {
  return hex.encode(config.runtime.randomBytes(ID_BYTES));
}

/** What a client is composed of: this part of the library knows no protocol and no transport. */
export interface Parts {
  /** In the order in which a response is read by them. */
  readonly protocols: readonly PaymentProtocol[];
  /** Where swaps come from; default: all that there are. */
  readonly sources?: readonly SwapSource[];
  /** The sources, and the context's own connection. */
  local(config: Config, rpc: Rpc, sources: readonly SwapSource[] | undefined): Transport;
  /** The service at an address. */
  remote(apiUrl: string, config: Config): Transport;
}

export function createContext(config: Config, events: Events, parts: Parts): PaymentContext {
  const rpc = connectTo(config, events.emitCall);
  const { protocols, sources } = parts;
  const prices = parts.local(config, rpc, sources);
  return contextOver(config, {
    protocols,
    sources,
    events,
    rpc,
    transport: transportOf(config, parts) ?? prices,
    wallet: walletOf(config.signer.address, config.network),
    prices,
  });
}

/** What another operator runs. */
function transportOf(config: Config, parts: Parts): Transport | undefined {
  const { apiUrl, transport, timeouts } = config;
  if (apiUrl !== undefined) return parts.remote(apiUrl, config);
  return transport === undefined ? undefined : transportWithTimeouts(transport, timeouts.jupiter);
}

/** What a context is put together from; without `prices` its transport is our own. */
type ContextParts = Pick<
  PaymentContext,
  'protocols' | 'sources' | 'events' | 'rpc' | 'transport' | 'wallet'
> &
  Partial<Pick<PaymentContext, 'prices'>>;

/** A context over a connection and a transport that are there already. */
export function contextOver(config: Config, parts: ContextParts): PaymentContext {
  const { rpc, transport, wallet, prices = transport } = parts;
  const { network, runtime, journal, timeouts } = config;
  const shared = journal?.coordination?.({ wallet: config.signer.address, network });
  const timer: StepTimer = {
    now: runtime.now,
    onStep: (step) => parts.events.emitCall('journal.called', step),
  };
  const coordination =
    shared === undefined ? wallet.coordination : coordinationWithTimeouts(shared, timeouts.journal);
  const timed =
    journal === undefined ? wallet.journal : journalWithTimeouts(journal, timeouts.journal, timer);
  return {
    ...coordination,
    locks: locksWithTimeout(coordination.locks),
    ...parts,
    config,
    prices,
    journal: shared === undefined ? alongWith(timed, coordination) : timed,
    memory: createMemory(),
    recovery: createRecovery(),
    histories: createHistories(rpc, runtime),
    blockhashes: createBlockhashSource(rpc, runtime),
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
  const actual = networkOf(await rpc.genesisHash());
  if (actual !== network) throw wrongNetwork(network, actual);
}
