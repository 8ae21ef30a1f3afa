import type { SwapMode } from '../types.js';

/** A V1 form of Jupiter's swap instruction; numbers are positions in its accounts and data. */
export interface SwapFormV1 {
  readonly name: string;
  readonly mode: SwapMode;
  readonly user: number;
  readonly source: number;
  readonly destination: number;
  /** Optional account that gets the output instead of `destination`; absent if the form has none. */
  readonly destinationOverride?: number;
  /** Absent if the form does not name it: then only the source account tells the mint. */
  readonly sourceMint?: number;
  readonly destinationMint: number;
  /**
   * A token program of either side. The form does not say which side it belongs to, so the token
   * accounts must prove that.
   */
  readonly tokenProgram: number;
  /** Optional Token-2022 program, beside `tokenProgram`; absent if the form has none. */
  readonly token2022Program?: number;
  /** Optional account that takes a platform fee. */
  readonly feeAccount: number;
  readonly eventAuthority: number;
  /**
   * Jupiter's own program id, as Anchor's event CPI wants it. The same id also replaces each
   * optional account that is left out.
   */
  readonly self: number;
  /**
   * Offset of the route plan. The amounts follow it: input and quoted output, or output and quoted
   * input.
   */
  readonly plan: number;
}

const plain = {
  tokenProgram: 0,
  user: 1,
  source: 2,
  destination: 3,
  destinationOverride: 4,
  plan: 8,
};
const route = { ...plain, destinationMint: 5, feeAccount: 6, eventAuthority: 7, self: 8 };
const exactOut = {
  ...plain,
  sourceMint: 5,
  destinationMint: 6,
  feeAccount: 7,
  token2022Program: 8,
  eventAuthority: 9,
  self: 10,
};
// Accounts 1, 4 and 5 are the program's own authority and its two token accounts. The authority's id
// is one byte of data before the plan.
const shared = {
  ...{ tokenProgram: 0, user: 2, source: 3, destination: 6, sourceMint: 7, destinationMint: 8 },
  ...{ feeAccount: 9, token2022Program: 10, eventAuthority: 11, self: 12, plan: 9 },
};

/**
 * Jupiter's V1 forms, by discriminator in hex. Forms with a token ledger are left out, because they
 * take their input amount from another account.
 */
export const v1Forms: ReadonlyMap<string, SwapFormV1> = new Map([
  ['e517cb977ae3ad2a', { name: 'route', mode: 'ExactIn', ...route }],
  ['d033ef977b2bed5c', { name: 'exact_out_route', mode: 'ExactOut', ...exactOut }],
  ['c1209b3341d69c81', { name: 'shared_accounts_route', mode: 'ExactIn', ...shared }],
  ['b0d169a89a7d453e', { name: 'shared_accounts_exact_out_route', mode: 'ExactOut', ...shared }],
]);
