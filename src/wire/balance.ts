import * as v from 'valibot';
import type { TokenBalance } from '../transport.js';
import { address, amount, count, mint, uiAmount, within } from './fields.js';

const MAX_MINTS = 100;

export const balanceRequest = v.strictObject(
  {
    wallet: address,
    mint: v.exactOptional(
      v.pipe(
        v.array(mint, 'must be a list of mints.'),
        v.maxLength(MAX_MINTS, `must be given at most ${MAX_MINTS} times.`),
      ),
    ),
  },
  'must be an object.',
);

export const tokenBalance: v.GenericSchema<unknown, TokenBalance> = v.object(
  {
    mint: address,
    amount,
    decimals: within(0, 255),
    uiAmount,
    tokenProgram: address,
    tokenAccount: address,
    slot: count,
  },
  'must be a balance.',
);

/** One balance if the request names one mint, otherwise a list. */
export const balanceResponse = v.union(
  [tokenBalance, v.array(tokenBalance)],
  'must be a balance or a list of balances.',
);
