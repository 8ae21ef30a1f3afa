import { Configuration, FetchError, ResponseError, SwapApi, type SwapRequest } from '@jup-ag/api';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import type { Runtime } from '../../internal/runtime.js';
import type { SwapProvider } from '../provider.js';
import { foreignQuote, parseObject, readBuild, readQuote } from './answer.js';
import { type SwapMints, refusalOf } from './refusal.js';
import { keyHeader } from './http.js';

export interface JupiterOptions {
  /** Base address such as `https://api.jup.ag`; the path of the API is appended. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** From `createJupiterHttp`. */
  readonly http: typeof fetch;
  readonly runtime: Runtime;
}

/**
 * Creates a provider for Jupiter's Swap API v1, which quotes `ExactOut` too. It uses only the raw
 * methods of the generated client, and sends the quote back as it came: the generated
 * (de)serialisers drop fields that they do not know.
 */
export function createJupiterV1({ baseUrl, apiKey, http, runtime }: JupiterOptions): SwapProvider {
  const id = 'jupiter-v1';
  const headers = keyHeader(apiKey);
  const api = new SwapApi(
    new Configuration({ basePath: `${baseUrl}/swap/v1`, fetchApi: http, headers }),
  );
  return {
    id,
    async quote(intent, signal) {
      const { inputMint, outputMint, swapMode, slippageBps, maxAccounts } = intent;
      const parameters = {
        ...{ inputMint, outputMint, swapMode, slippageBps, restrictIntermediateTokens: true },
        instructionVersion: 'V2' as const,
        // The type is a number, which holds only 53 bits; the client writes any value into the URL.
        amount: intent.amount.toString() as unknown as number,
        ...(maxAccounts === undefined ? {} : { maxAccounts }),
      };
      const raw = await answer(intent, () =>
        api.quoteGetRaw(parameters, { signal: signal ?? null }),
      );
      return readQuote(raw, intent, id, runtime.now());
    },
    async build(quote, wallet, signal) {
      if (!isRecord(quote.raw) || !Array.isArray(quote.raw['routePlan'])) throw foreignQuote();
      // Only its shape matters: the client serialises it, and then the body below replaces it.
      const swapRequest = {
        userPublicKey: wallet,
        quoteResponse: quote.raw,
      } as unknown as SwapRequest;
      // We wrap and unwrap SOL ourselves, so the swap uses the wallet's wrapped SOL account.
      const body = { userPublicKey: wallet, quoteResponse: quote.raw, wrapAndUnwrapSol: false };
      // The body must be an object, whatever its type says, because the client serialises it.
      const override = async (): Promise<RequestInit> => ({
        signal: signal ?? null,
        body: body as unknown as string,
      });
      const raw = await answer(quote, () => api.swapInstructionsPostRaw({ swapRequest }, override));
      return readBuild(raw['swapInstruction'], raw['addressLookupTableAddresses']);
    },
  };
}

/** Makes a call and reads the answer; `createJupiterHttp` has bounded its time and size. */
async function answer(
  mints: SwapMints,
  call: () => Promise<{ raw: Response }>,
): Promise<UnknownRecord> {
  let response: Response;
  try {
    response = (await call()).raw;
  } catch (error) {
    if (error instanceof ResponseError)
      throw refusalOf(error.response.status, await error.response.text(), mints);
    throw error instanceof FetchError ? error.cause : error;
  }
  const body = await response.text();
  const object = parseObject(body);
  // Jupiter has answered errors with status 200.
  if (typeof object['error'] === 'string') throw refusalOf(400, body, mints);
  return object;
}
