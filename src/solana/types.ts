/** A base58 public key. */
export type Address = string;

/** An account as an instruction names it. */
export interface AccountMeta {
  readonly address: Address;
  readonly signer: boolean;
  readonly writable: boolean;
}

/**
 * One instruction, in plain data: what other folders build and read; only this folder knows
 * web3.js.
 */
export interface Instruction {
  readonly program: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: Uint8Array;
}

/** The contents of an address lookup table, as fetched by us. */
export interface LookupTable {
  readonly address: Address;
  readonly addresses: readonly Address[];
}

/**
 * A blockhash and the last block height at which a transaction with it can land; always one pair
 * from one reply.
 */
export interface Lifetime {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}
