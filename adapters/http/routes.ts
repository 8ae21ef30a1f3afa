import { isExactChangeError, QuoteError } from '../../src/errors.js';
import type { Transport, TransportOptions } from '../../src/transport.js';
import { operations, type Operation } from '../../src/wire/operations.js';
import { readAs, readRequest } from '../../src/wire/read.js';

/** An operation of a transport, from what a request brought to what is answered. */
export interface Route {
  readonly operation: Operation;
  /** Throws `invalid_option` where the request does not fit, and whatever the transport throws. */
  call(transport: Transport, request: unknown, options: TransportOptions): Promise<unknown>;
}

/** What the service serves, by operation id. */
export const ROUTES: { readonly [O in keyof typeof operations]: Route } = {
  quote: route(operations.quote, (transport, request, options) => transport.quote(request, options)),
  buildSwap: route(operations.buildSwap, async (transport, request, options) => {
    if ('quote' in request) return transport.buildSwap(request, options).catch(ofQuote);
    const { wallet, ...swap } = request;
    return transport.buildSwap({ wallet, quote: await transport.quote(swap, options) }, options);
  }),
  balance: route(operations.balance, async (transport, request, options) => {
    const balances = await transport.balance(request, options);
    const [only] = balances;
    return request.mint?.length === 1 && only !== undefined ? only : balances;
  }),
  parsePayment: route(operations.parsePayment, (transport, request, options) => transport.parsePayment(request, options)),
  autoPay: route(operations.autoPay, (transport, request, options) => transport.autoPay(request, options)),
};

/** Jupiter refuses to build what it did not quote: that is whose quote it is, and no failure of Jupiter's. */
function ofQuote(error: unknown): never {
  if (!isExactChangeError(error, 'jupiter_unavailable') || ![400, 422].includes(error.details.status)) throw error;
  const reason = 'Jupiter does not take it';
  throw new QuoteError('quote_mismatch', `The quote was refused: ${reason}. Quote again.`, { details: { reason }, cause: error });
}

function route<Q, A>(operation: Operation<Q, A>, call: (transport: Transport, request: Q, options: TransportOptions) => Promise<A>): Route {
  return {
    operation,
    async call(transport, request, options) {
      const answer = readAs(operation.response, await call(transport, readRequest(operation, request), options));
      if (!answer.ok)
        throw new TypeError(`The transport's answer to ${operation.path} is not what it promises: ${answer.path} ${answer.rule}`);
      return answer.value;
    },
  };
}
