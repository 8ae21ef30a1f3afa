import { randomUUID } from 'node:crypto';
import type { Attempt, Journal, SignedSwap } from '../../src/journal/types.js';
import { SOLANA_MAINNET } from '../../src/network.js';
import type { Cap } from '../../src/policy/caps.js';

export const DAY_MS = 86_400_000;
export const NOW = 1_800_000_000_000;

/** Returns a newly reserved attempt: 0.01 USD, paid in a token with 6 decimals. */
export function attemptOf(over: Partial<Attempt> = {}): Attempt {
  return {
    id: randomUUID(),
    wallet: 'wallet',
    network: 'network',
    state: 'reserved',
    delivered: false,
    url: 'https://api.test/',
    method: 'GET',
    host: 'api.test',
    fingerprint: 'fingerprint',
    at: NOW,
    payTo: 'payee',
    mint: 'mint',
    amount: '10000',
    microUsd: '10000',
    ...over,
  };
}

/** Returns a signed swap that the chain has not decided. */
export function signedSwapOf(over: Partial<SignedSwap> = {}): SignedSwap {
  return {
    signature: 'swap signature',
    transaction: 'AAECAwQ=',
    blockhash: 'b',
    blockhashSlot: 0,
    lastValidBlockHeight: '9007199254740993',
    before: { amount: '18446744073709551615', slot: 0 },
    ...{ inputMint: 'in', outputMint: 'out', provider: 'provider', source: 'from', output: 'to' },
    quoted: { inAmount: '1', outAmount: '2', feeLamports: '3' },
    ...over,
  };
}

/** Returns an attempt with every optional field set; its texts contain escapes and non-ASCII. */
export function fullAttemptOf(over: Partial<Attempt> = {}): Attempt {
  return attemptOf({
    state: 'settled',
    delivered: true,
    toldAt: NOW + 1,
    url: 'https://api.test/caf%C3%A9?q="quoted"&b=\\',
    method: 'POST',
    idempotencyKey: 'key "with" \\ all sorts: \n\u2028 ü 汉 🪙',
    resigns: 'an earlier one',
    amount: '18446744073709551615',
    microUsd: '99999999999999999999999999',
    swap: signedSwapOf(),
    payment: {
      header: { name: 'PAYMENT-SIGNATURE', value: 'e30='.repeat(500) },
      payerSignature: 'payer signature',
      source: 'token account',
      memo: '',
      slot: 0,
      blockhash: 'blockhash',
      blockhashSlot: 0,
      before: { amount: '0', slot: 1 },
      lastValidBlockHeight: '0',
      hasPaymentId: false,
    },
    receipt: {
      id: 'receipt',
      url: 'https://api.test/',
      method: 'POST',
      at: NOW,
      state: 'settled',
      payment: {
        network: 'network',
        mint: 'mint',
        amount: '18446744073709551615',
        decimals: 0,
        uiAmount: '18446744073709551615',
        payTo: 'payee',
        payer: 'wallet',
        payerSignature: 'payer signature',
      },
      settlement: { success: false, transaction: '', network: 'network', errorReason: '"' },
      cost: { usd: '0.000001', networkFeeLamports: '0', rentLamports: '0' },
      timings: { plan: 0.125, 'a step': 1e21 },
    },
    ...over,
  });
}

/** Returns a cap on the spending of a day, in US dollars unless `over` sets another unit. */
export function dayCap(limit: bigint, over: Partial<Cap> = {}): Cap {
  return { name: 'maxPerDay', unit: 'USD', limit, windowMs: DAY_MS, ...over };
}

/** Returns a cap without a window: it counts all spending. */
export function totalCap(limit: bigint, over: Partial<Cap> = {}): Cap {
  return { name: 'maxTotal', unit: 'USD', limit, ...over };
}

export async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Returns all attempts of a wallet on mainnet. */
export const storedOf = (
  journal: Pick<Journal, 'attempts'>,
  { address }: { readonly address: string },
): Promise<Attempt[]> => listOf(journal.attempts({ wallet: address, network: SOLANA_MAINNET }));

export async function idsOf(attempts: AsyncIterable<Attempt>): Promise<string[]> {
  return (await listOf(attempts)).map(({ id }) => id);
}
