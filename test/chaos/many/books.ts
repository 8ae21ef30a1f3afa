import { getBase58Decoder } from '@solana/kit';
import { SOLANA_MAINNET, type Journal } from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { rpc, signaturesOf, tokenAccount, tokenAmount } from '../../helpers/chain.js';

/** What each of the three counters says was paid, in base units of USDC. */
export interface Books {
  readonly chain: bigint;
  readonly journal: bigint;
  readonly merchant: bigint;
}

const CENT = 10_000n;
const SIGNATURE_BYTES = 64;

/**
 * What chain, journal and merchant say. Each address was paid for at most once, and all that was
 * signed is decided.
 */
export async function readBooks(
  sandbox: Sandbox,
  journal: Journal,
  wallet: string,
  before: bigint,
): Promise<Books> {
  const settled: string[] = [];
  for await (const { state, url } of journal.attempts({ wallet, network: SOLANA_MAINNET })) {
    // Unpaid are those whose swap was signed, and no payment.
    expect(['settled', 'unsettled', 'unpaid']).toContain(state);
    if (state === 'settled') settled.push(url);
  }
  expect(new Set(settled).size).toBe(settled.length);
  const chain = (await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC)) - before;
  return {
    chain,
    journal: BigInt(settled.length) * CENT,
    merchant: BigInt(await receivedBy(sandbox)) * CENT,
  };
}

/**
 * Payments in the merchant's own ledger: those that its facilitator said are settled, and those
 * that it has to look up because it did not know.
 */
async function receivedBy(sandbox: Sandbox): Promise<number> {
  const { served } = sandbox.controls.api;
  const settled = new Set(
    served.filter((line) => line.settled === true).map(({ paymentHeader }) => paymentHeader),
  );
  const unsure = new Set(
    served.map(({ paymentHeader }) => paymentHeader).filter((header) => !settled.has(header)),
  );
  if (unsure.size === 0) return settled.size;
  const landed = await landedSignatures(sandbox);
  return settled.size + [...unsure].filter((header) => landed.has(payerSignature(header))).length;
}

async function landedSignatures(sandbox: Sandbox): Promise<ReadonlySet<string>> {
  const account = await tokenAccount(sandbox.merchant, sandbox.mints.USDC);
  const all = new Set<string>();
  for (const signature of await signaturesOf(sandbox.rpcUrl, account)) {
    const params = [
      signature,
      { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
    ];
    const { transaction, meta } = await rpc<{
      transaction: { signatures: string[] };
      meta: { err: unknown };
    }>(sandbox.rpcUrl, 'getTransaction', params);
    if (meta.err === null) for (const one of transaction.signatures) all.add(one);
  }
  return all;
}

/** Ours is the second of the two; the first is the facilitator's. */
function payerSignature(header: string): string {
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
    payload: { transaction: string };
  };
  const bytes = Buffer.from(payload.transaction, 'base64');
  return getBase58Decoder().decode(bytes.subarray(1 + SIGNATURE_BYTES, 1 + 2 * SIGNATURE_BYTES));
}
