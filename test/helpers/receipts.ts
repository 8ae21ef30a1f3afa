import { SOLANA_MAINNET, type Receipt } from 'exact-change';

/** Returns the receipt of a payment of one cent in USDC, with the given changes. */
export function receiptWith({
  cost = '0.01',
  ...change
}: Partial<Pick<Receipt, 'url' | 'method' | 'at' | 'state' | 'swap'>> & {
  readonly cost?: string;
}): Receipt {
  return {
    id: 'a1b2c3',
    url: 'https://api.example.com/premium',
    method: 'GET',
    at: Date.UTC(2026, 6, 1, 12),
    state: 'settled',
    payment: {
      network: SOLANA_MAINNET,
      mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
      ...{ amount: '10000', decimals: 6, uiAmount: '0.01', symbol: 'USDC' },
      payTo: 'GsbwXfJraMomNxBcjYLcG3mxkBUiyWXAB32fGbSMQRdW',
      payer: '7fUAJdStEuGbc3sM84cKRL6yYaaSstyLSU4ve5oovLS7',
      payerSignature: '3VdDBmR5scPeaDdUgQNF9JfUBvjZfxhq9CMJJr4yzsEX',
    },
    cost: { usd: cost, networkFeeLamports: '0', rentLamports: '0' },
    timings: {},
    ...change,
  };
}
