import { explorerUrl, formatUiAmount, type Attempt, type Receipt } from 'exact-change';
import { amountText, solText } from '../../../src/token-text.js';
import { parseUrl } from '../../../src/internal/parse.js';
import { cleanLine } from '../clean.js';
import type { OpenRow, ReceiptRow, SwapRow } from './shown.js';

const USD_DECIMALS = 6;

/** Returns the row of a receipt. */
export function receiptRow(receipt: Receipt): ReceiptRow {
  const { id, at, state, method, url, payment, cost, swap, settlement, timings } = receipt;
  const { network, uiAmount, symbol, mint, payTo, payer, payerSignature, signature } = payment;
  const { parts } = cost;
  const lamports = BigInt(cost.networkFeeLamports) + BigInt(cost.rentLamports);
  const details: (readonly [string, string | undefined])[] = [
    ['Address', cleanLine(url)],
    ['Paid to', payTo],
    ['Paid from', payer],
    ['Token', mint],
    ['Transaction', signature ?? 'not on chain as far as is known'],
    ['Our signature', payerSignature],
    ['Swap', swap && swapText(network, swap)],
    ['Swap transaction', swap?.signature],
    [
      'Cost in dollars',
      parts && `price ${parts.payments}, swap ${parts.swaps}, fees and rent ${parts.fees}`,
    ],
    ['Fees and rent', solText(lamports)],
    ['The seller names', settlement && cleanLine(settlement.transaction)],
    ['Steps', stepsText(timings)],
    ['Id', id],
  ];
  return {
    ...{ id, at, state, method: cleanLine(method), ...placeOf(url) },
    price: `${uiAmount} ${symbol ?? mint}`,
    ...(cost.usd === undefined ? {} : { usd: cost.usd }),
    hasSwap: swap !== undefined,
    details: details.flatMap(([name, text]) =>
      text === undefined || text === '' ? [] : [[name, text] as const],
    ),
    ...(signature === undefined ? {} : { link: explorerUrl(signature, network) }),
  };
}

/** Returns the row of an undecided attempt; undefined if the attempt is decided. */
export function openRow(attempt: Attempt): OpenRow | undefined {
  const { id, at, state, method, url, network, mint, amount, payment, doubt } = attempt;
  if (state !== 'reserved' && state !== 'abandoned' && state !== 'signed') return undefined;
  return {
    ...{ id, at, state, method: cleanLine(method), ...placeOf(url) },
    price: amountText(network, mint, BigInt(amount)),
    ...(payment === undefined ? {} : { until: payment.lastValidBlockHeight }),
    ...(doubt === undefined ? {} : { doubt }),
  };
}

/** Returns the row of an attempt's last swap; undefined if it has none. */
export function swapRow({ at, network, swap, swapped }: Attempt): SwapRow | undefined {
  if (swap === undefined) return undefined;
  const { signature, inputMint, outputMint, provider, quoted, outcome } = swap;
  const moved = outcome?.state === 'confirmed' ? outcome : quoted;
  return {
    ...{ id: signature, at, state: outcome?.state ?? 'open', provider: cleanLine(provider) },
    gave: amountText(network, inputMint, BigInt(moved.inAmount)),
    got: amountText(network, outputMint, BigInt(moved.outAmount)),
    loss: formatUiAmount(BigInt(swapped?.lossMicroUsd ?? '0'), USD_DECIMALS),
    fees: solText(BigInt(swapped?.lamports ?? '0')),
    link: explorerUrl(signature, network),
  };
}

function swapText(network: string, swap: NonNullable<Receipt['swap']>): string {
  const { inputMint, inAmount, outputMint, outAmount, provider } = swap;
  const [gave, got] = [
    amountText(network, inputMint, BigInt(inAmount)),
    amountText(network, outputMint, BigInt(outAmount)),
  ];
  return `${gave} into ${got} (${cleanLine(provider)})`;
}

function stepsText(timings: Receipt['timings']): string {
  return Object.entries(timings)
    .map(([step, ms]) => `${step} ${Math.round(ms)} ms`)
    .join(', ');
}

/** Returns host and path of a URL. A row has no room for query and fragment. */
function placeOf(address: string): { readonly host: string; readonly path: string } {
  const url = parseUrl(address);
  return { host: cleanLine(url?.host ?? ''), path: cleanLine(url?.pathname ?? address) };
}
