import { formatUiAmount, parseAmount } from '../../amount.js';
import { TransportError } from '../../errors.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { TokenBalance } from '../../transport.js';

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

function reasonAgainst(
  { mint, amount, decimals, uiAmount }: TokenBalance,
  requestedMint: Address | undefined,
  network: string,
): string | undefined {
  if (requestedMint !== undefined && mint !== requestedMint)
    return 'it has the balance of another mint';
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
