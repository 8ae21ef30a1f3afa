import { QuoteError, isExactChangeError } from '../../errors.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import { sinceThen } from '../../internal/runtime.js';
import type { Address } from '../../solana/types.js';
import type { QuoteIntent, SwapProvider } from '../provider.js';
import type { SwapQuote } from '../types.js';
import { foreignQuote, invalidAnswer, parseObject, readBuild, readQuote } from './answer.js';
import { refusalOf } from './refusal.js';
import { keyHeader } from './http.js';
import type { JupiterOptions } from './v1.js';

/** Age of a `/build` quote up to which its own instructions are used; later it is quoted again. */
const BUILD_FRESH_MS = 10_000;

export interface JupiterV2Options extends JupiterOptions {
  /** Wallet to quote for: `/build` gives no quote without a wallet. */
  readonly taker: Address;
}

/**
 * Creates a provider for Jupiter's Swap API v2, `GET /build`. It quotes `ExactIn` only, and the
 * quote comes with its instructions.
 */
export function createJupiterV2(options: JupiterV2Options): SwapProvider {
  const { runtime, taker } = options;
  const id = 'jupiter-v2';
  const request = buildRequest(options);
  const quote = async (
    intent: QuoteIntent,
    wallet: Address,
    signal: AbortSignal | undefined,
  ): Promise<SwapQuote> => {
    if (intent.swapMode === 'ExactOut') throw noExactOut(intent);
    const raw = await request(intent, wallet, signal);
    return readQuote(raw, intent, id, runtime.now());
  };
  return {
    id,
    quote: (intent, signal) => quote(intent, taker, signal),
    async build(oldQuote, wallet, signal) {
      const isFresh = wallet === taker && sinceThen(runtime, oldQuote.quotedAt) <= BUILD_FRESH_MS;
      const current = isFresh ? oldQuote : await quote(intentOf(oldQuote), wallet, signal);
      if (BigInt(current.minOutAmount) < BigInt(oldQuote.minOutAmount)) {
        const reason = 'the price moved before the swap was built';
        throw new QuoteError(
          'quote_mismatch',
          'The price moved before the swap was built. Quote again.',
          { details: { reason } },
        );
      }
      if (!isRecord(current.raw)) throw foreignQuote();
      // Take only the addresses of the tables: we read their contents from the caller's own node.
      const tables = current.raw['addressesByLookupTableAddress'];
      return readBuild(current.raw['swapInstruction'], isRecord(tables) ? Object.keys(tables) : []);
    },
  };
}

function intentOf({ inputMint, outputMint, inAmount, slippageBps }: SwapQuote): QuoteIntent {
  return { inputMint, outputMint, amount: BigInt(inAmount), swapMode: 'ExactIn', slippageBps };
}

function noExactOut({ inputMint, outputMint }: QuoteIntent): QuoteError<'no_route'> {
  const message = 'This service quotes exact inputs only. Ask for ExactIn.';
  return new QuoteError('no_route', message, { details: { inputMint, outputMint } });
}

type BuildRequest = (
  intent: QuoteIntent,
  taker: Address,
  signal: AbortSignal | undefined,
) => Promise<UnknownRecord>;

function buildRequest({ baseUrl, apiKey, http }: JupiterV2Options): BuildRequest {
  const base = `${baseUrl}/swap/v2/build`;
  const headers = keyHeader(apiKey);
  // The parameter `transactionVersion` is undocumented, but strict clients send it. If the service
  // refuses it, later requests leave it out.
  let pinsVersion = true;

  const send = async (
    pinned: boolean,
    intent: QuoteIntent,
    taker: Address,
    signal: AbortSignal | undefined,
  ): Promise<UnknownRecord> => {
    const { inputMint, outputMint, amount, slippageBps, maxAccounts } = intent;
    const query = new URLSearchParams({
      ...{ inputMint, outputMint, amount: amount.toString(), taker },
      ...{ slippageBps: String(slippageBps), wrapAndUnwrapSol: 'false' },
      ...(maxAccounts === undefined ? {} : { maxAccounts: String(maxAccounts) }),
      ...(pinned ? { transactionVersion: '0' } : {}),
    });
    const response = await http(`${base}?${query.toString()}`, {
      headers,
      signal: signal ?? null,
    });
    const body = await response.text();
    if (!response.ok) throw refusalOf(response.status, body, intent);
    const raw = parseObject(body);
    if (typeof raw['error'] === 'string') throw refusalOf(400, body, intent);
    if ((raw['transactionVersion'] ?? 0) !== 0)
      throw invalidAnswer('it is not for a version 0 transaction');
    return raw;
  };

  return async (intent, taker, signal) => {
    try {
      return await send(pinsVersion, intent, taker, signal);
    } catch (error) {
      if (
        !pinsVersion ||
        !isExactChangeError(error, 'jupiter_unavailable') ||
        error.details.status !== 400
      )
        throw error;
      const raw = await send(false, intent, taker, signal);
      pinsVersion = false;
      return raw;
    }
  };
}
