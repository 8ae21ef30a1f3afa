import type { SwapMode } from '../types.js';

/**
 * Where one V1 form of Jupiter's swap instruction keeps what matters; numbers are positions in its
 * accounts and data.
 */
export interface SwapFormV1 {
  readonly name: string;
  readonly mode: SwapMode;
  readonly user: number;
  readonly source: number;
  readonly destination: number;
  /** An optional account that gets the output instead; absent if the form has none. */
  readonly destinationOverride?: number;
  /**
   * Absent if the form does not name it: then only the source account says what is paid with.
   */
  readonly sourceMint?: number;
  readonly destinationMint: number;
  /**
   * One for both sides. The forms never say which side it is of: the token accounts must prove
   * that.
   */
  readonly tokenProgram: number;
  /** Optional: Token-2022 beside the other; absent if the form has none. */
  readonly token2022Program?: number;
  /** Optional: the account that takes a platform fee. */
  readonly feeAccount: number;
  readonly eventAuthority: number;
  /**
   * Jupiter's own program id, as Anchor's event CPI wants it. It also stands for each optional
   * account that is not there.
   */
  readonly self: number;
  /**
   * Offset at which the route plan begins. The amounts follow it: in and quoted out, or out and
   * quoted in.
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
// 1, 4 and 5 are the program's own authority and its two token accounts; the data begins with that
// authority's id, one byte.
const shared = {
  ...{ tokenProgram: 0, user: 2, source: 3, destination: 6, sourceMint: 7, destinationMint: 8 },
  ...{ feeAccount: 9, token2022Program: 10, eventAuthority: 11, self: 12, plan: 9 },
};

/**
 * Jupiter's V1 forms, by discriminator in hex. Those with a token ledger are left out: what they
 * pay is written elsewhere.
 */
export const v1Forms: ReadonlyMap<string, SwapFormV1> = new Map([
  ['e517cb977ae3ad2a', { name: 'route', mode: 'ExactIn', ...route }],
  ['d033ef977b2bed5c', { name: 'exact_out_route', mode: 'ExactOut', ...exactOut }],
  ['c1209b3341d69c81', { name: 'shared_accounts_route', mode: 'ExactIn', ...shared }],
  ['b0d169a89a7d453e', { name: 'shared_accounts_exact_out_route', mode: 'ExactOut', ...shared }],
]);
