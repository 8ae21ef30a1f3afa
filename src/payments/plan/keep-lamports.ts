/**
 * Lamports that a payment out of SOL leaves in the wallet for fees, and for the rent of accounts
 * that a swap may have to create. Before signing, the swap's actual need is checked.
 */
export const KEEP_LAMPORTS = 8_000_000n;
