import type { RequestHandler, Response } from 'express';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Serves the seller's side of the payment-identifier extension. The first paid request with an id
 * decides the answer. The same payment header gets that answer again; another payment with the same
 * id gets 409.
 */
export function paymentIdentifiers(): RequestHandler {
  const seen = new Map<
    string,
    { readonly header: string; readonly answer: Promise<Answer | undefined> }
  >();
  return (request, response, next) => {
    const header = request.header('payment-signature');
    const id = header === undefined ? undefined : identifierOf(header);
    if (header === undefined || id === undefined) return next();
    const first = seen.get(id);
    if (first === undefined) {
      const answer = record(response);
      seen.set(id, { header, answer });
      // If the request was not paid, the id is free again.
      void answer.then((recorded) => recorded ?? seen.delete(id));
      return next();
    }
    if (first.header !== header) {
      response.status(409).json({ error: 'payment identifier was used with another payment' });
      return;
    }
    first.answer.then((recorded) => {
      if (recorded === undefined) return next();
      response
        .status(recorded.status)
        .set(recorded.headers)
        .set('idempotency-replayed', 'true')
        .send(recorded.body);
    }, next);
  };
}

/**
 * Resolves with the answer that was sent, or with undefined if its status is 400 or above: the
 * payment was refused, or its settlement failed.
 */
function record(response: Response): Promise<Answer | undefined> {
  const chunks: Buffer[] = [];
  const write = response.write.bind(response);
  const end = response.end.bind(response);
  const keep = (chunk: unknown): void => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk));
    if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  // Both methods are overloaded; the casts are safe because the arguments are passed on unchanged.
  response.write = ((...args: Parameters<typeof write>) => (
    keep(args[0]),
    write(...args)
  )) as typeof response.write;
  response.end = ((...args: Parameters<typeof end>) => (
    keep(args[0]),
    end(...args)
  )) as typeof response.end;
  return new Promise((resolve) => {
    response.once('close', () => {
      if (response.statusCode >= 400) return resolve(undefined);
      const headers = Object.fromEntries(
        Object.entries(response.getHeaders())
          .filter(([name]) => !['content-length', 'date', 'connection'].includes(name))
          .map(([name, value]) => [name, String(value)]),
      );
      resolve({ status: response.statusCode, headers, body: Buffer.concat(chunks) });
    });
  });
}

function identifierOf(header: string): string | undefined {
  try {
    const payload = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
      extensions?: { 'payment-identifier'?: { info?: { id?: unknown } } };
    };
    const id = payload.extensions?.['payment-identifier']?.info?.id;
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
