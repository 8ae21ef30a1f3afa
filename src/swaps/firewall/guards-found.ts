import type { Address, Instruction } from '../../solana/types.js';
import { ownAccount, type SwapExpectation } from './instruction-rules.js';
import {
  type SurroundingsSubject,
  type Placed,
  TRANSFER_CHECKED,
  REVOKE,
  SET_AUTHORITY,
  CLOSE_AUTHORITY,
  names,
  keepsPlain,
  transferred,
} from './placed-instructions.js';

/** One instruction of the guard on a token account of the wallet. */
export interface TokenGuard {
  readonly kind: 'least' | 'revoke' | 'close_authority';
  readonly account: Address;
  /** Base units, if the kind is `least`. */
  readonly amount: bigint;
}

/**
 * What an instruction guards, if it is one of the guard's: `TransferChecked` of the account to
 * itself, `Revoke`, and `SetAuthority(CloseAccount, none)`, on the source or the output, after the
 * swap.
 */
export function guardOf(
  { instruction, before }: Placed,
  expected: SwapExpectation,
): TokenGuard | undefined {
  const { wallet, inputMint, inputProgram, outputMint, outputProgram } = expected;
  const { program, data, accounts } = instruction;
  const account = accounts[0]?.address;
  const leg = [
    { mint: inputMint, tokenProgram: inputProgram },
    { mint: outputMint, tokenProgram: outputProgram },
  ].find(({ mint, tokenProgram }) => ownAccount(expected, mint, tokenProgram) === account);
  if (before || account === undefined || leg?.tokenProgram !== program) return undefined;
  if (
    data[0] === TRANSFER_CHECKED &&
    data.length === 10 &&
    names(instruction, [account, leg.mint, account, wallet])
  ) {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    return { kind: 'least', account, amount: view.getBigUint64(1, true) };
  }
  if (!names(instruction, [account, wallet])) return undefined;
  if (data[0] === REVOKE && data.length === 1) return { kind: 'revoke', account, amount: 0n };
  const dropsCloser =
    data[0] === SET_AUTHORITY && data.length === 3 && data[1] === CLOSE_AUTHORITY && data[2] === 0;
  return dropsCloser ? { kind: 'close_authority', account, amount: 0n } : undefined;
}

/** What the transaction itself makes sure of at its end. */
export interface GuardsFound {
  /** In the order in which they run. */
  readonly tokens: readonly TokenGuard[];
  /**
   * Lamports that the wallet must have; 0n if it must be a plain wallet and may have none, undefined
   * if the transaction does not end with either.
   */
  readonly lamports: bigint | undefined;
}

/** A transfer of nothing would not notice that the wallet was handed to another program. */
function floorIn(instruction: Instruction, wallet: Address): bigint | undefined {
  const moved = transferred({ instruction }, wallet, wallet);
  if (moved !== undefined) return moved === 0n ? undefined : moved;
  return keepsPlain({ instruction }, wallet) ? 0n : undefined;
}

/** The unbroken row of guard instructions at the end of a transaction. */
export function guardsIn({
  instructions,
  swapAt,
  expected,
}: Pick<SurroundingsSubject, 'instructions' | 'swapAt' | 'expected'>): GuardsFound {
  const last = instructions[instructions.length - 1];
  const lamports = last === undefined ? undefined : floorIn(last, expected.wallet);
  if (lamports === undefined) return { tokens: [], lamports };
  const tokens: TokenGuard[] = [];
  for (const instruction of instructions.slice(swapAt + 1, -1).reverse()) {
    const found = guardOf({ instruction, before: false, last: false }, expected);
    if (found === undefined) break;
    tokens.push(found);
  }
  return { tokens: tokens.reverse(), lamports };
}
