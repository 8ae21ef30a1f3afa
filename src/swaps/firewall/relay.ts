import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import type { SwapExpectation } from './instruction-rules.js';
import { names, type Placed, TRANSFER_CHECKED } from './placed-instructions.js';

/** What pays the fees and rents of a swap: the wallet itself, unless a relayer does. */
export function feePayerOf({ wallet, relay }: Pick<SwapExpectation, 'wallet' | 'relay'>): Address {
  return relay?.feePayer ?? wallet;
}

/** Base units that a relayer takes of a token of the swap. */
export function relayFeeIn({ relay }: Pick<SwapExpectation, 'relay'>, mint: Address): bigint {
  return relay?.mint === mint ? relay.amount : 0n;
}

/** The transfer of a relayer's fee, as it has to stand in the transaction. */
interface RelayFee {
  readonly source: Address;
  readonly destination: Address;
  readonly mint: Address;
  readonly tokenProgram: Address;
  readonly amount: bigint;
}

/** Undefined if no fee is taken. */
export function relayFeeOf(expected: SwapExpectation): RelayFee | undefined {
  const { wallet, relay, inputMint, inputProgram, outputProgram } = expected;
  if (relay === undefined || relay.amount === 0n) return undefined;
  const { mint, payTo, amount } = relay;
  const tokenProgram = mint === inputMint ? inputProgram : outputProgram;
  return {
    source: associatedTokenAddress(wallet, mint, tokenProgram),
    destination: associatedTokenAddress(payTo, mint, tokenProgram),
    mint,
    tokenProgram,
    amount,
  };
}

/** Whether an instruction is the transfer of the relayer's fee, to the last base unit. */
export function isRelayFee({ instruction, before }: Placed, expected: SwapExpectation): boolean {
  const fee = relayFeeOf(expected);
  const { program, data } = instruction;
  if (before || fee?.tokenProgram !== program) return false;
  if (data[0] !== TRANSFER_CHECKED || data.length !== 10) return false;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return (
    names(instruction, [fee.source, fee.mint, fee.destination, expected.wallet]) &&
    view.getBigUint64(1, true) === fee.amount
  );
}
