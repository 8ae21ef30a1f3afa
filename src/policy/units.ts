/** Units of caps and costs; others are mints, and count their base units. */
export const USD = 'USD';
/** Of the dollars: what swaps took beyond what they brought. */
export const USD_OF_SWAPS = 'USD of swaps';
/** Of the dollars: network fees and rent. */
export const USD_OF_FEES = 'USD of fees';
export const PAYMENTS = 'payments';
export const SWAPS = 'swaps';
/** Network fees and rent. */
export const LAMPORTS = 'lamports';
