import { peekBody } from './read.js';
import type { ReadOptions } from './read.js';
import { readSettlement, rejectionReason } from './settlement.js';
import type { Settlement } from './types.js';

/** What a seller says in a 402 that answers a payment. None of it is proof. */
export interface Rejection {
  /** Its reason, cleaned; absent where it gives none. */
  readonly reason?: string;
  /** There only if it tried to settle: the payment may have landed. */
  readonly settlement?: Settlement;
}

/** Reads a 402 after a payment. The body is looked at only if the headers give no reason, and stays readable. */
export async function readRejection(response: Response, options: ReadOptions): Promise<Rejection> {
  const { headers } = response;
  const settlement = readSettlement(headers);
  const reason = rejectionReason({ headers }) ?? rejectionReason({ body: (await peekBody(response, options)).text });
  return { ...(reason === undefined ? {} : { reason }), ...(settlement === undefined ? {} : { settlement }) };
}
