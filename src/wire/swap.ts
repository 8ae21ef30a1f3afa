import * as v from 'valibot';
import type { SwapQuote, SwapTransaction } from '../swaps/types.js';
import {
  address,
  amount,
  count,
  digits,
  impact,
  mint,
  name,
  swapMode,
  text,
  transaction,
  within,
} from './fields.js';

const MAX_ROUTE = 50;

/** The swap that a caller asks for. The service's policy may allow less slippage. */
export const swapParameters = {
  inputMint: mint,
  outputMint: mint,
  amount,
  swapMode: v.exactOptional(swapMode),
  slippageBps: v.exactOptional(within(0, 10_000)),
  maxAccounts: v.exactOptional(within(1, 64)),
};

export const quoteRequest = v.strictObject(swapParameters, 'must be an object.');

const quoteFields = {
  inputMint: address,
  outputMint: address,
  swapMode,
  inAmount: amount,
  outAmount: amount,
  minOutAmount: amount,
  maxInAmount: amount,
  slippageBps: within(0, 10_000),
  priceImpactBps: impact,
  platformFeeBps: v.literal(0, 'must be 0: there is no platform fee.'),
  route: v.pipe(
    v.array(text, 'must be a list of names.'),
    v.maxLength(MAX_ROUTE, `must have at most ${MAX_ROUTE} names.`),
  ),
  provider: name,
  quotedAt: count,
  raw: v.unknown(),
};

export const swapQuote: v.GenericSchema<unknown, SwapQuote> = v.object(
  quoteFields,
  'must be a quote.',
);

const wallet = { wallet: address };

export const buildOfQuote = v.strictObject(
  { ...wallet, quote: v.strictObject(quoteFields, 'must be a quote.') },
  'must be an object.',
);
export const buildOfParameters = v.strictObject(
  { ...wallet, ...swapParameters },
  'must be an object.',
);

// Choose the schema by `quote`: a union would report the errors of both.
export const buildRequest = v.lazy((input) =>
  typeof input === 'object' && input !== null && 'quote' in input
    ? buildOfQuote
    : buildOfParameters,
);

export const swapTransaction: v.GenericSchema<unknown, SwapTransaction> = v.object(
  {
    transaction,
    lastValidBlockHeight: digits,
    quote: swapQuote,
    computeUnitLimit: count,
    priorityFeeLamports: digits,
  },
  'must be a swap transaction.',
);
