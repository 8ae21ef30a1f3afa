import { ProtocolError } from '../../errors.js';
import { dropBody } from '../../internal/drop-body.js';
import type { Call } from '../../internal/request.js';
import { protocolOf } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom } from '../memory.js';

/**
 * Throws `unsupported_offer` if the seller does not let pages of other origins send the payment
 * header (CORS). Otherwise the browser would fail only after signing, like a lost connection.
 *
 * Sends the call with an empty payment header, once for each method, header and origin. Only
 * browsers need this check.
 */
export async function checkCors(
  { config, protocols, memory }: PaymentContext,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired,
): Promise<void> {
  const { url } = unpaid;
  const header = protocolOf(protocols, terms).headerOf(terms);
  const key = `${call.method} ${header} ${new URL(url).origin}`;
  if (memory.allowedByCors.has(key)) return;
  const { method, signal = null } = call;
  const send = async (...extra: [string, string][]): Promise<void> => {
    const headers = [...call.headers(url), ...extra];
    const options = { method, headers, signal, redirect: 'manual', cache: 'no-store' } as const;
    const response = await config.fetch(url, options);
    dropBody(response);
  };
  const isAllowed = await send([header, '']).then(
    () => true,
    () => false,
  );
  if (signal?.aborted === true) throw signal.reason;
  if (!isAllowed) {
    // The browser reports a lost connection in the same way. Without the header, a lost connection
    // fails again, and that error goes to the caller.
    await send();
    throw new ProtocolError(
      'unsupported_offer',
      `The browser does not let this page send the header ${header} to the seller (CORS). Nothing was paid. The seller has to answer OPTIONS with "Access-Control-Allow-Headers: ${header}"; until then, call it from a server.`,
      { details: { reason: `does not allow pages the header ${header}` } },
    );
  }
  makeRoom(memory.allowedByCors);
  memory.allowedByCors.add(key);
}
