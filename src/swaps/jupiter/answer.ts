import { base64 } from '../../internal/bytes.js';
import { maxAmount, minAmount, parseAmount } from '../../amount.js';
import { cleanText, QuoteError, TransportError } from '../../errors.js';
import { isDeeper, MAX_DEPTH } from '../../internal/depth.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import { isAddress } from '../../solana/address.js';
import type { AccountMeta, Address, Instruction } from '../../solana/types.js';
import { buildLimits, type QuoteIntent, type SwapBuild } from '../provider.js';
import { leastOut, MAX_ROUTE, mostIn, platformFeeOf } from '../quote/check-quote.js';
import type { SwapQuote } from '../types.js';

/** Returns the error for an answer of Jupiter that cannot be used; `reason` is our own text. */
export function invalidAnswer(reason: string, cause?: unknown): TransportError<'invalid_response'> {
  return new TransportError(
    'invalid_response',
    `Jupiter's answer cannot be used: ${reason}. Try again, and check jupiterUrl.`,
    {
      details: { service: 'jupiter', reason },
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

/** Returns the error for a quote that cannot be built; `reason` is our own text. */
export function unbuildable(reason: string): QuoteError<'quote_mismatch'> {
  return new QuoteError('quote_mismatch', `The swap cannot be built: ${reason}. Quote again.`, {
    details: { reason },
  });
}

export function foreignQuote(): QuoteError<'quote_mismatch'> {
  return unbuildable('the quote is not one of this service');
}

export function parseObject(body: string): UnknownRecord {
  // A quote is copied and sent back, and to write a deeply nested value throws a RangeError.
  if (isDeeper(body, MAX_DEPTH)) throw invalidAnswer('it is nested too deeply');
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw invalidAnswer('it is not JSON', cause);
  }
  if (!isRecord(value)) throw invalidAnswer('it is not an object');
  return value;
}

/** Reads a quote in the terms of this library. `checkQuote` judges if it answers the intent. */
export function readQuote(
  raw: UnknownRecord,
  intent: QuoteIntent,
  provider: string,
  quotedAt: number,
): SwapQuote {
  const { inputMint, outputMint, swapMode, slippageBps } = raw;
  const inAmount = parseAmount(raw['inAmount']);
  const outAmount = parseAmount(raw['outAmount']);
  const threshold = parseAmount(raw['otherAmountThreshold']);
  if (!isAddress(inputMint) || !isAddress(outputMint))
    throw invalidAnswer('a mint is not an address');
  if (inAmount === undefined || outAmount === undefined || threshold === undefined)
    throw invalidAnswer('an amount is not a decimal string');
  // v2 quotes `ExactIn` only, and once left the field out.
  const mode = swapMode ?? 'ExactIn';
  if (mode !== 'ExactIn' && mode !== 'ExactOut') throw invalidAnswer('its swap mode is unknown');
  if (
    typeof slippageBps !== 'number' ||
    !Number.isInteger(slippageBps) ||
    slippageBps < 0 ||
    slippageBps > 10_000
  ) {
    throw invalidAnswer('its slippage is not basis points');
  }
  if (platformFeeOf(raw) !== 0) {
    throw new QuoteError(
      'quote_mismatch',
      'The quote carries a platform fee, which was not asked for. Check jupiterUrl: Jupiter itself adds none.',
      { details: { reason: 'platform fee' } },
    );
  }
  return {
    ...{ inputMint, outputMint, swapMode: mode, slippageBps, provider, quotedAt, raw },
    ...{ inAmount: inAmount.toString(), outAmount: outAmount.toString(), platformFeeBps: 0 },
    // The threshold is the service's arithmetic, so take the more cautious of it and of our own.
    minOutAmount: (mode === 'ExactOut'
      ? outAmount
      : minAmount(threshold, leastOut(outAmount, intent.slippageBps))
    ).toString(),
    maxInAmount: (mode === 'ExactIn'
      ? inAmount
      : maxAmount(threshold, mostIn(inAmount, intent.slippageBps))
    ).toString(),
    priceImpactBps: impactBps(raw['priceImpactPct']),
    route: routeOf(raw['routePlan']),
  };
}

/** Converts Jupiter's fraction to basis points, rounded up; null if it cannot be read. */
function impactBps(fraction: unknown): number | null {
  const text = typeof fraction === 'number' ? String(fraction) : fraction;
  if (typeof text !== 'string' || !/^-?[0-9]{1,4}(\.[0-9]{1,40})?(e-?[0-9]{1,2})?$/i.test(text))
    return null;
  const bps = Math.ceil(Number(text) * 10_000 - 1e-9);
  return Number.isSafeInteger(bps) ? bps || 0 : null;
}

function routeOf(plan: unknown): string[] {
  if (!Array.isArray(plan)) throw invalidAnswer('it has no route');
  return plan.slice(0, MAX_ROUTE).map((step: unknown) => {
    const info = isRecord(step) ? step['swapInfo'] : undefined;
    const label = isRecord(info) ? (info['label'] ?? info['ammKey']) : undefined;
    return typeof label === 'string' ? cleanText(label) : 'unknown';
  });
}

/** Reads the swap instruction, which is the only instruction that is taken from the service. */
function readInstruction(value: unknown): Instruction {
  const { programId, accounts, data } = isRecord(value) ? value : {};
  if (!isAddress(programId) || !Array.isArray(accounts) || accounts.length > buildLimits.accounts)
    throw invalidAnswer('it has no swap instruction');
  return { program: programId, accounts: accounts.map(readMeta), data: readData(data) };
}

function readMeta(value: unknown): AccountMeta {
  const { pubkey, isSigner, isWritable } = isRecord(value) ? value : {};
  if (!isAddress(pubkey) || typeof isSigner !== 'boolean' || typeof isWritable !== 'boolean')
    throw invalidAnswer('an account of the swap instruction is malformed');
  return { address: pubkey, signer: isSigner, writable: isWritable };
}

function readData(value: unknown): Uint8Array {
  if (typeof value !== 'string' || value.length > 2 * buildLimits.dataBytes)
    throw invalidAnswer('the swap instruction has no data');
  try {
    return base64.decode(value);
  } catch (cause) {
    throw invalidAnswer('the data of the swap instruction is not base64', cause);
  }
}

/** Reads a build: the swap instruction, and the addresses of its lookup tables. */
export function readBuild(instruction: unknown, tables: unknown): SwapBuild {
  const addresses: unknown = tables ?? [];
  if (!Array.isArray(addresses) || addresses.length > buildLimits.tables)
    throw invalidAnswer('its lookup tables are not a list');
  const lookupTables: Address[] = addresses.map((address: unknown) => {
    if (!isAddress(address)) throw invalidAnswer('a lookup table is not an address');
    return address;
  });
  return { instruction: readInstruction(instruction), lookupTables: [...new Set(lookupTables)] };
}
