import { connectTo } from '../config/connect.js';
import type { Config } from '../config/options.js';
import { ConfigError, isExactChangeError, type Funds } from '../errors.js';
import type { Events } from '../events.js';
import { bounded } from '../internal/abort.js';
import { hex } from '../internal/bytes.js';
import { lazyPart, loadOnce } from '../internal/load-once.js';
import { createTurns, type NextTurn } from '../internal/turns.js';
import { locksWithTimeout } from '../journal/locks.js';
import { withCoordination, walletOf, type Wallet } from '../journal/registry.js';
import type { Coordination, Journal, Owner } from '../journal/types.js';
import type { PaymentProtocol } from '../protocols/protocol.js';
import { wrapSigner } from '../solana/keys.js';
import { createBlockhashSource, type BlockhashSource } from '../solana/rpc/blockhash.js';
import { networkOf } from '../solana/rpc/nodes.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import type { Signer } from '../solana/signer.js';
import type { SwapSource } from '../swaps/provider.js';
import type { Transport } from '../transport.js';
import { createMemory, createResumed, type Memory, type Prices, type Resumed } from './memory.js';
import { reasons } from './on-demand.js';
import { createHistories, type Histories } from './reconcile/histories.js';

const timeLimits = /* @__PURE__ */ lazyPart(() => import('./timeouts.js'));

const ID_BYTES = 12;

/** Everything that each step of a payment works with: options, node, journal, wallet, memory. */
export interface PaymentContext extends Coordination {
  readonly config: Config;
  readonly protocols: readonly PaymentProtocol[];
  /** Sources that swaps may come from. Undefined: every source of this library. */
  readonly sources: readonly SwapSource[] | undefined;
  readonly events: Events;
  readonly rpc: Rpc;
  readonly transport: Transport;
  /**
   * Gives the prices that caps and swaps are valued by. It is the client's own Jupiter, even if
   * `transport` is the service of another operator.
   */
  readonly prices: Pick<Transport, 'quote'>;
  readonly wallet: Wallet;
  readonly journal: Journal;
  readonly memory: Memory;
  readonly resumed: Resumed;
  /** Reads from the chain which transactions touched the accounts that payments leave from. */
  readonly histories: Histories;
  readonly blockhashes: BlockhashSource;
  /**
   * Resolves when the node has shown that it serves the client's network, or rejects with the
   * signal's reason if that comes first. Asks the node only once.
   */
  ready(signal?: AbortSignal): Promise<void>;
  /** Each purchase waits for its turn, so that many at once do not block the event loop. */
  readonly nextTurn: NextTurn;
  /** Aborts work in the background when the client closes. */
  readonly closing: AbortController;
}

export function newId({ config }: Pick<PaymentContext, 'config'>): string {
  return hex.encode(config.runtime.randomBytes(ID_BYTES));
}

/** Parts that a client is composed of, because this folder knows no protocol and no transport. */
export interface Parts {
  /** A response is tried against the protocols in this order. */
  readonly protocols: readonly PaymentProtocol[];
  /** Sources that swaps may come from. Default: every source of this library. */
  readonly sources?: readonly SwapSource[];
  local(config: Config, rpc: Rpc, sources: readonly SwapSource[] | undefined): Transport;
  remote(apiUrl: string, config: Config): Transport;
}

export async function createContext(
  config: Config,
  events: Events,
  parts: Parts,
): Promise<PaymentContext> {
  try {
    config.runtime.randomBytes(1);
  } catch (cause) {
    throw (await reasons()).noRandomness(cause);
  }
  const rpc = connectTo(config, events.emitCall);
  const { protocols, sources } = parts;
  const prices = parts.local(config, rpc, sources);
  const wallet = walletOf(config.signer.address, config.network);
  return contextOver(config, {
    protocols,
    sources,
    events,
    rpc,
    transport: (await transportOf(config, parts)) ?? prices,
    kept: await callersJournal(config, { events, wallet }),
    wallet,
    prices,
  });
}

