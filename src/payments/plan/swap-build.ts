import { isRecord } from '../../internal/record.js';
import { extractSwap } from '../../swaps/firewall/extract.js';
import type { SwapBuild } from '../../swaps/provider.js';
import { decodersOf } from '../../swaps/sources.js';
import { copyBuild } from '../../swaps/transaction/read-build.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';

/**
 * The one swap instruction: out of a transaction that is built already, from the transport as it
 * is, or out of the transaction that it builds.
 */
export async function buildFor(
  context: PaymentContext,
  quote: SwapQuote,
  built: unknown,
  signal: AbortSignal | undefined,
): Promise<SwapBuild> {
  const wallet = context.config.signer.address;
  const { transport } = context;
  const decoders = decodersOf(context.sources);
  if (built !== undefined) return extractSwap(context.rpc, built, wallet, { signal, decoders });
  if (transport.swapInstruction !== undefined)
    return copyBuild(await transport.swapInstruction({ wallet, quote }, { signal }));
  const answer: unknown = await transport.buildSwap({ wallet, quote }, { signal });
  return extractSwap(context.rpc, isRecord(answer) ? answer['transaction'] : undefined, wallet, {
    signal,
    decoders,
  });
}
