import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import { answerTerms, isPaid, startSeller, type Seller } from './seller.js';

const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/**
 * A seller that asks for any of these, in base units, settles nothing and thanks for every header.
 */
export function startTaker(
  sandbox: Sandbox,
  asked: readonly (readonly [MintSymbol, string])[],
): Promise<Seller> {
  const accepts = asked.map(([symbol, amount]) => ({
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

/**
 * Makes a token cost so many times what it sells for, at no price impact, as the only pool of it
 * may.
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
