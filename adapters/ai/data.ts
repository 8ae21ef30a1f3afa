import { explorerUrl } from '../../src/receipt-text.js';
import type { Plan } from '../../src/policy/plan.js';
import type { Receipt, SwapResult } from '../../src/receipt.js';
import type { SwapQuote } from '../../src/swaps/types.js';
import type { WriteAmount } from '../amounts.js';

// Data for a model, in words and decimals. No field has text of a seller or a service. Of an
// address the model only gets the host, because a redirect may have chosen the rest.

type Data = Readonly<Record<string, unknown>>;

export function receiptData({ id, url, method, at, state, payment, swap, cost }: Receipt): Data {
  const { signature, network } = payment;
  return {
    ...{ id, state, at: new Date(at).toISOString(), host: new URL(url).host, method },
    paid: priceText(payment),
    payTo: payment.payTo,
    usd: cost.usd,
    swapped: swap !== undefined,
    ...(signature === undefined ? {} : { signature, explorer: explorerUrl(signature, network) }),
  };
}

export function planData(plan: Plan, write: WriteAmount): Data {
  const { payment, swap, cost, refused, caps, status } = plan;
  const [host, asksForPayment] = [new URL(plan.url).host, payment !== undefined];
  return {
    ...{ host, method: plan.method, status, asksForPayment },
    ...(payment && {
      price: priceText(payment),
      payTo: payment.payTo,
      canSpend: write(payment.mint, payment.available),
    }),
    ...(swap && { swap: quoteData(swap, write) }),
    usdAtMost: cost?.usd,
    refusedOffers: refused.map(({ code, message }) => ({ code, message })),
    caps,
  };
}

export function quoteData(quote: Omit<SwapQuote, 'raw'>, write: WriteAmount): Data {
  const { inputMint, outputMint, inAmount, maxInAmount, outAmount, minOutAmount } = quote;
  return {
    takes: write(inputMint, inAmount),
    takesAtMost: write(inputMint, maxInAmount),
    brings: write(outputMint, outAmount),
    bringsAtLeast: write(outputMint, minOutAmount),
    priceImpactBps: quote.priceImpactBps,
    slippageBps: quote.slippageBps,
  };
}

export function swapData(swap: SwapResult, write: WriteAmount): Data {
  const { signature, inputMint, inAmount, outputMint, outAmount, feeLamports } = swap;
  return {
    ...{ took: write(inputMint, inAmount), brought: write(outputMint, outAmount) },
    ...{ feeLamports, signature },
  };
}

function priceText({
  uiAmount,
  symbol,
  mint,
}: Pick<Receipt['payment'], 'uiAmount' | 'symbol' | 'mint'>): string {
  return symbol === undefined ? `${uiAmount} of ${mint}` : `${uiAmount} ${symbol}`;
}
