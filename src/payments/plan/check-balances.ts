import { formatUiAmount, parseAmount } from '../../amount.js';
import { TransportError } from '../../errors.js';
import { isTokenProgram, pinnedMint, WSOL_MINT } from '../../network.js';
import { isAddress } from '../../solana/address.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { decodeMint } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import type { TokenBalance } from '../../transport.js';
import type { PaymentContext } from '../context.js';
import { readAccounts } from './read-accounts.js';

/**
 * Throws `invalid_response` unless the answer has one balance for each requested mint, in that
 * order. The amounts of a balance must agree with each other and with a pinned mint's decimals.
 *
 * Does not check whether the wallet holds so much, because each payment asks the client's own node
 * for that.
 */
export function checkBalances(
  balances: readonly TokenBalance[],
  mints: readonly Address[] | undefined,
  network: string,
): void {
  const answer: unknown = balances;
  if (!Array.isArray(answer) || (mints !== undefined && answer.length !== mints.length))
    throw unusable('it has not one balance for each mint');
  balances.forEach((balance, index) => {
    const reason = reasonAgainst(balance, mints?.[index], network);
    if (reason !== undefined) throw unusable(reason);
  });
}

const DERIVED_AT_ONCE = 100;

/**
 * Throws `invalid_response` unless what a service claims is true: the token accounts are the
 * wallet's own, because a person may send tokens there. The client's own node shows the decimals of
 * mints that are not pinned, because a person judges amounts by them.
 */
export async function checkClaims(
  context: Pick<PaymentContext, 'config' | 'prices' | 'rpc' | 'transport'>,
  balances: readonly TokenBalance[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { config, prices, transport } = context;
  // The client's own transport has derived and read them itself.
  if (transport === prices) return;
  for (const [index, balance] of balances.entries()) {
    // To derive an account takes a third of a millisecond: other calls have their turn.
    if (index > 0 && index % DERIVED_AT_ONCE === 0) await config.runtime.sleep(0, signal);
    if (!isOwnAccount(config.signer.address, balance))
      throw unusable('a token account in it is not the one of the wallet');
  }
  const claimed = balances.filter(({ mint }) => pinnedMint(config.network, mint) === undefined);
  const read = await readAccounts(context, [...new Set(claimed.map(({ mint }) => mint))], signal);
  for (const { mint, decimals } of claimed) {
    const account = read.get(mint)?.account;
    if (!account || decodeMint(account)?.decimals !== decimals)
      throw unusable('it counts a token in other decimals than its mint');
  }
}

function isOwnAccount(
  wallet: Address,
  { mint, tokenProgram, tokenAccount }: TokenBalance,
): boolean {
  if (!isTokenProgram(tokenProgram)) return false;
  const isSol = mint === WSOL_MINT && tokenAccount === wallet;
  return isSol || tokenAccount === associatedTokenAddress(wallet, mint, tokenProgram);
}

function reasonAgainst(
  { mint, amount, decimals, uiAmount }: TokenBalance,
  requestedMint: Address | undefined,
  network: string,
): string | undefined {
  if (requestedMint !== undefined && mint !== requestedMint)
    return 'it has the balance of another mint';
  if (!isAddress(mint)) return 'a mint in it is none';
  const units = parseAmount(amount);
  if (units === undefined || !Number.isInteger(decimals) || decimals < 0 || decimals > 255)
    return 'an amount in it is none';
  if (uiAmount !== formatUiAmount(units, decimals))
    return 'an amount in it does not agree with itself';
  return (pinnedMint(network, mint)?.decimals ?? decimals) === decimals
    ? undefined
    : 'it counts a known token in other decimals';
}

function unusable(reason: string): TransportError {
  return new TransportError(
    'invalid_response',
    `The balances cannot be used: ${reason}. Try again, or use another service.`,
    { details: { service: 'service', reason } },
  );
}
