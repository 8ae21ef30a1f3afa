import type { Address, Instruction } from '../../solana/types.js';
import { ownAccount, type SwapExpectation } from './swap-rules.js';
import {
  type SwapInPlace,
  type Placed,
  REVOKE,
  SET_AUTHORITY,
  CLOSE_AUTHORITY,
  WITHDRAW_EXCESS,
  namesExactly,
  keepsPlain,
  transferred,
  transferredChecked,
} from './placed-instructions.js';

export interface TokenGuard {
  readonly kind: 'least' | 'revoke' | 'close_authority';
  readonly account: Address;
  /** Base units that must be left, if the kind is `least`; else 0n. */
  readonly amount: bigint;
}

/**
 * Reads a guard instruction; undefined for any other instruction. Guard instructions follow the
 * swap and work on its source or output account: `TransferChecked` to the account itself, `Revoke`,
 * and `SetAuthority(CloseAccount, none)`.
 */
export function guardOf(
  { instruction, before }: Placed,
  expected: SwapExpectation,
): TokenGuard | undefined {
  const { wallet } = expected;
  const { data } = instruction;
  const leg = legOf(instruction, expected);
  if (before || leg === undefined) return undefined;
  const { account } = leg;
  const least = transferredChecked(instruction, [account, leg.mint, account, wallet]);
  if (least !== undefined) return { kind: 'least', account, amount: least };
  if (!namesExactly(instruction, [account, wallet])) return undefined;
  if (data[0] === REVOKE && data.length === 1) return { kind: 'revoke', account, amount: 0n };
  const dropsCloser =
    data[0] === SET_AUTHORITY && data.length === 3 && data[1] === CLOSE_AUTHORITY && data[2] === 0;
  return dropsCloser ? { kind: 'close_authority', account, amount: 0n } : undefined;
}

/**
 * Returns the source or output account from which an instruction before the swap withdraws the
 * lamports beyond its rent into the wallet; undefined for any other instruction.
 */
export function claimedBy(
  { instruction, before }: Placed,
  expected: SwapExpectation,
): Address | undefined {
  const { data } = instruction;
  const account = legOf(instruction, expected)?.account;
  const isClaim =
    before &&
    data.length === 1 &&
    data[0] === WITHDRAW_EXCESS &&
    namesExactly(instruction, [account, expected.wallet, expected.wallet]);
  return isClaim ? account : undefined;
}

/** Returns the side of the swap with the account that a token instruction names first. */
function legOf(
  { program, accounts }: Instruction,
  expected: SwapExpectation,
): { readonly mint: Address; readonly account: Address } | undefined {
  const { inputMint, inputProgram, outputMint, outputProgram } = expected;
  return [
    { mint: inputMint, tokenProgram: inputProgram },
    { mint: outputMint, tokenProgram: outputProgram },
  ]
    .filter(({ tokenProgram }) => tokenProgram === program)
    .map(({ mint, tokenProgram }) => ({ mint, account: ownAccount(expected, mint, tokenProgram) }))
    .find(({ account }) => account === accounts[0]?.address);
}

export interface GuardsFound {
  readonly tokens: readonly TokenGuard[];
  /**
   * Lamports that the wallet must have; 0n if the last instruction only checks that it is a plain
   * wallet. Undefined if the last instruction guards no wallet.
   */
  readonly lamports: bigint | undefined;
}

/**
 * Returns the lamports that the last instruction guards. A transfer of zero guards nothing, because
 * it succeeds even if the wallet was assigned to another program.
 */
function floorIn(instruction: Instruction, wallet: Address): bigint | undefined {
  const moved = transferred(instruction, wallet, wallet);
  if (moved !== undefined) return moved === 0n ? undefined : moved;
  return keepsPlain(instruction, wallet) ? 0n : undefined;
}

/** Returns the unbroken run of guard instructions at the end of a transaction. */
export function guardsIn({ instructions, swapAt, expected }: SwapInPlace): GuardsFound {
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
