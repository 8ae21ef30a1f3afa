import { parseUiAmount } from '../amount.js';
import { refuse, refuseUnknown } from '../internal/options.js';
import { pinnedMint, type PinnedMint } from '../network.js';

/**
 * Keeps a float of a dollar token, so that calls need not wait for a swap.
 *
 * @example
 * const topUp: TopUpOptions = { token: 'USDC', below: '0.50', to: '2.00' };
 */
export interface TopUpOptions {
  /** A pinned dollar token, by its symbol or mint. */
  readonly token: string;
  /**
   * Decimal text of the token: if the wallet can spend less, a swap starts once a call has been
   * paid.
   */
  readonly below: string;
  /** Decimal text of the token: the amount that the swap fills the float up to. */
  readonly to: string;
}

/** A float to keep; amounts in base units. */
export interface TopUp extends PinnedMint {
  readonly below: bigint;
  readonly to: bigint;
}

/** Checks the options of a top-up. Throws `ConfigError` (`invalid_option`). */
export function readTopUp(options: TopUpOptions | undefined, network: string): TopUp | undefined {
  if (options === undefined) return undefined;
  refuseUnknown(options, ['token', 'below', 'to'], 'policy.topUp');
  const { token } = options;
  const pinned = typeof token === 'string' ? pinnedMint(network, token) : undefined;
  if (pinned?.dollar !== true)
    throw refuse('policy.topUp.token', 'must be a pinned dollar token such as "USDC".');
  const read = (name: 'below' | 'to') => {
    const amount = parseUiAmount(options[name], pinned.decimals);
    if (amount === undefined || amount === 0n)
      throw refuse(
        `policy.topUp.${name}`,
        `must be an amount of ${pinned.symbol} above 0 as text such as "0.50".`,
      );
    return amount;
  };
  const [below, to] = [read('below'), read('to')];
  if (below >= to) throw refuse('policy.topUp.below', 'must be less than policy.topUp.to.');
  return Object.freeze({ ...pinned, below, to });
}
