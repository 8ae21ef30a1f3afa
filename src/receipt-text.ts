import { clusterOf, SOLANA_MAINNET } from './network.js';
import type { FreedReceipt, Receipt } from './receipt.js';
import { amountText, solText } from './token-text.js';

const STATES: Readonly<Record<Receipt['state'] | FreedReceipt['state'], string>> = {
  pending: 'pending: the chain has not decided yet',
  settled: 'settled',
  unsettled: 'unsettled: the payment can never land',
  uncertain: 'uncertain: the answer was lost or failed, and the chain has not decided yet',
  abandoned: 'abandoned: no payment was signed, and a swap may still land',
  unpaid: 'unpaid: no payment was signed',
};

/**
 * Returns the URL at which Solana's explorer shows a transaction.
 *
 * @param signature - The transaction's first signature, base58.
 * @param network - CAIP-2 id of the cluster, as receipts have it.
 */
export function explorerUrl(signature: string, network: string): string {
  const cluster = clusterOf(network);
  // Mainnet is the explorer's default, and it shows no other networks.
  const query = /^(?:dev|test)net$/.test(cluster) ? `?cluster=${cluster}` : '';
  return `https://explorer.solana.com/tx/${encodeURIComponent(signature)}${query}`;
}

/**
 * Returns a receipt as a few lines of text, for a log or a person: the payment, the swap, the cost
 * and the state. A token that is not pinned is named by its mint.
 *
 * @example
 * const response = await client.fetch('https://api.example.com/premium');
 * const receipt = await settled(response);
 * if (receipt !== undefined) console.log(formatReceipt(receipt));
 */
export function formatReceipt(receipt: Receipt | FreedReceipt): string {
  const { method, url, state, payment, swap, cost } = receipt;
  const call = `${method} ${url}`;
  return [
    `${paidText(payment, state)} for ${call}`,
    ...(swap === undefined ? [] : [swapText(swap, payment?.network)]),
    costText(cost),
    stateText(state, payment),
  ].join('\n');
}

function paidText(payment: Receipt['payment'] | undefined, state: keyof typeof STATES): string {
  if (payment === undefined || state === 'unsettled') return 'Paid nothing';
  const { network, mint, amount, decimals, payTo } = payment;
  const paid = state === 'uncertain' ? 'May have paid' : 'Paid';
  return `${paid} ${amountText(network, mint, BigInt(amount), decimals)} to ${payTo}`;
}

function swapText(
  { inputMint, inAmount, outputMint, outAmount, provider }: NonNullable<Receipt['swap']>,
  // The receipt of a freed attempt names no network; Jupiter swaps on mainnet only.
  network: string = SOLANA_MAINNET,
): string {
  const [input, output] = [
    amountText(network, inputMint, BigInt(inAmount)),
    amountText(network, outputMint, BigInt(outAmount)),
  ];
  return `Swapped ${input} into ${output} (${provider})`;
}

function costText(cost: Receipt['cost'] | FreedReceipt['cost']): string {
  const { usd, parts } = cost;
  const lamports =
    'lamports' in cost
      ? BigInt(cost.lamports)
      : BigInt(cost.networkFeeLamports) + BigInt(cost.rentLamports);
  const sol = `${solText(lamports)} of fees and rent`;
  if (usd === undefined) return `Cost ${sol}; what it is worth in dollars is not known`;
  const { payments = '0', swaps = '0', fees = '0' } = parts ?? {};
  const inSol = lamports === 0n ? '' : `, of it ${sol}`;
  return `Cost ${usd} USD (payment ${payments}, swap ${swaps}, fees ${fees})${inSol}`;
}

function stateText(state: keyof typeof STATES, payment: Receipt['payment'] | undefined): string {
  const { signature, network = '' } = payment ?? {};
  const link = signature === undefined ? '' : ` ${explorerUrl(signature, network)}`;
  return `State ${STATES[state]}${link}`;
}
