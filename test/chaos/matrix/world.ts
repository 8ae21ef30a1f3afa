import {
  isExactChangeError,
  memoryJournal,
  SOLANA_MAINNET,
  type Attempt,
  type Client,
  type ClientOptions,
  type ExactChangeError,
  type Journal,
  type PayingRequestInit,
} from 'exact-change';
import {
  createSandbox,
  type MintSymbol,
  type Sandbox,
  type SandboxWallet,
} from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { closePayers, payerOf, type Payer } from '../../helpers/payer.js';
import { MAINNET_SLOT_MS } from '../../helpers/sandbox.js';
import { startSeller, type Seller, type SellerHandler } from '../../helpers/seller.js';
import { startFront, type Exchange, type Fate, type Front } from './front.js';

/** Met by no call but one that hangs, also on a loaded machine. */
const PATIENCE_MS = 30_000;
export const TIMEOUTS = {
  rpc: PATIENCE_MS,
  jupiter: PATIENCE_MS,
  terms: PATIENCE_MS,
  payment: PATIENCE_MS,
  signer: PATIENCE_MS,
  journal: PATIENCE_MS,
} as const;

/** For a peer that hangs: the other calls under the same limit must end before it. */
export const SHORT_MS = 2_500;

/** Returns the option of a client that waits only shortly for peers of one kind. */
export const hasty = (name: keyof typeof TIMEOUTS) => ({
  timeouts: { ...TIMEOUTS, [name]: SHORT_MS },
});

export const SYMBOLS: readonly MintSymbol[] = ['SOL', 'USDC', 'USDT', 'PYUSD', 'BONK'];

export type Balances = Readonly<Record<MintSymbol, bigint>>;

/** A wallet that buys in a single cell. */
export interface Buyer extends Payer {
  readonly journal: Journal;
  readonly options: ClientOptions;
  /** Initial funds in base units. */
  readonly given: Balances;
  /** Makes another client of the wallet and its journal, with working peers and signer. */
  sound(): Client;
}

export type Outcome = { readonly response: Response } | { readonly error: unknown };

/** A call, and its outcome. */
export interface Call {
  readonly buyer: Buyer;
  /** Name of the purchase; all calls with the same name may cause one payment. */
  readonly purchase: string;
  readonly outcome: Promise<Outcome>;
}

export interface BuyInit extends PayingRequestInit {
  /** Base URL of the seller; default: the sandbox's paid API. */
  readonly base?: string;
  readonly path?: string;
  readonly client?: Client;
}

/** The world of a cell: the sandbox of its file, with buyers, calls and faults of the cell. */
export interface World {
  readonly sandbox: Sandbox;
  readonly buyers: readonly Buyer[];
  readonly calls: readonly Call[];
  /** The merchant's balances when the cell began. */
  readonly merchantHad: Balances;
  /** Number of lines in the merchant's ledger when the cell began. */
  readonly servedBefore: number;
  /** Whether a process was killed or a call aborted, so that landed swaps may be unreported. */
  untold: boolean;
  /** Makes a buyer with funds (default: a dollar of USDC) and its own journal. */
  buyer(funds?: Partial<Record<MintSymbol, string>>, options?: ClientOptions): Promise<Buyer>;
  /** Makes a buyer from the wallet, the journal and the initial funds of a killed process. */
  adopt(
    wallet: SandboxWallet,
    given: Balances,
    purchase: string,
    options: ClientOptions & { readonly journal: Journal },
  ): Buyer;
  /** Makes a buyer that holds other tokens than the price, so it must swap. */
  swapper(options?: ClientOptions): Promise<Buyer>;
  /** Buys, and records the outcome for the comparison. Repeated calls use the same name. */
  buy(buyer: Buyer, purchase: string, init?: BuyInit): Promise<Response>;
  /** Starts a front of the paid API or of another target. */
  front(decide: (exchange: Exchange) => Promise<Fate> | Fate, target?: string): Promise<Front>;
  seller(handler: SellerHandler): Promise<Seller>;
  /** Ends all faults, and restarts stopped servers. */
  heal(): Promise<void>;
  /** Registers work for the end of the cell. */
  onClose(work: () => Promise<void>): void;
}

/** Opens the worlds of a file's cells. */
export interface Worlds {
  open(): Promise<World>;
}

