/** A base58 public key. */
export type Address = string;

/** An account in an instruction, with the rights that the instruction needs. */
export interface AccountMeta {
  readonly address: Address;
  readonly signer: boolean;
  readonly writable: boolean;
}

/** An instruction in plain data: other folders need not know web3.js. */
export interface Instruction {
  readonly program: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: Uint8Array;
}

export interface LookupTable {
  readonly address: Address;
  readonly addresses: readonly Address[];
}

/**
 * A blockhash, the last block height at which a transaction with it can land, and the slot of the
 * reply. All come from one reply.
 */
export interface Lifetime {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
  readonly slot: number;
}
