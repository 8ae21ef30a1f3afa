import { U64_MAX } from '../../amount.js';
import { TransactionError } from '../../errors.js';
import { isSameList } from '../../internal/bytes.js';
import { isTokenProgram } from '../../network.js';
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM } from '../../solana/programs.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { decodeMessage, type DecodedInstruction } from '../../solana/transactions/transaction.js';
import type { Address } from '../../solana/types.js';
import type { PaymentFacts } from '../protocol.js';

interface PlainInstruction {
  readonly program: Address;
  readonly accounts: readonly Address[];
  readonly data: Uint8Array;
}

/**
 * Decodes a payment message without the code that built it, and throws unless it is exactly the
 * expected payment (security.md 4.7). The wallet must not sign what it does not understand.
 *
 * @throws {TransactionError} `self_check_failed`.
 */
export function checkOwnPayment(message: Uint8Array, expected: PaymentFacts): void {
  checkFacts(expected);
  const actual = decodeMessage(message);
  if (actual === undefined || actual.lookups.length > 0)
    throw failed('it is not a v0 message without lookup tables');
  const { header, staticAccounts: keys } = actual;
  const wanted = expectedInstructions(expected);
  // Two signers, two token accounts, the mint, and the programs. Each instruction has its own
  // program, but the first two share the compute budget program.
  const keyCount = 5 + wanted.length - 1;
  if (keys.length !== keyCount || new Set(keys).size !== keyCount)
    throw failed('it names other accounts than the payment needs');
  const isHeaderRight =
    header.numRequiredSignatures === 2 &&
    header.numReadonlySigned === 1 &&
    header.numReadonlyUnsigned === keyCount - 4;
  if (!isHeaderRight) throw failed('its signers or writable accounts differ');
  if (keys[0] !== expected.offer.feePayer || keys[1] !== expected.payer)
    throw failed('its signers differ');
  const writable = keys.slice(2, 4);
  if (![expected.source, expected.destination].every((key) => writable.includes(key)))
    throw failed('its writable accounts differ');
  if (actual.blockhash !== expected.blockhash) throw failed('its blockhash differs');
  if (actual.instructions.length !== wanted.length)
    throw failed('it has another number of instructions');
  wanted.forEach((want, index) => {
    if (!isSameInstruction(actual.instructions[index], keys, want))
      throw failed(`its instruction ${index + 1} differs`);
  });
}

/** Derives the accounts from the offer again, so that it need not trust earlier code. */
function checkFacts(facts: PaymentFacts): void {
  const { offer, payer, source, destination, tokenProgram, decimals, nonce, price } = facts;
  if (!isTokenProgram(tokenProgram)) throw failed('the token program is not a token program');
  if (source !== associatedTokenAddress(payer, offer.mint, tokenProgram))
    throw failed("the source is not the payer's token account");
  if (destination !== associatedTokenAddress(offer.payTo, offer.mint, tokenProgram))
    throw failed("the destination is not the payee's token account");
  if (offer.amount < 1n || offer.amount > U64_MAX)
    throw failed('the amount is not from 1 to 2^64-1');
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255)
    throw failed('the decimals are not one byte');
  if (nonce.length !== 16) throw failed('the nonce is not 16 bytes');
  if (price < 1n || price > 1_000_000n)
    throw failed('the compute unit price is not from 1 to 1000000');
}

function expectedInstructions(facts: PaymentFacts): PlainInstruction[] {
  const { offer, payer, source, destination, tokenProgram, decimals, nonce, price } = facts;
  const { mint, memo, takesMemo } = offer;
  const hasOwnMemo = memo === undefined && takesMemo;
  const limit = {
    program: COMPUTE_BUDGET_PROGRAM,
    accounts: [],
    data: littleEndian(2, 20_000n, 4),
  };
  const fee = {
    program: COMPUTE_BUDGET_PROGRAM,
    accounts: [],
    data: littleEndian(3, hasOwnMemo ? 1n : price, 8),
  };
  const transfer = {
    program: tokenProgram,
    accounts: [source, mint, destination, payer],
    data: Uint8Array.of(...littleEndian(12, offer.amount, 8), decimals),
  };
  const text = hasOwnMemo
    ? Array.from(nonce, (byte) => byte.toString(16).padStart(2, '0')).join('')
    : memo;
  if (text === undefined) return [limit, fee, transfer];
  return [
    limit,
    fee,
    transfer,
    { program: MEMO_PROGRAM, accounts: [], data: new TextEncoder().encode(text) },
  ];
}

function littleEndian(discriminator: number, value: bigint, length: number): Uint8Array {
  return Uint8Array.of(
    discriminator,
    ...Array.from({ length }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn)),
  );
}

function isSameInstruction(
  actual: DecodedInstruction | undefined,
  keys: readonly Address[],
  wanted: PlainInstruction,
): boolean {
  if (actual === undefined || keys[actual.programIndex] !== wanted.program) return false;
  const accounts = actual.accountIndexes.map((index) => keys[index]);
  return isSameList(accounts, wanted.accounts) && isSameList(actual.data, wanted.data);
}

function failed(reason: string): TransactionError<'self_check_failed'> {
  return new TransactionError(
    'self_check_failed',
    `The built payment is not the one asked for: ${reason}. Nothing was signed; report this.`,
    { details: { reason } },
  );
}
