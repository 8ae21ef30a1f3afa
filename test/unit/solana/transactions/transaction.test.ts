import { address, getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit';
import { VersionedTransaction } from '@solana/web3.js';
import { base58 } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isExactChangeError } from '../../../../src/errors.js';
import { addressOf } from '../../../../src/solana/address.js';
import { transferLamports } from '../../../../src/solana/transactions/swap-instructions.js';
import { compileMessage } from '../../../../src/solana/transactions/compile.js';
import { resolveInstructions } from '../../../../src/solana/transactions/resolve.js';
import {
  assembleTransaction,
  decodeTransaction,
  firstSignature,
  messageSigners,
} from '../../../../src/solana/transactions/transaction.js';
import type { Instruction, LookupTable } from '../../../../src/solana/types.js';
import { inChaos, inTurn, share } from '../../../helpers/sampled.js';

const key = (seed: number) =>
  addressOf(
    Uint8Array.from({ length: 32 }, (_, index) =>
      index === 0 ? seed >> 8 : index === 31 ? seed & 0xff : 7,
    ),
  );
const payer = key(1);
const program = key(2);
const blockhash = key(3);
const table: LookupTable = {
  address: key(4),
  addresses: Array.from({ length: 40 }, (_, index) => key(1000 + index)),
};
const meta = (seed: number, signer = false, writable = false) => ({
  address: key(seed),
  signer,
  writable,
});

const mixed: Instruction[] = [
  {
    program,
    accounts: [
      meta(1, true, true),
      meta(1001, false, true),
      meta(1002),
      meta(20, true),
      meta(21, false, true),
    ],
    data: Uint8Array.of(9, 8, 7),
  },
  transferLamports({ from: payer, to: key(21), lamports: 5n }),
  { program: key(30), accounts: [], data: new Uint8Array(200) },
];
const message = compileMessage({
  feePayer: payer,
  instructions: mixed,
  blockhash,
  lookupTables: [table],
});
const wire = assembleTransaction(message, new Map([[payer, new Uint8Array(64).fill(5)]]));

function decoded(bytes: Uint8Array) {
  const result = decodeTransaction(bytes);
  if (result === undefined) throw new Error('did not decode');
  return result;
}

function encoded(bytes: Uint8Array): Uint8Array {
  const { signatures, message: body, staticAccounts } = decoded(bytes);
  return assembleTransaction(
    body,
    new Map(signatures.map((signature, index) => [staticAccounts[index] ?? '', signature])),
  );
}

describe('compileMessage', () => {
  it('writes a message that kit reads', () => {
    const transaction = getTransactionDecoder().decode(wire);
    expect(Object.keys(transaction.signatures)).toEqual([payer, key(20)]);
    const compiled = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
    expect(compiled.version).toBe(0);
    expect(compiled.lifetimeToken).toBe(blockhash);
    expect(compiled.header).toEqual({
      numSignerAccounts: 2,
      numReadonlySignerAccounts: 1,
      numReadonlyNonSignerAccounts: 3,
    });
    expect('addressTableLookups' in compiled && compiled.addressTableLookups).toEqual([
      { lookupTableAddress: address(table.address), readonlyIndexes: [2], writableIndexes: [1] },
    ]);
    expect(compiled.staticAccounts).toEqual(decoded(wire).staticAccounts);
  });

  it('keeps the given instructions', () => {
    const resolved = resolveInstructions(decoded(wire), [table]);
    // Rights apply to the whole transaction: key 21 is writable everywhere, and the payer signs
    // everywhere.
    expect(resolved).toEqual(mixed);
  });

  it('puts no signer or program into a table', () => {
    const greedy: LookupTable = { address: key(5), addresses: [payer, program, key(20), key(21)] };
    const compiled = decoded(
      assembleTransaction(
        compileMessage({
          feePayer: payer,
          instructions: mixed.slice(0, 1),
          blockhash,
          lookupTables: [greedy],
        }),
        new Map(),
      ),
    );
    expect(compiled.lookups).toEqual([{ table: greedy.address, writable: [3], readonly: [] }]);
  });

  it('accepts 1,232 bytes with signatures, and refuses 1,233', () => {
    const sized = (bytes: number) =>
      compileMessage({
        feePayer: payer,
        instructions: [{ program, accounts: [], data: new Uint8Array(bytes) }],
        blockhash,
      });
    const overhead = 1 + 64 + sized(1000).length - 1000;
    expect(assembleTransaction(sized(1232 - overhead), new Map())).toHaveLength(1232);
    for (const extra of [1, 2, 65, 66, 500, 40_000]) {
      expect(() => sized(1232 - overhead + extra)).toThrow(
        expect.objectContaining({
          code: 'transaction_too_large',
          details: { bytes: 1232 + extra + (extra === 40_000 ? 1 : 0) },
        }),
      );
    }
  });

  it('refuses more accounts than a message can name', () => {
    const instructions = [
      {
        program,
        accounts: Array.from({ length: 300 }, (_, index) => meta(2000 + index)),
        data: new Uint8Array(),
      },
    ];
    const attempt = () => compileMessage({ feePayer: payer, instructions, blockhash });
    expect(attempt).toThrow(expect.objectContaining({ code: 'transaction_too_large' }));
    try {
      attempt();
    } catch (error) {
      expect(isExactChangeError(error, 'transaction_too_large') && error.funds).toBe('untouched');
    }
  });

  it('refuses an invalid address or blockhash', () => {
    expect(() => compileMessage({ feePayer: 'x', instructions: [], blockhash })).toThrow(TypeError);
    expect(() => compileMessage({ feePayer: payer, instructions: [], blockhash: '2' })).toThrow(
      TypeError,
    );
    expect(() =>
      compileMessage({
        feePayer: payer,
        instructions: [{ program: '5', accounts: [], data: new Uint8Array() }],
        blockhash,
      }),
    ).toThrow(TypeError);
  });
});