/** Shares a sandbox between the tests of a file, and opens a fresh world for each test. */
export function worldsOfFile(): Worlds {
  let sandbox: Sandbox;
  const closers: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    sandbox = await createSandbox({ confirmationMs: 20, slotMs: MAINNET_SLOT_MS });
  });
  afterEach(async () => {
    await heal(sandbox);
    await closePayers();
    // Close in reverse order: a journal must close before its directory is removed.
    for (const close of closers.splice(0).reverse()) await close();
  });
  afterAll(() => sandbox.close());
  return { open: () => openWorld(sandbox, (close) => closers.push(close)) };
}

async function openWorld(
  sandbox: Sandbox,
  onClose: (work: () => Promise<void>) => void,
): Promise<World> {
  const buyers: Buyer[] = [];
  const calls: Call[] = [];
  const world: World = {
    sandbox,
    buyers,
    calls,
    merchantHad: await balancesOf(sandbox, sandbox.merchant),
    servedBefore: sandbox.controls.api.served.length,
    untold: false,
    async buyer(funds = { USDC: '1' }, options = {}) {
      const wallet = await sandbox.createWallet(funds);
      const buyer = buyerOf(sandbox, wallet, await balancesOf(sandbox, wallet.address), {
        ...options,
        journal: options.journal ?? memoryJournal(),
      });
      buyers.push(buyer);
      return buyer;
    },
    adopt(wallet, given, purchase, options) {
      const buyer = buyerOf(sandbox, wallet, given, options);
      buyers.push(buyer);
      calls.push({ buyer, purchase, outcome: Promise.resolve({ error: new Error('killed') }) });
      return buyer;
    },
    swapper: (options) => world.buyer({ SOL: '0.5', BONK: '5000000' }, options),
    buy(
      buyer,
      purchase,
      { base = sandbox.apiUrl, path = '/usdc', client = buyer.client, ...init } = {},
    ) {
      const paid = client.fetch(`${base}${path}?purchase=${purchase}`, init);
      const outcome = paid.then(
        (response) => ({ response }),
        (error: unknown) => ({ error }),
      );
      calls.push({ buyer, purchase, outcome });
      return paid;
    },
    async front(decide, target = sandbox.apiUrl) {
      const front = await startFront(target, decide);
      onClose(() => front.close());
      return front;
    },
    async seller(handler) {
      const seller = await startSeller(handler);
      onClose(() => seller.close());
      return seller;
    },
    heal: () => heal(sandbox),
    onClose,
  };
  return world;
}

function buyerOf(
  sandbox: Sandbox,
  wallet: SandboxWallet,
  given: Balances,
  change: ClientOptions & { readonly journal: Journal },
): Buyer {
  const options = { autoSwap: true, timeouts: TIMEOUTS, ...change };
  const { journal, policy, swapFrom } = options;
  const payer = payerOf(sandbox, wallet, options);
  const sane = { autoSwap: true, timeouts: TIMEOUTS, journal, policy, swapFrom };
  return Object.assign(payer, { journal, options, given, sound: () => payer.again(sane) });
}

async function heal({ controls }: Sandbox): Promise<void> {
  const { node, aggregator, facilitator, api } = controls;
  node.clearFaults();
  node.intercept = undefined;
  node.webSocket = 'on';
  node.latencyMs = 0;
  node.slotMs = MAINNET_SLOT_MS;
  aggregator.restore();
  facilitator.clearFaults();
  api.clearFaults();
  await facilitator.start();
}

export async function balancesOf(sandbox: Sandbox, address: string): Promise<Balances> {
  const entries = await Promise.all(
    SYMBOLS.map(async (symbol) => [symbol, await sandbox.balance(address, symbol)] as const),
  );
  // `entries` has every symbol.
  return Object.fromEntries(entries) as Record<MintSymbol, bigint>;
}

/** Returns all attempts of the buyer. */
export async function attemptsOf({ address, journal }: Buyer): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for await (const attempt of journal.attempts({ wallet: address, network: SOLANA_MAINNET }))
    attempts.push(attempt);
  return attempts;
}

/** Returns the purchase name in a URL. */
export function purchaseOf(url: string): string {
  return new URL(url, 'http://any.invalid').searchParams.get('purchase') ?? '';
}

/** Returns the library's errors among the outcomes. */
export function errorsOf(outcomes: readonly Outcome[]): ExactChangeError[] {
  return outcomes.flatMap((outcome) =>
    'error' in outcome && isExactChangeError(outcome.error) ? [outcome.error] : [],
  );
}
