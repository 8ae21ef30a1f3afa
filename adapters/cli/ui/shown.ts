import type { CapUse, Receipt } from 'exact-change';
import type { WebhookDelivery, WebhookEventName } from 'exact-change/webhooks';
import type { Spending } from '../spending.js';

/** What the page is told. JSON; every text in it may be a seller's, and is shown as text alone. */

/** A call that was paid for. */
export interface ReceiptRow {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly state: Receipt['state'];
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly price: string;
  /** All that left, in dollars as decimal text. */
  readonly usd?: string;
  readonly hasSwap: boolean;
  readonly details: readonly (readonly [name: string, text: string])[];
  /** Where an explorer shows the payment. */
  readonly link?: string;
}

/** A page of receipts, the newest first. */
export interface ReceiptPage {
  readonly rows: readonly ReceiptRow[];
  /** How many fit the question, and which of them stand first here. */
  readonly total: number;
  readonly from: number;
}

/** A payment that is not decided. */
export interface OpenRow {
  readonly id: string;
  readonly at: number;
  readonly state: 'reserved' | 'abandoned' | 'signed';
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly price: string;
  /** The block height after which it can no longer land. */
  readonly until?: string;
  /** A code of an error: why the seller's word does not say what became of it. */
  readonly doubt?: string;
}

/** A swap that was made for a payment. */
export interface SwapRow {
  readonly id: string;
  readonly at: number;
  readonly state: 'confirmed' | 'failed' | 'open';
  readonly gave: string;
  readonly got: string;
  readonly provider: string;
  /** What it took beyond what it brought, in dollars as decimal text. */
  readonly loss: string;
  readonly fees: string;
  readonly link: string;
}

export interface EndpointRow {
  readonly id: string;
  /** Without its path, which may hold a token. */
  readonly place: string;
  readonly events: readonly WebhookEventName[];
  readonly createdAt: number;
  readonly acceptedAt?: number;
  readonly disabledAt?: number;
  /** Events that it is yet to be told, and how often the one that failed most has. */
  readonly waiting: number;
  readonly failures: number;
  /** When the next is told. */
  readonly nextAt?: number;
}

export interface Overview {
  /** Wallets with attempts, and the one of the settings. */
  readonly wallets: readonly string[];
  /** The one that the rest is about. */
  readonly wallet?: string;
  readonly caps: readonly CapUse[];
  readonly receipts: number;
  readonly days: readonly Spending[];
  /** In all of these days. */
  readonly inDays: Spending;
  readonly hosts: readonly Spending[];
  readonly tokens: readonly Spending[];
  /** The newest first of these and of swaps; what is counted or summed up is all. */
  readonly open: readonly OpenRow[];
  readonly openCount: number;
  readonly swaps: readonly SwapRow[];
  readonly swapCount: number;
  readonly swapLoss: string;
  readonly endpoints: readonly EndpointRow[];
  /** Those of this process, the newest first. */
  readonly deliveries: readonly WebhookDelivery[];
}
