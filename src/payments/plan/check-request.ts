import { ProtocolError } from '../../errors.js';
import { isCrossOrigin, isLoopback } from '../../internal/origin.js';
import type { Call } from '../../internal/request.js';
import { checkPlace } from '../../policy/check-payment.js';
import type { ListRules } from '../../policy/lists.js';
import { protocolOf } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import { makeRoom } from '../memory.js';

/**
 * Throws `insecure_origin` for a place that no payment header may go to. It may be a redirecting
 * seller's, so it is in no message.
 */
export function checkOrigin(url: string): URL {
  const place = new URL(url);
  const { protocol, hostname, origin } = place;
  if (protocol === 'https:' || isLoopback(hostname)) return place;
  throw new ProtocolError(
    'insecure_origin',
    "The place that asks for payment is not https, so a payment sent there could be stolen. Use the seller's https address; details.origin is the one that asked.",
    { details: { origin } },
  );
}

/**
 * Throws if no payment may be made for a call at the address that asks for it, whatever that asks.
 */
export function checkRequest(
  policy: ListRules,
  call: Call,
  unpaid: Response | undefined,
  url: string,
): void {
  const misplaced = checkPlace(policy, checkOrigin(url).host);
  if (misplaced !== undefined) throw misplaced;
  if (unpaid?.redirected === true && call.method !== 'GET' && call.method !== 'HEAD') {
    throw new ProtocolError(
      'unsupported_offer',
      `The ${call.method} was redirected before it was answered with 402, and its method may have changed on the way. Send it to its final address directly.`,
      { details: { reason: 'redirected with a body' } },
    );
  }
}

/**
 * Throws `unsupported_offer` if the seller is of another origin than the page, and lets no page send
 * the header that carries a payment. The browser would say so only after the payment is signed, and
 * in the words of a lost connection. Asked once for each origin, by the call itself with that header
 * empty; no other runtime has pages.
 */
export async function checkCors(
  { config, protocols, memory }: PaymentContext,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired,
): Promise<void> {
  if (!isCrossOrigin(unpaid)) return;
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
