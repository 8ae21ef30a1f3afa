import { isExactChangeError, TransportError } from '../errors.js';
import { bounded } from '../internal/abort.js';
import type { Transport, TransportOptions } from '../transport.js';
import { isTrustedError } from '../wire/trusted-error.js';
import { waitTimeout } from '../journal/locks.js';

/**
 * Puts a time limit on each call of the caller's transport; its signal fires when time is up. An
 * error that a transport cannot know of becomes `invalid_response`.
 */
export function transportWithTimeouts(transport: Transport, timeoutMs: number): Transport {
  const within =
    <R, T>(step: string, call: (request: R, options: TransportOptions) => Promise<T>) =>
    (request: R, options: TransportOptions = {}): Promise<T> =>
      bounded(
        timeoutMs,
        () => waitTimeout(`transport.${step}`, timeoutMs),
        [options.signal],
        async (signal) => {
          try {
            return await call(request, { ...options, signal });
          } catch (error) {
            throw isExactChangeError(error) && isTrustedError(error.code, error)
              ? error
              : invalidResponse(step, error);
          }
        },
      );
  return {
    ...(transport.distant === undefined ? {} : { distant: transport.distant }),
    quote: within('quote', (request, options) => transport.quote(request, options)),
    buildSwap: within('buildSwap', (request, options) => transport.buildSwap(request, options)),
    balance: within('balance', (request, options) => transport.balance(request, options)),
    parsePayment: within('parsePayment', (request, options) =>
      transport.parsePayment(request, options),
    ),
    autoPay: within('autoPay', (request, options) => transport.autoPay(request, options)),
    ...(transport.swapInstruction === undefined
      ? {}
      : { swapInstruction: within('swapInstruction', transport.swapInstruction.bind(transport)) }),
  };
}

function invalidResponse(step: string, cause: unknown): TransportError {
  const reason = `${step} failed with an error that is not a transport's`;
  return new TransportError(
    'invalid_response',
    `The transport cannot be used: its ${reason}. Try again, or use another.`,
    { details: { service: 'transport', reason }, cause },
  );
}
