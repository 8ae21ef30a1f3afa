import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { Address } from '../../solana/types.js';
import type { SwapExpectation } from './swap-rules.js';
import { type Placed, transferredChecked } from './placed-instructions.js';

/** Returns the payer of a swap's fees and rents: the relayer if there is one, else the wallet. */
export function feePayerOf({ wallet, relay }: Pick<SwapExpectation, 'wallet' | 'relay'>): Address {
  return relay?.feePayer ?? wallet;
}

/** Returns the relayer's fee in base units of a mint; 0n if its fee is in another token. */
export function relayFeeIn({ relay }: Pick<SwapExpectation, 'relay'>, mint: Address): bigint {
  return relay?.mint === mint ? relay.amount : 0n;
}

/** The transfer of a relayer's fee, as the transaction must contain it. */
interface RelayFee {
  readonly source: Address;
  readonly destination: Address;
  readonly mint: Address;
  readonly tokenProgram: Address;
  readonly amount: bigint;
}

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

export function isRelayFee({ instruction, before }: Placed, expected: SwapExpectation): boolean {
  const fee = relayFeeOf(expected);
  if (before || fee?.tokenProgram !== instruction.program) return false;
  const { source, mint, destination, amount } = fee;
  return transferredChecked(instruction, [source, mint, destination, expected.wallet]) === amount;
}
