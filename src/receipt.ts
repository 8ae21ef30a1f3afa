import type { Settlement } from './protocols/types.js';

/** What a relayer took of a token, in base units as a decimal string. */
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
   * `settled`: our own RPC shows the payment. `unsettled`: proved that it can never land.
   * `uncertain`: the answer was lost or is no success, and the chain has not decided.
   */
  readonly state: 'pending' | 'settled' | 'unsettled' | 'uncertain';
  readonly payment: {
    readonly network: string;
    readonly mint: string;
    readonly amount: string;
    readonly decimals: number;
    /** `amount` for people, as decimal text. */
    readonly uiAmount: string;
    /** Of a pinned mint alone: other tokens may call themselves anything. */
    readonly symbol?: string;
    readonly payTo: string;
    readonly payer: string;
    /** Our own signature on the payment: what proves it ours. */
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
     * What a relayer took for paying the swap's fees and rents, if the wallet had too little SOL. It
     * is in the amounts above, and in `cost`.
     */
    readonly relayFee?: RelayFee;
  };
  /** The seller's word, not proof. */
  readonly settlement?: Settlement;
  readonly cost: {
    /**
     * US dollars as decimal text: all that left the wallet for it. Absent if the mint has no price.
     */
    readonly usd?: string;
    /** What `usd` is made of. */
    readonly parts?: CostParts;
    /** What we paid in network fees (the facilitator pays the payment's own). */
    readonly networkFeeLamports: string;
    /** Rent of own token accounts that its swaps made and that stay. */
    readonly rentLamports: string;
  };
  /** Milliseconds from the call to the end of each step. */
  readonly timings: Readonly<Record<string, number>>;
}

/**
 * Our record of an attempt that was freed: no payment was signed for it. JSON-safe; amounts are
 * decimal strings.
 */
export interface FreedReceipt extends Pick<Receipt, 'id' | 'url' | 'method' | 'at'> {
  /**
   * `abandoned`: its price and its key are free, and a swap that it signed may still land.
   * `unpaid`: nothing more can come of it.
   */
  readonly state: 'abandoned' | 'unpaid';
  readonly payment?: undefined;
  /** The swap that landed for it, if one did. */
  readonly swap?: NonNullable<Receipt['swap']>;
  /** What its swaps took, or may take at most, which stays counted. */
  readonly cost: Pick<Receipt['cost'], 'usd' | 'parts'> & {
    /** Network fees, and rent of own token accounts that stay. */
    readonly lamports: string;
  };
}

/** What a cost in dollars is made of; dollars as decimal text. */
export interface CostParts {
  /** Prices of payments. */
  readonly payments: string;
  /** What swaps took beyond what they brought in a pinned token. */
  readonly swaps: string;
  /** Network fees and rent, as far as SOL has a price. */
  readonly fees: string;
}

/** Which receipts to list; all that is given must hold. */
export interface ReceiptFilter {
  readonly state?: Receipt['state'];
  /** As in a URL: with its port if that is not the scheme's own. */
  readonly host?: string;
  readonly payTo?: string;
  /** The address of the mint that was paid in. */
  readonly mint?: string;
  /** From then on; milliseconds since the epoch. */
  readonly since?: number;
  /** Before then; milliseconds since the epoch. */
  readonly until?: number;
}

const RECEIPTS: unique symbol = Symbol.for('exact-change.receipts');

/** @internal The receipt of a payment as it stands, and how to wait for its end. */
export interface LiveReceipt {
  read(): Receipt;
  /** Rejects with the signal's reason, or with `ConfigError` (`client_closed`). */
  settled(signal: AbortSignal | undefined): Promise<Receipt>;
}

interface ReceiptRegistry {
  [RECEIPTS]?: WeakMap<object, LiveReceipt> | undefined;
}

// One registry for the process: a response that one copy of the package paid for shows its receipt
// to any other copy.
function registry(): WeakMap<object, LiveReceipt> {
  const place: typeof globalThis & ReceiptRegistry = globalThis;
  return (place[RECEIPTS] ??= new WeakMap());
}

/** @internal Ties a receipt to the response that it paid for. */
export function attachReceipt(response: Response, receipt: LiveReceipt): void {
  registry().set(response, receipt);
}

/** @internal Ties the receipt of a response to an object that stands in for it, if it has one. */
export function passOnReceipt(response: Response, to: object): void {
  const receipt = registry().get(response);
  if (receipt !== undefined) registry().set(to, receipt);
}

/**
 * The receipt of the payment that a response cost, or the result of a tool, as it stands now;
 * undefined if nothing was paid.
 *
 * @example
 * const response = await client.fetch('https://api.example.com/premium');
 * console.log(receiptOf(response)?.payment.uiAmount);
 */
export function receiptOf(response: object): Receipt | undefined {
  return registry().get(response)?.read();
}

/**
 * The receipt of the payment that a response cost, once the chain has decided: its `state` is
 * `settled`, or `unsettled` if the payment can never land. That takes about a second, and at most
 * until the payment's blockhash has expired and that is final, a minute or two. Undefined if
 * nothing was paid.
 *
 * Rejects with the signal's reason, or with `ConfigError` (`client_closed`) if the client is closed
 * before the chain has decided.
 *
 * @example
 * const response = await client.fetch('https://api.example.com/premium');
 * console.log((await settled(response))?.payment.signature);
 */
export async function settled(
  response: object,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Receipt | undefined> {
  return registry().get(response)?.settled(signal);
}
