/** Units of caps and costs. Any other unit is a mint, and counts its base units. */
export const USD = 'USD';
/** The part of `USD` that swaps lost: the value that they took, less the value they brought. */
export const USD_OF_SWAPS = 'USD of swaps';
/** The part of `USD` for network fees and rent. */
export const USD_OF_FEES = 'USD of fees';
export const PAYMENTS = 'payments';
export const SWAPS = 'swaps';
/** Lamports of network fees and rent. */
export const LAMPORTS = 'lamports';
