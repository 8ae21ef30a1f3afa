import type { SigningIntent } from 'exact-change';
import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import { landed, signaturesOf, tokenAccount } from './chain.js';
import type { Payer } from './payer.js';

/** Counts the payments, or the swaps, that a payer signed. */
export function signedOf({ signed }: Payer, kind: SigningIntent['kind']): number {
  return signed.filter((intent) => intent.kind === kind).length;
}

/** Counts the transactions on the chain by which tokens left a payer's account. */
export async function timesSpent(
  sandbox: Sandbox,
  { address }: Pick<Payer, 'address'>,
  symbol: MintSymbol,
): Promise<number> {
  const account = await tokenAccount(address, sandbox.mints[symbol]);
  const signatures = await signaturesOf(sandbox.rpcUrl, account);
  const transactions = await Promise.all(
    signatures.map((signature) => landed(sandbox.rpcUrl, signature)),
  );
  return transactions.filter(
    ({ error, tokens }) =>
      error === null && tokens.some((token) => token.account === account && token.change < 0n),
  ).length;
}