async function transportOf(config: Config, parts: Parts): Promise<Transport | undefined> {
  const { apiUrl, transport, timeouts } = config;
  if (apiUrl !== undefined) return parts.remote(apiUrl, config);
  if (transport === undefined) return undefined;
  const { transportWithTimeouts } = await timeLimits();
  return transportWithTimeouts(transport, timeouts.jupiter);
}

/** The caller's journal, with a time limit on each of its calls: see `timedJournal`. */
export interface TimedJournal {
  readonly journal: Journal;
  /** Shared by all processes that use the journal. Undefined if the journal brings none. */
  readonly coordination: Coordination | undefined;
}

async function callersJournal(
  config: Config,
  parts: Pick<PaymentContext, 'events' | 'wallet'>,
): Promise<TimedJournal | undefined> {
  const { journal, network, signer } = config;
  if (journal === undefined) return undefined;
  const { timedJournal } = await timeLimits();
  return timedJournal(journal, { wallet: signer.address, network }, config, parts);
}

/** Parts of a new context. Without `prices`, its transport also gives the prices. */
type ContextParts = Pick<
  PaymentContext,
  'protocols' | 'sources' | 'events' | 'rpc' | 'transport' | 'wallet'
> &
  Partial<Pick<PaymentContext, 'prices'>> & {
    /** Undefined: the context uses the journal that all clients of the wallet here share. */
    readonly kept: TimedJournal | undefined;
    /** Token prices that contexts share. Undefined: this context has its own. */
    readonly tokenPrices?: Prices;
  };

export function contextOver(
  config: Config,
  { kept, tokenPrices, ...parts }: ContextParts,
): PaymentContext {
  const { rpc, transport, wallet, prices = transport } = parts;
  const { network, runtime } = config;
  const { journal } = kept ?? wallet;
  const shared = kept?.coordination;
  const coordination = shared ?? wallet.coordination;
  const closing = new AbortController();
  return {
    ...coordination,
    locks: locksWithTimeout(coordination.locks),
    ...parts,
    config,
    prices,
    journal: shared === undefined ? withCoordination(journal, coordination) : journal,
    memory: createMemory(tokenPrices),
    resumed: createResumed(),
    histories: createHistories(rpc, runtime),
    blockhashes: createBlockhashSource(rpc, runtime),
    ready: loadOnce(() => checkNetwork(rpc, network)),
    nextTurn: createTurns(),
    closing,
  };
}

async function checkNetwork(rpc: Rpc, network: string): Promise<void> {
  const actual = networkOf(await rpc.genesisHash());
  if (actual !== network) throw (await reasons()).wrongNetwork(network, actual);
}

export function ownerOf({ config }: PaymentContext): Owner {
  return { wallet: config.signer.address, network: config.network };
}

/**
 * Returns the wallet's signer with a time limit, because locks and budgets wait for it. A call
 * rejects if the signer does not answer in time, the caller aborts, or the client closes. A
 * signature that comes too late is dropped and never leaves this process.
 */
export function signerWithTimeout(
  { config, closing }: Pick<PaymentContext, 'config' | 'closing'>,
  signal: AbortSignal | undefined,
): Signer {
  const { signer, timeouts } = config;
  const timeoutError = () =>
    new Error(`The signer did not answer within timeouts.signer, ${timeouts.signer} ms.`);
  return wrapSigner(signer, (ask) =>
    bounded(timeouts.signer, timeoutError, [signal, closing.signal], () => ask().catch(hide)),
  );
}

/** Hides an error of this library that a signer throws, because it is about another client. */
function hide(cause: unknown): never {
  throw isExactChangeError(cause) ? new Error('The signer failed.', { cause }) : cause;
}

export function clientClosed(funds: Funds = 'untouched'): ConfigError {
  return new ConfigError('client_closed', 'This client was closed meanwhile. Create a new one.', {
    details: {},
    funds,
  });
}
