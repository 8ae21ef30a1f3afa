import type { Settlement } from './protocols/types.js';

/** A relayer's fee: the token, and base units of it as a decimal string. */
export interface RelayFee {
  readonly mint: string;
  readonly amount: string;
}

/** Our record of one payment. JSON-safe; amounts are decimal strings of base units. */
export interface Receipt {
  readonly id: string;
  readonly url: string;
  readonly method: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /**
   * `pending`: signed, and the chain has not decided yet, as is usual right after an answer.
   * `settled`: our own RPC shows the payment. `unsettled`: the payment can never land, as the chain
   * proves. `uncertain`: the answer was lost or is no success, and the chain has not decided.
   */
  readonly state: 'pending' | 'settled' | 'unsettled' | 'uncertain';
  readonly payment: {
    readonly network: string;
    readonly mint: string;
    readonly amount: string;
    readonly decimals: number;
    /** `amount` for people, as decimal text. */
    readonly uiAmount: string;
    /** Present only if the mint is pinned: any other token may call itself anything. */
    readonly symbol?: string;
    readonly payTo: string;
    readonly payer: string;
    /** Our own signature on the payment, which proves that the payment is ours. */
    readonly payerSignature: string;
    /** The transaction's id, set once our own RPC shows it. */
    readonly signature?: string;
  };
  readonly swap?: {
    readonly signature: string;
    readonly inputMint: string;
    readonly inAmount: string;
    readonly outputMint: string;
    readonly outAmount: string;
    readonly provider: string;
    /**
     * Fee of the relayer that paid the swap's network fees and rents, if the wallet had too little
     * SOL. The amounts above and the cost include it.
     */
    readonly relayFee?: RelayFee;
  };
  /** Settlement as the seller reports it, which is no proof. */
  readonly settlement?: Settlement;
  readonly cost: {
    /**
     * US dollars as decimal text: all that left the wallet for the payment. Absent if a part has no
     * price: the mint, the token that a swap took, or SOL that fees and rent took.
     */
    readonly usd?: string;
    /** The parts that add up to `usd`. */
    readonly parts?: CostParts;
    /** Network fees that the wallet paid; the facilitator pays the fee of the payment itself. */
    readonly networkFeeLamports: string;
    /** Rent of the wallet's token accounts that the payment's swaps opened and that stay open. */
    readonly rentLamports: string;
  };
  /** Milliseconds from the call to the end of each step. */
  readonly timings: Readonly<Record<string, number>>;
}

/** A confirmed swap. Amounts are decimal strings of base units, as the chain shows them. */
export interface SwapResult extends NonNullable<Receipt['swap']> {
  /** Decimal string of lamports: network and priority fee. */
  readonly feeLamports: string;
}

/**
 * Our record of an attempt that was freed, because it signed no payment. JSON-safe; amounts are
 * decimal strings.
 */
export interface FreedReceipt extends Pick<Receipt, 'id' | 'url' | 'method' | 'at'> {
  /**
   * `abandoned`: the price and the key are free again, but a swap of the attempt may still land.
   * `unpaid`: no transaction of the attempt can still land.
   */
  readonly state: 'abandoned' | 'unpaid';
  readonly payment?: undefined;
  /** The swap that landed for the attempt; absent if none landed. */
  readonly swap?: NonNullable<Receipt['swap']>;
  /** Cost of the attempt's swaps, or the most that they may take; caps still count it. */
  readonly cost: Pick<Receipt['cost'], 'usd' | 'parts'> & {
    /** Network fees, and rent of the wallet's token accounts that stay open. */
    readonly lamports: string;
  };
}

/** The parts of a cost, in US dollars as decimal text. */
export interface CostParts {
  /** Prices of payments. */
  readonly payments: string;
  /** Loss in swaps: the value that they took, less the value that they brought in pinned tokens. */
  readonly swaps: string;
  /** Network fees and rent, if SOL has a price. */
  readonly fees: string;
}

/** Conditions on the receipts to list; a receipt must meet all of them. */
export interface ReceiptFilter {
  readonly state?: Receipt['state'] | undefined;
  /** As in a URL: with the port, unless it is the default port of the scheme. */
  readonly host?: string | undefined;
  readonly payTo?: string | undefined;
  /** The payment's mint: its address, or its pinned symbol. */
  readonly mint?: string | undefined;
  /** Only receipts from this time on; milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Only receipts before this time; milliseconds since the epoch. */
  readonly until?: number | undefined;
}

const RECEIPTS: unique symbol = Symbol.for('exact-change.receipts');

/** @internal The current receipt of a payment, and a way to wait until the chain has decided. */
export interface LiveReceipt {
  read(): Receipt;
  /**
   * Resolves when the chain has decided; rejects with the signal's reason, or with `ConfigError`
   * (`client_closed`).
   */
  settled(signal: AbortSignal | undefined): Promise<Receipt>;
}

interface ReceiptRegistry {
  [RECEIPTS]?: WeakMap<object, LiveReceipt> | undefined;
}

// One registry for the process, so that each copy of the package finds the receipts of all copies.
function registry(): WeakMap<object, LiveReceipt> {
  const globals: typeof globalThis & ReceiptRegistry = globalThis;
  return (globals[RECEIPTS] ??= new WeakMap());
}

/** @internal Ties a receipt to the response that its payment bought. */
export function attachReceipt(response: Response, receipt: LiveReceipt): void {
  registry().set(response, receipt);
}

/** @internal Ties a response's receipt, if it has one, to an object that replaces the response. */
export function passOnReceipt(response: object, replacement: object): void {
  const receipt = registry().get(response);
  if (receipt !== undefined) registry().set(replacement, receipt);
}

/** An object that is no promise: the compiler then finds a call without `await`. */
type Arrived = object & { readonly then?: never };

/**
 * Returns the current receipt of the payment for a response or its clone, or for the result of a
 * tool; undefined if nothing was paid.
 *
 * @example
 * const response = await client.fetch('https://api.example.com/premium');
 * console.log(receiptOf(response)?.payment.uiAmount);
 */
export function receiptOf(response: Arrived): Receipt | undefined {
  return registry().get(response)?.read();
}

/**
 * Waits until the chain has decided the payment for a response, and returns its receipt: `state` is
 * `settled`, or `unsettled` if the payment can never land. The wait takes about a second, or a
 * minute or two if the payment never lands: until its blockhash has expired and its expiry is
 * final. It is longer if no node has the history that proves it. Undefined if nothing was paid.
 *
 * Rejects with the signal's reason, or with `ConfigError` (`client_closed`) if the client is closed
 * before the chain has decided.
 *
 * @example
 * const response = await client.fetch('https://api.example.com/premium');
 * console.log((await settled(response))?.payment.signature);
 */
export async function settled(
  response: Arrived,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Receipt | undefined> {
  return registry().get(response)?.settled(signal);
}
