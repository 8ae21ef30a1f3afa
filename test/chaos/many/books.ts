import { getBase58Decoder } from '@solana/kit';
import { SOLANA_MAINNET, type Journal } from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { rpc, signaturesOf, tokenAccount, tokenAmount } from '../../helpers/chain.js';

/** The paid sum in each of three books, in base units of USDC. */
export interface Books {
  readonly chain: bigint;
  readonly journal: bigint;
  readonly merchant: bigint;
}

const CENT = 10_000n;
const SIGNATURE_BYTES = 64;

/**
 * Reads the paid sums of chain, journal and merchant. Expects at most one payment per URL and a
 * decision for each signed payment.
 */
export async function readBooks(
  sandbox: Sandbox,
  journal: Journal,
  wallet: string,
  before: bigint,
): Promise<Books> {
  const settled: string[] = [];
  for await (const { state, url } of journal.attempts({ wallet, network: SOLANA_MAINNET })) {
    // An unpaid attempt has a signed swap and no payment.
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
 * Counts the payments in the merchant's ledger: settled by its facilitator, or found on the chain
 * when the facilitator did not know.
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
  const landed = new Set<string>();
  for (const signature of await signaturesOf(sandbox.rpcUrl, account)) {
    const params = [
      signature,
      { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
    ];
    const { transaction, meta } = await rpc<{
      transaction: { signatures: string[] };
      meta: { err: unknown };
    }>(sandbox.rpcUrl, 'getTransaction', params);
    if (meta.err === null) for (const signed of transaction.signatures) landed.add(signed);
  }
  return landed;
}

/** Returns the second signature, which is the wallet's; the first is the facilitator's. */
function payerSignature(header: string): string {
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
    payload: { transaction: string };
  };
  const bytes = Buffer.from(payload.transaction, 'base64');
  return getBase58Decoder().decode(bytes.subarray(1 + SIGNATURE_BYTES, 1 + 2 * SIGNATURE_BYTES));
}
