import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as a seller received it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** A seller on the loopback with a handler of the test. */
export interface Seller {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  /** Requests with a payment header. */
  readonly paid: readonly SeenRequest[];
  close(): Promise<void>;
}

export type SellerHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Returns true if a request has a payment header. */
export function isPaid({ headers }: Pick<SeenRequest, 'headers'>): boolean {
  return headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined;
}

export async function startSeller(handler: SellerHandler): Promise<Seller> {
  const seen: SeenRequest[] = [];
  const server = createServer({ maxHeaderSize: 256 * 1024 }, (request, response) => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    request.resume();
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    get paid() {
      return seen.filter(isPaid);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Starts a seller that closes when the test ends. */
export async function sellerOfTest(handler: SellerHandler): Promise<Seller> {
  const seller = await startSeller(handler);
  onTestFinished(() => seller.close());
  return seller;
}

/** Answers 402 with terms in the header, as v2 sellers do. */
export function answerTerms(response: ServerResponse, terms: unknown): void {
  response.writeHead(402, {
    'content-type': 'application/json',
    'payment-required': Buffer.from(JSON.stringify(terms)).toString('base64'),
  });
  response.end('{}');
}
