import { ProtocolError } from '../../errors.js';
import type { Call } from '../../internal/request.js';
import { protocolOf } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom } from '../memory.js';

/**
 * Throws `unsupported_offer` if the seller, which is of another origin than the page, lets no page
 * send the header that carries a payment. The browser would say so only after the payment is signed, and
 * in the words of a lost connection. Asked once for each origin, by the call itself with that header
 * empty; no other runtime has pages.
 */
export async function checkCors(
  { config, protocols, memory }: PaymentContext,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired,
): Promise<void> {
  const { url } = unpaid;
  const header = protocolOf(protocols, terms).headerOf(terms);
  const asked = `${call.method} ${header} ${new URL(url).origin}`;
  if (memory.allowedByCors.has(asked)) return;
  const headers = [...call.headers, [header, ''] as [string, string]];
  const { method, signal = null } = call;
  const answered = await config
    .fetch(url, { method, headers, signal, redirect: 'manual', cache: 'no-store' })
    .catch(() => undefined);
  if (signal?.aborted === true) throw signal.reason;
  if (answered === undefined)
    throw new ProtocolError(
      'unsupported_offer',
      `The browser does not let this page send the header ${header} to the seller (CORS). Nothing was paid. The seller has to answer OPTIONS with "Access-Control-Allow-Headers: ${header}"; until then, call it from a server.`,
      { details: { reason: `does not allow pages the header ${header}` } },
    );
  answered.body?.cancel().catch(() => undefined);
  makeRoom(memory.allowedByCors);
  memory.allowedByCors.add(asked);
}
