import type { ReadOptions, SellersWord } from '../protocol.js';
import { peekBody } from './read.js';
import { readSettlement, rejectionReason } from './settlement.js';

/** What the answer to a paid request says of its payment. */
export async function readOutcome(response: Response, options: ReadOptions): Promise<SellersWord> {
  const { headers } = response;
  return {
    settlement: readSettlement(headers),
    reason: response.status === 402 ? await reasonOf(response, options) : undefined,
    hasTerms: headers.has('payment-required'),
  };
}

/** v2 servers say it in a header, v1 servers only in the body. */
async function reasonOf(response: Response, options: ReadOptions): Promise<string | undefined> {
  const { headers } = response;
  const fromHeaders = rejectionReason({ headers });
  if (fromHeaders !== undefined) return fromHeaders;
  const body = await peekBody(response, options);
  return rejectionReason({ headers, body: body.text });
}
