import type { SigningIntent } from 'exact-change';
import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import { landed, signaturesOf, tokenAccount } from './chain.js';
import type { Payer } from './payer.js';

/** How many payments, or swaps, a payer has signed. */
export function signedOf({ signed }: Payer, kind: SigningIntent['kind']): number {
  return signed.filter((one) => one.kind === kind).length;
}

/** How often the chain shows that tokens left a payer's account. */
export async function timesSpent(
  sandbox: Sandbox,
  { address }: Pick<Payer, 'address'>,
  symbol: MintSymbol,
): Promise<number> {
  const account = await tokenAccount(address, sandbox.mints[symbol]);
  const all = await Promise.all(
    (await signaturesOf(sandbox.rpcUrl, account)).map((one) => landed(sandbox.rpcUrl, one)),
  );
  return all.filter(
    ({ error, tokens }) =>
      error === null && tokens.some((one) => one.account === account && one.change < 0n),
  ).length;
}
