import { connectTo } from '../config/connect.js';
import type { Config } from '../config/options.js';
import type { Events } from '../events.js';
import { bounded } from '../internal/abort.js';
import { hex } from '../internal/bytes.js';
import { part } from '../internal/load-once.js';
import { createTurns, type NextTurn } from '../internal/turns.js';
import { claimedAlong, claimsLetGo } from '../journal/let-go.js';
import { locksWithTimeout } from '../journal/locks.js';
import { alongWith, walletOf, type Wallet } from '../journal/registry.js';
import type { Coordination, Journal, Owner } from '../journal/types.js';
import type { PaymentProtocol } from '../protocols/protocol.js';
import { wrapSigner } from '../solana/keys.js';
import { createBlockhashSource, type BlockhashSource } from '../solana/rpc/blockhash.js';
import { networkOf } from '../solana/rpc/nodes.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import type { Signer } from '../solana/signer.js';
import type { SwapSource } from '../swaps/provider.js';
import type { Transport } from '../transport.js';
import { createMemory, createRecovery, type Memory, type Prices, type Recovery } from './memory.js';
import { reasons } from './on-demand.js';
import { createHistories, type Histories } from './reconcile/histories.js';

const timeLimits = /* @__PURE__ */ part(() => import('./timeouts.js'));

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
  /** What each purchase waits for before it goes on. */
  readonly nextTurn: NextTurn;
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

export async function createContext(
  config: Config,
  events: Events,
  parts: Parts,
): Promise<PaymentContext> {
  const rpc = connectTo(config, events.emitCall);
  const { protocols, sources } = parts;
  const prices = parts.local(config, rpc, sources);
  return contextOver(config, {
    protocols,
    sources,
    events,
    rpc,
    transport: (await transportOf(config, parts)) ?? prices,
    kept: await keptBy(config, events),
    wallet: walletOf(config.signer.address, config.network),
    prices,
  });
}

/** What another operator runs. */
async function transportOf(config: Config, parts: Parts): Promise<Transport | undefined> {
  const { apiUrl, transport, timeouts } = config;
  if (apiUrl !== undefined) return parts.remote(apiUrl, config);
  if (transport === undefined) return undefined;
  const { transportWithTimeouts } = await timeLimits();
  return transportWithTimeouts(transport, timeouts.jupiter);
}

/** Where attempts are kept: a journal, each of its calls within its time. */
export interface KeptBy {
  readonly journal: Journal;
  /** Of all processes that share the journal; undefined if it brings none. */
  readonly coordination: Coordination | undefined;
}

async function keptBy(config: Config, events: Events): Promise<KeptBy | undefined> {
  const { journal, network, signer, timeouts, runtime } = config;
  if (journal === undefined) return undefined;
  const { timedJournal } = await timeLimits();
  return timedJournal(journal, { wallet: signer.address, network }, timeouts.journal, {
    now: runtime.now,
    onStep: (step) => events.emitCall('journal.called', step),
  });
}

/** What a context is put together from; without `prices` its transport is our own. */
type ContextParts = Pick<
  PaymentContext,
  'protocols' | 'sources' | 'events' | 'rpc' | 'transport' | 'wallet'
> &
  Partial<Pick<PaymentContext, 'prices'>> & {
    /** Undefined for what all clients of the wallet in this process share. */
    readonly kept: KeptBy | undefined;
    /** Undefined if no other context shares them. */
    readonly tokenPrices?: Prices;
  };

/** A context over a connection and a transport that are there already. */
export function contextOver(
  config: Config,
  { kept, tokenPrices, ...parts }: ContextParts,
): PaymentContext {
  const { rpc, transport, wallet, prices = transport } = parts;
  const { network, runtime } = config;
  const { journal, coordination: shared } = kept ?? {
    journal: wallet.journal,
    coordination: undefined,
  };
  const coordination = shared ?? wallet.coordination;
  const closing = new AbortController();
  const rest = (ms: number) => runtime.idle(ms, closing.signal);
  return {
    ...coordination,
    claims: claimsLetGo(coordination.claims, wallet.letGo, rest),
    locks: locksWithTimeout(coordination.locks),
    ...parts,
    config,
    prices,
    journal:
      shared === undefined ? alongWith(journal, coordination) : claimedAlong(journal, wallet.letGo),
    memory: createMemory(tokenPrices),
    recovery: createRecovery(),
    histories: createHistories(rpc, runtime),
    blockhashes: createBlockhashSource(rpc, runtime),
    ready: askOnce(() => checkNetwork(rpc, network)),
    nextTurn: createTurns(),
    closing,
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
  if (actual !== network) throw (await reasons()).wrongNetwork(network, actual);
}

/** The wallet and network of the attempts that a context reads and writes. */
export function ownerOf({ config }: PaymentContext): Owner {
  return { wallet: config.signer.address, network: config.network };
}

/**
 * The wallet's signer. A call of it fails if it does not answer in time, the caller gives up or the
 * client closes: locks and budgets wait for it. What it signs too late is dropped, and has
 * never left.
 */
export function signerWithTimeout(
  { config, closing }: Pick<PaymentContext, 'config' | 'closing'>,
  signal: AbortSignal | undefined,
): Signer {
  const { signer, timeouts } = config;
  const late = () =>
    new Error(`The signer did not answer within timeouts.signer, ${timeouts.signer} ms.`);
  return wrapSigner(signer, (ask) => bounded(timeouts.signer, late, [signal, closing.signal], ask));
}
