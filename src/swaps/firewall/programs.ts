import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  JUPITER_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../network.js';
import type { Address } from '../../solana/types.js';

/** All that a transaction around a swap calls. */
export const swapPrograms: ReadonlySet<Address> = new Set([
  ...[
    COMPUTE_BUDGET_PROGRAM,
    SYSTEM_PROGRAM,
    ASSOCIATED_TOKEN_PROGRAM,
    TOKEN_PROGRAM,
    TOKEN_2022_PROGRAM,
    JUPITER_PROGRAM,
  ],
]);
