import type { Address } from '@solana/kit';
import { view } from './bytes.js';
import type { WireTransaction } from './wire.js';

const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111';
const LAMPORTS_PER_SIGNATURE = 5_000n;
const DEFAULT_UNITS = 200_000n;
const BUILTIN_UNITS = 3_000n;
const MAX_UNITS = 1_400_000n;
const BUILTINS: ReadonlySet<string> = new Set(['11111111111111111111111111111111', COMPUTE_BUDGET]);

/** Returns the micro-lamports per compute unit that the transaction offers. */
export function unitPrice(transaction: WireTransaction): bigint {
  return budgetOf(transaction).price;
}

/** Returns the network fee of a transaction in lamports. */
export function feeOf(transaction: WireTransaction): bigint {
  const { price, units } = budgetOf(transaction);
  return (
    BigInt(transaction.header.signers) * LAMPORTS_PER_SIGNATURE +
    (price * units + 999_999n) / 1_000_000n
  );
}

function budgetOf({ instructions, keys }: WireTransaction): { price: bigint; units: bigint } {
  let price = 0n;
  let limit: bigint | undefined;
  let fallback = 0n;
  for (const { programIndex, data } of instructions) {
    const program: Address | undefined = keys[programIndex];
    fallback += BUILTINS.has(program ?? '') ? BUILTIN_UNITS : DEFAULT_UNITS;
    if (program !== COMPUTE_BUDGET) continue;
    if (data[0] === 2 && data.length >= 5) limit = BigInt(view(data).getUint32(1, true));
    if (data[0] === 3 && data.length >= 9) price = view(data).getBigUint64(1, true);
  }
  const units = limit ?? fallback;
  return { price, units: units < MAX_UNITS ? units : MAX_UNITS };
}
