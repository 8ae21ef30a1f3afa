import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import { onTestFinished } from 'vitest';
import { answerTerms, isPaid, startSeller, type Seller } from './seller.js';

const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/**
 * Starts a seller that offers these tokens with their amounts in base units. It settles nothing and
 * answers 200 to every payment header.
 */
export function startTaker(
  sandbox: Sandbox,
  prices: readonly (readonly [MintSymbol, string])[],
): Promise<Seller> {
  const accepts = prices.map(([symbol, amount]) => ({
    scheme: 'exact',
    network: MAINNET,
    amount,
    asset: sandbox.mints[symbol].address,
    payTo: sandbox.merchant,
    maxTimeoutSeconds: 60,
    extra: { feePayer: sandbox.feePayer },
  }));
  return startSeller((request, response) => {
    if (isPaid(request)) response.end('thanks');
    else
      answerTerms(response, {
        x402Version: 2,
        resource: { url: 'http://seller.example/' },
        accepts,
      });
  });
}

/** Starts such a seller until the end of the test, and returns its URL. */
export async function takerUrl(
  sandbox: Sandbox,
  prices: Parameters<typeof startTaker>[1],
): Promise<string> {
  const seller = await startTaker(sandbox, prices);
  onTestFinished(() => seller.close());
  return seller.url;
}

/**
 * Multiplies the input that the aggregator quotes for a token, at zero price impact. The token's
 * only pool may quote like this.
 */
export function oneSided(sandbox: Sandbox, symbol: MintSymbol, times: bigint): void {
  sandbox.controls.aggregator.lie('/swap/v1/quote', (answer, { query }) => {
    if (query.get('outputMint') !== sandbox.mints[symbol].address) return answer;
    const inAmount = BigInt(String(answer['inAmount'])) * times;
    const most = (inAmount * (10_000n + BigInt(Number(answer['slippageBps']))) + 9_999n) / 10_000n;
    const exactOut = answer['swapMode'] === 'ExactOut';
    return {
      ...answer,
      inAmount: inAmount.toString(),
      priceImpactPct: '0',
      ...(exactOut ? { otherAmountThreshold: most.toString() } : {}),
    };
  });
}
