import type { RequestHandler } from 'express';

/** A request that passed the payment middleware and reached its handler, as the merchant saw it. */
export interface ServedRequest {
  readonly url: string;
  readonly method: string;
  /** The parsed JSON body, or the text of another one; undefined if there was none. */
  readonly body: unknown;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The PAYMENT-SIGNATURE header, verbatim. */
  readonly paymentHeader: string;
  /**
   * The status that went out; undefined while the answer is on its way. 402 if the settlement
   * failed after the handler ran.
   */
  status?: number;
  /** The facilitator's word on the settlement, from the PAYMENT-RESPONSE that went out. */
  settled?: boolean;
}

/** Writes a line into `ledger` for each paid request; belongs after the payment middleware. */
export function bookkeeping(ledger: ServedRequest[]): RequestHandler {
  return (request, response, next) => {
    const line: ServedRequest = {
      url: request.originalUrl,
      method: request.method,
      body: request.body as unknown,
      at: Date.now(),
      paymentHeader: request.header('payment-signature') ?? '',
    };
    ledger.push(line);
    response.once('close', () => {
      line.status = response.statusCode;
      line.settled = wasSettled(response.getHeader('payment-response'));
    });
    next();
  };
}

function wasSettled(header: unknown): boolean {
  if (typeof header !== 'string') return false;
  const settlement = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
    success?: unknown;
  };
  return settlement.success === true;
}
