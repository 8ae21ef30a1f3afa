import {
  AddressLookupTableAccount,
  MessageV0,
  PublicKey,
  TransactionInstruction,
} from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { U64_MAX } from '../../../../src/amount.js';
import { addressOf } from '../../../../src/solana/address.js';
import { compileMessage, type MessageInput } from '../../../../src/solana/transactions/compile.js';

const key = (index: number) => addressOf(new Uint8Array(32).fill(index + 1));
const blockhash = key(99);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The message as web3.js compiles it. */
function compiledByWeb3({ feePayer, instructions, lookupTables = [] }: MessageInput): Uint8Array {
  const message = MessageV0.compile({
    payerKey: new PublicKey(feePayer),
    recentBlockhash: blockhash,
    instructions: instructions.map(
      ({ program, accounts, data }) =>
        new TransactionInstruction({
          programId: new PublicKey(program),
          keys: accounts.map(({ address, signer, writable }) => ({
            pubkey: new PublicKey(address),
            isSigner: signer,
            isWritable: writable,
          })),
          data: Buffer.from(data),
        }),
    ),
    addressLookupTableAccounts: lookupTables.map(
      ({ address, addresses }) =>
        new AddressLookupTableAccount({
          key: new PublicKey(address),
          state: {
            deactivationSlot: U64_MAX,
            lastExtendedSlot: 0,
            lastExtendedSlotStartIndex: 0,
            addresses: addresses.map((entry) => new PublicKey(entry)),
          },
        }),
    ),
  });
  return Uint8Array.from(message.serialize());
}

// Few addresses, so that an address repeats with different rights and in tables.
const address = fc.integer({ min: 0, max: 17 }).map(key);
const meta = fc.record({ address, signer: fc.boolean(), writable: fc.boolean() });
const instruction = fc.record({
  program: address,
  accounts: fc.array(meta, { maxLength: 10 }),
  data: fc.uint8Array({ maxLength: 140 }),
});
const table = fc.record({
  address: fc.integer({ min: 30, max: 33 }).map(key),
  addresses: fc.array(address, { maxLength: 12 }),
});

describe('compileMessage', () => {
  it('writes the same bytes as web3.js', () => {
    fc.assert(
      fc.property(
        address,
        fc.array(instruction, { maxLength: 5 }),
        fc.array(table, { maxLength: 3 }),
        (feePayer, instructions, lookupTables) => {
          // The message must fit a packet together with its signatures.
          fc.pre(instructions.reduce((sum, { data }) => sum + data.length, 0) < 300);
          const input = { feePayer, instructions, blockhash, lookupTables };
          let message: Uint8Array;
          try {
            message = compileMessage(input);
          } catch (error) {
            expect(error).toMatchObject({ code: 'transaction_too_large' });
            return;
          }
          // As text, because a comparison of bytes takes as long as the rest.
          expect(hex(message)).toBe(hex(compiledByWeb3(input)));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('finds an account by its first position in a table of 256', () => {
    const addresses = Array.from({ length: 256 }, (_, index) =>
      addressOf(new Uint8Array(32).fill(7).fill(index % 255, 0, 1)),
    );
    const accounts = [3, 254, 255].map((index) => ({
      address: addresses[index] ?? '',
      signer: false,
      writable: index > 200,
    }));
    const input = {
      feePayer: key(0),
      instructions: [{ program: key(1), accounts, data: Uint8Array.of(1, 2) }],
      blockhash,
      lookupTables: [{ address: key(30), addresses }],
    };
    expect(compileMessage(input)).toEqual(compiledByWeb3(input));
  });
});
