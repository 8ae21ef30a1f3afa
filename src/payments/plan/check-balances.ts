import { formatUiAmount, parseAmount } from '../../amount.js';
import { TransportError } from '../../errors.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { TokenBalance } from '../../transport.js';

/**
 * Throws `invalid_response` unless balances, from wherever they came, are of the mints that were
 * asked for, one each in that order, and agree with themselves and with what is pinned of a mint.
 * Whether the wallet holds so much is for its own node to say: every payment asks that.
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
    const reason = wrong(balance, mints?.[index], network);
    if (reason !== undefined) throw unusable(reason);
  });
}

function wrong(
  { mint, amount, decimals, uiAmount }: TokenBalance,
  asked: Address | undefined,
  network: string,
): string | undefined {
  if (asked !== undefined && mint !== asked) return 'it has the balance of another mint';
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
    {
      details: { service: 'service', reason },
    },
  );
}
