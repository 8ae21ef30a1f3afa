import { type ExactChangeError, QuoteError, TransportError } from '../../errors.js';
import { parseJson } from '../../internal/parse.js';
import { isRecord } from '../../internal/record.js';
import type { Address } from '../../solana/types.js';

export interface SwapMints {
  readonly inputMint: Address;
  readonly outputMint: Address;
}

export const noRouteCodes: ReadonlySet<string> = new Set([
  'NO_ROUTES_FOUND',
  'COULD_NOT_FIND_ANY_ROUTE',
  'MARKET_NOT_FOUND',
  'TOKEN_NOT_TRADABLE',
  'ROUTE_PLAN_DOES_NOT_CONSUME_ALL_THE_AMOUNT',
  // The venues with this pair do not support this mode or this number of accounts: another mode or
  // number may work.
  'NOT_SUPPORTED',
]);
// Some answers with status 400 are plain text.
const NO_ROUTE_TEXT =
  /could not find any route|no routes? found|route not found|does not support it|not tradable/i;
const STALE = 'FAILED_TO_GET_SWAP_AND_ACCOUNT_METAS';

/**
 * Returns the error for a refusal of Jupiter; Jupiter's own text goes into `untrusted`. 429 and 5xx
 * never get here, because `createJupiterHttp` handles them.
 */
export function refusalOf(
  status: number,
  body: string,
  { inputMint, outputMint }: SwapMints,
): ExactChangeError {
  const { code, text } = readRefusal(body);
  const untrusted = { ...(code === undefined ? {} : { errorCode: code }), error: text };
  if (status === 401 || status === 403) {
    const message = `Jupiter answered ${status}: it does not accept this API key, or this address. Check jupiterApiKey and jupiterUrl.`;
    return new TransportError('jupiter_unavailable', message, {
      details: { status },
      retry: 'never',
      untrusted,
    });
  }
  if (status !== 404 && status !== 410) {
    if ((code !== undefined && noRouteCodes.has(code)) || NO_ROUTE_TEXT.test(text)) {
      const message = `Jupiter has no route from ${inputMint} to ${outputMint} for this amount. Swap from another token.`;
      return new QuoteError('no_route', message, { details: { inputMint, outputMint }, untrusted });
    }
    if (code === STALE) {
      const reason = 'the quote went stale';
      return new QuoteError(
        'quote_mismatch',
        'Jupiter can no longer build this quote. Quote again.',
        { details: { reason }, untrusted },
      );
    }
  }
  const message = `Jupiter refused the request with ${status}. Check jupiterUrl; what it said is in untrusted.`;
  return new TransportError('jupiter_unavailable', message, {
    details: { status },
    retry: 'never',
    untrusted,
  });
}

function readRefusal(body: string): { code: string | undefined; text: string } {
  const value = parseJson(body);
  if (value === undefined) return { code: undefined, text: body };
  const { errorCode, error, message } = isRecord(value) ? value : {};
  const text = [error, message].find((value): value is string => typeof value === 'string');
  return { code: typeof errorCode === 'string' ? errorCode : undefined, text: text ?? '' };
}
