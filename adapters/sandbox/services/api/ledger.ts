import type { RequestHandler } from 'express';

/** A request that passed the payment middleware and reached its handler. */
export interface ServedRequest {
  readonly url: string;
  readonly method: string;
  /** Parsed JSON body, or text of another body; undefined without a body. */
  readonly body: unknown;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** PAYMENT-SIGNATURE header, verbatim. */
  readonly paymentHeader: string;
  /**
   * Status of the answer; undefined before the answer was sent. 402 if the settlement failed after
   * the handler ran.
   */
  status?: number;
  /** Result of the settlement, from the PAYMENT-RESPONSE header of the answer. */
  settled?: boolean;
}

/** Adds each paid request to `ledger`. Install it after the payment middleware. */
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
