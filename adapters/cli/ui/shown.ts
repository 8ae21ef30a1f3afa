import type { CapUse, Receipt } from 'exact-change';
import type { WebhookDelivery, WebhookEventName } from 'exact-change/webhooks';
import type { Spending } from '../spending.js';

/** The JSON that the page gets. A text may be a seller's, so the page shows it as text only. */

/** A call that asked for payment. */
interface CallRow {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly price: string;
}

/** A paid call. */
export interface ReceiptRow extends CallRow {
  readonly state: Receipt['state'];
  /** Full cost in dollars, as decimal text. */
  readonly usd?: string;
  readonly hasSwap: boolean;
  readonly details: readonly (readonly [name: string, text: string])[];
  /** Link to the payment in an explorer. */
  readonly link?: string;
}

/** A page of receipts, the newest first. */
export interface ReceiptPage {
  readonly rows: readonly ReceiptRow[];
  /** Number of receipts that match the query. */
  readonly total: number;
  /** Index of the first row among them. */
  readonly from: number;
}

/** An undecided payment. */
export interface OpenRow extends CallRow {
  readonly state: 'reserved' | 'abandoned' | 'signed';
  /** Block height after which the payment can no longer land. */
  readonly until?: string;
  /** Error code that says why the seller's answer does not tell the payment's fate. */
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
  /** Value of the taken tokens minus the brought tokens, in dollars as decimal text. */
  readonly loss: string;
  readonly fees: string;
  readonly link: string;
}

export interface EndpointRow {
  readonly id: string;
  /** Origin of the endpoint's URL, without the path, which may hold a token. */
  readonly place: string;
  readonly events: readonly WebhookEventName[];
  readonly createdAt: number;
  readonly acceptedAt?: number;
  readonly disabledAt?: number;
  /** Number of events that wait for delivery. */
  readonly waiting: number;
  /** Highest number of failures of a waiting event. */
  readonly failures: number;
  /** When the next delivery is due; milliseconds since the epoch. */
  readonly nextAt?: number;
}

export interface Overview {
  /** Wallets with attempts, and the wallet of the settings. */
  readonly wallets: readonly string[];
  /** The wallet that the other fields are about. */
  readonly wallet?: string;
  readonly caps: readonly CapUse[];
  readonly receipts: number;
  readonly days: readonly Spending[];
  /** Sum of all `days`. */
  readonly inDays: Spending;
  readonly hosts: readonly Spending[];
  readonly tokens: readonly Spending[];
  /** The newest open payments and swaps, newest first. Counts and sums include all of them. */
  readonly open: readonly OpenRow[];
  readonly openCount: number;
  readonly swaps: readonly SwapRow[];
  readonly swapCount: number;
  readonly swapLoss: string;
  readonly endpoints: readonly EndpointRow[];
  /** Deliveries of this process, the newest first. */
  readonly deliveries: readonly WebhookDelivery[];
}
