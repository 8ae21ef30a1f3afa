import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  compileTransaction,
  createTransactionMessage,
  getAddressEncoder,
  getTransactionEncoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Instruction as KitInstruction,
} from '@solana/kit';
import { describe, expect, it } from 'vitest';
import { routeV2 } from '../../../../adapters/sandbox/venue/venue.mjs';
import { isExactChangeError } from '../../../../src/errors.js';
import { extractSwap } from '../../../../src/swaps/firewall/extract.js';
import type { Account } from '../../../../src/solana/rpc/rpc.js';
import { BLOCKHASH, STRANGER, VENUE_SWAP, WALLET, fromKit, someKey } from '../support.js';
import { swapDecoders as decoders } from '../../../../src/swaps/sources.js';

const swap = routeV2({ ...VENUE_SWAP, inAmount: 10n, quotedOutAmount: 10n });
const system = (data: number[], extra: KitInstruction['accounts'] = []): KitInstruction => ({
  programAddress: address('11111111111111111111111111111111'),
  accounts: [{ address: WALLET, role: AccountRole.WRITABLE_SIGNER }, ...extra],
  data: Uint8Array.from(data),
});
const drain = system(
  [2, 0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 0],
  [{ address: STRANGER, role: AccountRole.WRITABLE }],
);

function transaction(
  instructions: readonly KitInstruction[],
  feePayer: string = WALLET,
): Uint8Array {
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(address(feePayer), draft),
    (draft) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: BLOCKHASH as never, lastValidBlockHeight: 1n },
        draft,
      ),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  );
  return new Uint8Array(getTransactionEncoder().encode(compileTransaction(message)));
}

/** A node with these accounts at slot 100. */
function nodeWith(accounts: Readonly<Record<string, Account>>) {
  return {
    accounts: (asked: readonly string[]) =>
      Promise.resolve({ slot: 100, accounts: asked.map((key) => accounts[key] ?? null) }),
  };
}

const extract = (transaction: unknown, accounts: Readonly<Record<string, Account>> = {}) =>
  extractSwap(nodeWith(accounts), transaction, WALLET, { decoders });

const ruleOf = (
  transaction: unknown,
  accounts: Readonly<Record<string, Account>> = {},
): Promise<string | undefined> =>
  extract(transaction, accounts).then(
    () => undefined,
    (error: unknown) => {
      if (isExactChangeError(error, 'unsafe_swap')) return error.details.rule;
      throw error;
    },
  );

describe('extractSwap', () => {
  it('takes the swap instruction, and drops the rest of the transaction', async () => {
    const { instruction: taken, lookupTables } = await extract(transaction([drain, swap, drain]));
    expect(taken.program).toBe(swap.programAddress);
    expect([...taken.data]).toEqual([...swap.data]);
    expect(taken.accounts.map((account) => account.address)).toEqual(
      fromKit(swap).accounts.map((account) => account.address),
    );
    expect(
      taken.accounts.filter((account) => account.signer).map((account) => account.address),
    ).toEqual([WALLET]);
    expect(lookupTables).toEqual([]);
    const text = Buffer.from(transaction([swap])).toString('base64');
    expect((await extract(text)).instruction).toEqual(taken);
  });

  const good = transaction([swap]);
  const signed = good.slice();
  signed[1] = 1;

  it.each<[string, string, unknown]>([
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
    [
      'a durable nonce that is not first',
      'durable_nonce',
      transaction([swap, system([4, 0, 0, 0])]),
    ],
    [
      'fifteen instructions',
      'transaction_length',
      transaction([swap, ...Array.from({ length: 14 }, () => drain)]),
    ],
    ['a byte too many', 'transaction_encoding', Uint8Array.from([...good, 0])],
    ['a byte too few', 'transaction_encoding', good.slice(0, -1)],
    ['no bytes', 'transaction_encoding', new Uint8Array()],
    ['2,000 bytes', 'transaction_encoding', new Uint8Array(2_000)],
    ['a space in its text', 'transaction_encoding', `${Buffer.from(good).toString('base64')} `],
    ['text that is too long', 'transaction_encoding', 'A'.repeat(1_648)],
    ['an object in place of bytes', 'transaction_encoding', { toString: () => 'AAAA' }],
    ['undefined in place of bytes', 'transaction_encoding', undefined],
  ])('refuses a transaction with %s', async (_, rule, bytes) => {
    expect(await ruleOf(bytes)).toBe(rule);
  });

  const table = someKey(120);
  const looking = withLookup(transaction([swap]), table);

  it('accepts accounts from tables that the node has', async () => {
    expect((await extract(looking, { [table]: tableOf([STRANGER]) })).lookupTables).toEqual([
      table,
    ]);
  });

  it.each<[string, string, Readonly<Record<string, Account>>]>([
    ['that is not there', 'lookup_table_owner', {}],
    [
      'of another program',
      'lookup_table_owner',
      { [table]: { ...tableOf([STRANGER]), owner: STRANGER } },
    ],
    [
      'that is being closed',
      'lookup_table_inactive',
      { [table]: tableOf([STRANGER], { closedAt: 5n }) },
    ],
    ['without the entry', 'lookup_table_entry', { [table]: tableOf([]) }],
    [
      'with an entry that is new in this slot',
      'lookup_table_entry',
      { [table]: tableOf([STRANGER], { extendedAt: 100n }) },
    ],
    ['that holds a key of the transaction', 'transaction_accounts', { [table]: tableOf([WALLET]) }],
  ])('refuses a table %s', async (_, rule, accounts) => {
    expect(await ruleOf(looking, accounts)).toBe(rule);
  });

  it('reads a table again that it has read before', async () => {
    const accounts: Record<string, Account> = { [table]: tableOf([]) };
    const node = nodeWith(accounts);
    await expect(extractSwap(node, looking, WALLET, { decoders })).rejects.toMatchObject({
      details: { rule: 'lookup_table_entry' },
    });
    accounts[table] = tableOf([STRANGER]);
    expect((await extractSwap(node, looking, WALLET, { decoders })).lookupTables).toEqual([table]);
  });
});

/** The bytes of a lookup table, as its program writes them. */
function tableOf(
  addresses: readonly string[],
  { closedAt = 2n ** 64n - 1n, extendedAt = 50n } = {},
): Account {
  const data = new Uint8Array(56 + 32 * addresses.length);
  const view = new DataView(data.buffer);
  view.setUint32(0, 1, true);
  view.setBigUint64(4, closedAt, true);
  view.setBigUint64(12, extendedAt, true);
  addresses.forEach((entry, index) =>
    data.set(getAddressEncoder().encode(address(entry)), 56 + 32 * index),
  );
  return {
    owner: 'AddressLookupTab1e1111111111111111111111111',
    lamports: 1n,
    data,
    executable: false,
  };
}

/** The transaction with a lookup table at its end, which loads its first entry as read-only. */
function withLookup(bytes: Uint8Array, table: string): Uint8Array {
  const key = getAddressEncoder().encode(address(table));
  return Uint8Array.from([...bytes.slice(0, -1), 1, ...key, 0, 1, 0]);
}
