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
import { startSeller, type Seller, type SellerHandler } from '../../helpers/seller.js';
import { startFront, type Exchange, type Fate, type Front } from './front.js';

/** Short enough for many peers that hang, long enough for a loaded machine. */
export const TIMEOUTS = {
  rpc: 1_500,
  jupiter: 1_500,
  terms: 1_000,
  payment: 5_000,
  signer: 3_000,
  journal: 3_000,
} as const;

export const SYMBOLS: readonly MintSymbol[] = ['SOL', 'USDC', 'USDT', 'PYUSD', 'BONK'];

export type Balances = Readonly<Record<MintSymbol, bigint>>;

/** A wallet that buys in one cell only. */
export interface Buyer extends Payer {
  readonly journal: Journal;
  readonly options: ClientOptions;
  /** What it was given, in base units. */
  readonly given: Balances;
  /** Another client of the wallet and its journal, with peers and a signer that work. */
  sound(): Client;
}

export type Outcome = { readonly response: Response } | { readonly error: unknown };

/** One call of ours, and what came of it. */
export interface Call {
  readonly buyer: Buyer;
  /** What was meant to be bought: calls of one purchase may be paid for once. */
  readonly purchase: string;
  readonly outcome: Promise<Outcome>;
}

export interface BuyInit extends PayingRequestInit {
  /** Of the seller; the sandbox's paid API unless set. */
  readonly base?: string;
  readonly path?: string;
  readonly client?: Client;
}

/** One cell: the sandbox of its file, and what is made, bought and broken for it alone. */
export interface World {
  readonly sandbox: Sandbox;
  readonly buyers: readonly Buyer[];
  readonly calls: readonly Call[];
  /** Of the merchant, when the cell began. */
  readonly merchantHad: Balances;
  /** How many lines the merchant's ledger had. */
  readonly servedBefore: number;
  /**
   * A process of ours was killed, or a call was abandoned: what landed need not have been told to
   * any listener.
   */
  untold: boolean;
  /** A wallet with funds (a dollar of USDC unless set), a journal of its own and short timeouts. */
  buyer(funds?: Partial<Record<MintSymbol, string>>, options?: ClientOptions): Promise<Buyer>;
  /**
   * The wallet of a process that was killed while it bought, with the journal that it left, and
   * what it had been given.
   */
  adopt(
    wallet: SandboxWallet,
    given: Balances,
    purchase: string,
    options: ClientOptions & { readonly journal: Journal },
  ): Buyer;
  /** One that holds other tokens than those that are asked for, and swaps. */
  swapper(options?: ClientOptions): Promise<Buyer>;
  /**
   * Buys, and remembers the outcome for the comparison. Calls that are meant to buy the same thing
   * name the same purchase.
   */
  buy(buyer: Buyer, purchase: string, init?: BuyInit): Promise<Response>;
  /** A server before the paid API, or before another target. */
  front(decide: (exchange: Exchange) => Promise<Fate> | Fate, target?: string): Promise<Front>;
  seller(handler: SellerHandler): Promise<Seller>;
  /** Ends all faults, and starts what was stopped. */
  heal(): Promise<void>;
  /** To be done when the cell is over. */
  onClose(work: () => Promise<void>): void;
}

/** Where the cells of one file live. */
export interface Worlds {
  open(): Promise<World>;
}

/** One sandbox for the tests of a file, and a fresh world for each of them. */
export function worldsOfFile(): Worlds {
  let sandbox: Sandbox;
  const closers: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    sandbox = await createSandbox({ confirmationMs: 20 });
  });
  afterEach(async () => {
    await heal(sandbox);
    await closePayers();
    // The last made first: a journal is closed before its directory is removed.
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
  aggregator.restore();
  facilitator.clearFaults();
  api.clearFaults();
  await facilitator.start();
}

export async function balancesOf(sandbox: Sandbox, address: string): Promise<Balances> {
  const entries = await Promise.all(
    SYMBOLS.map(async (symbol) => [symbol, await sandbox.balance(address, symbol)] as const),
  );
  // One for each symbol, just made.
  return Object.fromEntries(entries) as Record<MintSymbol, bigint>;
}

/** All that a wallet's journal has of it. */
export async function attemptsOf({ address, journal }: Buyer): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for await (const attempt of journal.attempts({ wallet: address, network: SOLANA_MAINNET }))
    attempts.push(attempt);
  return attempts;
}

/** The purchase that a URL names. */
export function purchaseOf(url: string): string {
  return new URL(url, 'http://any.invalid').searchParams.get('purchase') ?? '';
}

/** The errors of ours among some outcomes. */
export function errorsOf(outcomes: readonly Outcome[]): ExactChangeError[] {
  return outcomes.flatMap((one) =>
    'error' in one && isExactChangeError(one.error) ? [one.error] : [],
  );
}
