import { isExactChangeError, QuoteError } from '../../src/errors.js';
import type { Transport } from '../../src/transport.js';
import { operations } from '../../src/wire/operations.js';
import type { Metrics } from './metrics.js';
import { callerOfRequest, keyOf, type CallerOf } from './caller.js';
import { route, type Route } from './route.js';

/** Creates the routes of a service over its transport. */
export function transportRoutes(
  transport: Transport,
  callerOf: CallerOf | undefined,
  metrics?: Metrics,
): readonly Route[] {
  return [
    route(operations.quote, (input, { signal }) => transport.quote(input, { signal })),
    route(operations.buildSwap, async (input, { signal }) => {
      if ('quote' in input) return transport.buildSwap(input, { signal }).catch(blameQuote);
      const { wallet, ...swap } = input;
      return transport.buildSwap(
        { wallet, quote: await transport.quote(swap, { signal }) },
        { signal },
      );
    }),
    route(operations.balance, async (input, { signal }) => {
      const balances = await transport.balance(input, { signal });
      const [balance] = balances;
      return input.mint?.length === 1 && balance !== undefined ? balance : balances;
    }),
    route(operations.parsePayment, (input, { signal }) =>
      transport.parsePayment(input, { signal }),
    ),
    route(operations.autoPay, async (input, admitted) => {
      const { signal } = admitted;
      const { idempotencyKey: key } = input;
      const keyed =
        key === undefined
          ? input
          : { ...input, idempotencyKey: keyOf(await callerOfRequest(admitted, callerOf), key) };
      const result = await transport.autoPay(keyed, { signal });
      metrics?.step(result.state);
      return result;
    }),
  ];
}

/**
 * Throws `quote_mismatch` if Jupiter refused to build the caller's quote: Jupiter itself has not
 * failed, because it never made that quote. Throws any other error as it is.
 */
function blameQuote(error: unknown): never {
  if (
    !isExactChangeError(error, 'jupiter_unavailable') ||
    ![400, 422].includes(error.details.status)
  )
    throw error;
  const reason = 'Jupiter does not take it';
  throw new QuoteError('quote_mismatch', `The quote was refused: ${reason}. Quote again.`, {
    details: { reason },
    cause: error,
  });
}
