import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  compileTransaction,
  createTransactionMessage,
  getTransactionEncoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Instruction as KitInstruction,
} from '@solana/kit';
import { describe, expect, it } from 'vitest';
import { routeV2 } from '../../../adapters/sandbox/venue/venue.mjs';
import { isExactChangeError } from '../../../src/errors.js';
import { extractSwapInstruction, lookupTablesOf } from '../../../src/swap/extract.js';
import { BLOCKHASH, STRANGER, VENUE_SWAP, WALLET, fromKit, someKey } from './support.js';

const swap = routeV2({ ...VENUE_SWAP, inAmount: 10n, quotedOutAmount: 10n });
const system = (data: number[], extra: KitInstruction['accounts'] = []): KitInstruction => ({
  programAddress: address('11111111111111111111111111111111'),
  accounts: [{ address: WALLET, role: AccountRole.WRITABLE_SIGNER }, ...extra],
  data: Uint8Array.from(data),
});
const drain = system([2, 0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 0], [{ address: STRANGER, role: AccountRole.WRITABLE }]);

function transaction(instructions: readonly KitInstruction[], feePayer: string = WALLET): Uint8Array {
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(address(feePayer), draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash({ blockhash: BLOCKHASH as never, lastValidBlockHeight: 1n }, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  );
  return new Uint8Array(getTransactionEncoder().encode(compileTransaction(message)));
}

const ruleOf = (bytes: Uint8Array) => {
  try {
    extractSwapInstruction(bytes, [], WALLET);
    return undefined;
  } catch (error) {
    if (isExactChangeError(error, 'unsafe_swap')) return error.details.rule;
    throw error;
  }
};

describe('extractSwapInstruction', () => {
  it('takes the one swap instruction and leaves the rest behind', () => {
    const taken = extractSwapInstruction(transaction([drain, swap, drain]), [], WALLET);
    expect(taken.program).toBe(swap.programAddress);
    expect([...taken.data]).toEqual([...swap.data]);
    expect(taken.accounts.map((one) => one.address)).toEqual(fromKit(swap).accounts.map((one) => one.address));
    expect(taken.accounts.filter((one) => one.signer).map((one) => one.address)).toEqual([WALLET]);
    expect(lookupTablesOf(transaction([swap]))).toEqual([]);
  });

  const good = transaction([swap]);
  const signed = good.slice();
  signed[1] = 1;

  it.each<[string, string, Uint8Array]>([
    ['no swap', 'one_swap', transaction([drain])],
    ['two swaps', 'one_swap', transaction([swap, swap])],
    ['another fee payer', 'transaction_fee_payer', transaction([swap], STRANGER)],
    [
      'a second signer',
      'transaction_signers',
      transaction([swap, system([2], [{ address: STRANGER, role: AccountRole.READONLY_SIGNER }])]),
    ],
    ['a signature in it', 'transaction_presigned', signed],
    ['a durable nonce', 'durable_nonce', transaction([system([4, 0, 0, 0]), swap])],
    ['a durable nonce that is not first', 'durable_nonce', transaction([swap, system([4, 0, 0, 0])])],
    ['thirteen instructions', 'transaction_length', transaction([swap, ...Array.from({ length: 12 }, () => drain)])],
    ['a byte too many', 'transaction_encoding', Uint8Array.from([...good, 0])],
    ['a byte too few', 'transaction_encoding', good.slice(0, -1)],
    ['nothing', 'transaction_encoding', new Uint8Array()],
    ['2,000 bytes', 'transaction_encoding', new Uint8Array(2_000)],
  ])('refuses a transaction with %s', (_, rule, bytes) => {
    expect(ruleOf(bytes)).toBe(rule);
  });

  it('refuses an index that its tables do not have', () => {
    const table = someKey(120);
    const bytes = withLookup(transaction([swap]), table);
    expect(lookupTablesOf(bytes)).toEqual([table]);
    expect(ruleOf(bytes)).toBe('transaction_accounts');
    expect(() => extractSwapInstruction(bytes, [{ address: table, addresses: [STRANGER] }], WALLET)).not.toThrow();
    // The table holds what is a static key already.
    expect(() => extractSwapInstruction(bytes, [{ address: table, addresses: [WALLET] }], WALLET)).toThrow();
  });
});

/** The same transaction with one lookup table at its end, which loads its first entry read-only. */
function withLookup(bytes: Uint8Array, table: string): Uint8Array {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  let n = Array.from(table).reduce((total, digit) => total * 58n + BigInt(alphabet.indexOf(digit)), 0n);
  const key = new Uint8Array(32);
  for (let at = 31; at >= 0; at--, n >>= 8n) key[at] = Number(n & 255n);
  return Uint8Array.from([...bytes.slice(0, -1), 1, ...key, 0, 1, 0]);
}