describe('assembleTransaction', () => {
  it('leaves missing signatures zero, and keeps their order', () => {
    const assembled = assembleTransaction(
      message,
      new Map([[key(20), new Uint8Array(64).fill(9)]]),
    );
    expect(decoded(assembled).signatures.map((signature) => signature[0])).toEqual([0, 9]);
    expect(firstSignature(wire)).toBe(base58.encode(new Uint8Array(64).fill(5)));
    expect(messageSigners(message)).toEqual([payer, key(20)]);
  });

  it('refuses unknown signers and wrong lengths', () => {
    expect(() => assembleTransaction(message, new Map([[key(21), new Uint8Array(64)]]))).toThrow(
      TypeError,
    );
    expect(() => assembleTransaction(message, new Map([[payer, new Uint8Array(63)]]))).toThrow(
      TypeError,
    );
    expect(() => assembleTransaction(message.slice(1), new Map())).toThrow(TypeError);
    expect(() => firstSignature(wire.slice(1))).toThrow(TypeError);
  });
});

describe('decodeTransaction', () => {
  it('agrees with web3.js on a valid transaction', () => {
    const decodedByWeb3 = VersionedTransaction.deserialize(wire);
    expect(Uint8Array.from(decodedByWeb3.serialize())).toEqual(wire);
    expect(decodedByWeb3.message.staticAccountKeys.map(String)).toEqual(
      decoded(wire).staticAccounts,
    );
  });

  it('refuses every truncation and every extension', () => {
    for (let length = 0; length < wire.length; length += 1)
      expect(decodeTransaction(wire.slice(0, length))).toBeUndefined();
    expect(decodeTransaction(Uint8Array.of(...wire, 0))).toBeUndefined();
  });

  const BITS = [0, 1, 2, 3, 4, 5, 6, 7];

  it('never throws on a changed byte, and encodes an accepted transaction to the same bytes', () => {
    let accepted = 0;
    for (let index = 0; index < wire.length; index += 1) {
      for (const bit of share(BITS, inTurn(BITS, index))) {
        const flipped = wire.slice();
        flipped[index] = (flipped[index] ?? 0) ^ (1 << bit);
        if (decodeTransaction(flipped) === undefined) continue;
        accepted += 1;
        if (Buffer.compare(encoded(flipped), flipped) !== 0)
          expect.fail(`byte ${index}, bit ${bit}`);
        // Resolving may refuse, but never throws.
        resolveInstructions(decoded(flipped), [table]);
      }
    }
    expect(accepted).toBeGreaterThan(inChaos ? 875 : 125);
  });

  it('never throws on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1300 }), fc.boolean(), (noise, framed) => {
        const bytes = framed ? Uint8Array.of(1, ...new Uint8Array(64), 0x80, ...noise) : noise;
        const result = decodeTransaction(bytes);
        if (result !== undefined) expect(encoded(bytes)).toEqual(bytes);
      }),
    );
  });

  it('refuses other versions, impossible headers, wrong signature counts and long counts', () => {
    const at = 1 + 128;
    const patched = (offset: number, value: number) => {
      const copy = wire.slice();
      copy[offset] = value;
      return decodeTransaction(copy);
    };
    expect(patched(at, 0x81)).toBeUndefined();
    expect(patched(at, 2)).toBeUndefined();
    expect(patched(at + 1, 0)).toBeUndefined();
    expect(patched(at + 1, 1)).toBeUndefined();
    expect(patched(at + 2, 2)).toBeUndefined();
    expect(patched(at + 3, 200)).toBeUndefined();
    expect(patched(at + 3, 0)).toBeDefined();
    // The count 2 in two bytes: the same value in another encoding.
    expect(decodeTransaction(Uint8Array.of(0x82, 0x00, ...wire.slice(1)))).toBeUndefined();
    expect(decodeTransaction(new Uint8Array(5000))).toBeUndefined();
  });
});

describe('resolveInstructions', () => {
  const base = decoded(wire);

  it('refuses every transaction that the network refuses', () => {
    const [first, ...rest] = base.instructions;
    const [lookup] = base.lookups;
    if (first === undefined || lookup === undefined) throw new Error('nothing to change');
    const withFirst = (change: object) =>
      resolveInstructions({ ...base, instructions: [{ ...first, ...change }, ...rest] }, [table]);
    expect(withFirst({})).toBeDefined();
    expect(withFirst({ programIndex: 0 })).toBeUndefined();
    expect(withFirst({ programIndex: base.staticAccounts.length })).toBeUndefined();
    expect(withFirst({ accountIndexes: [base.staticAccounts.length + 2] })).toBeUndefined();
    expect(resolveInstructions(base, [])).toBeUndefined();
    expect(
      resolveInstructions(base, [{ ...table, addresses: table.addresses.slice(0, 2) }]),
    ).toBeUndefined();
    expect(resolveInstructions({ ...base, lookups: [lookup, lookup] }, [table])).toBeUndefined();
    expect(
      resolveInstructions({ ...base, lookups: [{ ...lookup, writable: [1, 1] }] }, [table]),
    ).toBeUndefined();
    expect(
      resolveInstructions(base, [{ ...table, addresses: [payer, payer, payer] }]),
    ).toBeUndefined();
  });
});
