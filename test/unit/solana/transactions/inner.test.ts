import { base58 } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
} from '../../../../src/solana/programs.js';
import { addressOf } from '../../../../src/solana/address.js';
import { Fault } from '../../../../src/solana/rpc/fault.js';
import { readInner } from '../../../../src/solana/transactions/inner.js';

type ShownCall = Readonly<Record<string, unknown>>;

const key = (seed: number) => addressOf(new Uint8Array(32).fill(seed));
const [A, B, C] = [key(1), key(2), key(3)];

const parsed = (program: string, value: unknown): ShownCall => ({
  programId: program,
  parsed: value,
});
const raw = (
  program: string,
  bytes: readonly number[],
  accounts: readonly string[] = [A, B],
): ShownCall => ({
  programId: program,
  accounts,
  data: base58.encode(Uint8Array.from(bytes)),
});
const read = (call: ShownCall) => readInner([{ index: 4, instructions: [call] }])[0];
const system = (opcode: number) => [opcode, 0, 0, 0];

/** Instruction names of Agave's `parse_system.rs`. */
const SYSTEM: readonly [number, string][] = [
  [0, 'createAccount'],
  [1, 'assign'],
  [2, 'transfer'],
  [3, 'createAccountWithSeed'],
  [4, 'advanceNonce'],
  [5, 'withdrawFromNonce'],
  [6, 'initializeNonce'],
  [7, 'authorizeNonce'],
  [8, 'allocate'],
  [9, 'allocateWithSeed'],
  [10, 'assignWithSeed'],
  [11, 'transferWithSeed'],
  [12, 'upgradeNonce'],
  [13, 'createAccountAllowPrefund'],
];

/** Instruction names of Agave's `parse_token.rs`. */
const TOKEN: readonly [number, string][] = [
  [0, 'initializeMint'],
  [1, 'initializeAccount'],
  [2, 'initializeMultisig'],
  [3, 'transfer'],
  [4, 'approve'],
  [5, 'revoke'],
  [6, 'setAuthority'],
  [7, 'mintTo'],
  [8, 'burn'],
  [9, 'closeAccount'],
  [10, 'freezeAccount'],
  [11, 'thawAccount'],
  [12, 'transferChecked'],
  [13, 'approveChecked'],
  [14, 'mintToChecked'],
  [15, 'burnChecked'],
  [16, 'initializeAccount2'],
  [17, 'syncNative'],
  [18, 'initializeAccount3'],
  [19, 'initializeMultisig2'],
  [20, 'initializeMint2'],
  [21, 'getAccountDataSize'],
  [22, 'initializeImmutableOwner'],
  [23, 'amountToUiAmount'],
  [24, 'uiAmountToAmount'],
  [25, 'initializeMintCloseAuthority'],
  [38, 'withdrawExcessLamports'],
  [45, 'unwrapLamports'],
  [255, 'batch'],
];

describe('readInner', () => {
  it('keeps the order of calls, and the top-level instruction of each call', () => {
    const calls = readInner([
      { index: 0, instructions: [raw(C, [])] },
      {
        index: 3,
        instructions: [
          raw(TOKEN_PROGRAM, [9]),
          parsed(SYSTEM_PROGRAM, { type: 'assign', info: { account: A, owner: B } }),
        ],
      },
    ]);
    expect(calls).toEqual([
      { outer: 0, program: C, name: undefined, addresses: [A, B], creates: undefined },
      {
        outer: 3,
        program: TOKEN_PROGRAM,
        name: 'closeAccount',
        addresses: [A, B],
        creates: undefined,
      },
      { outer: 3, program: SYSTEM_PROGRAM, name: 'assign', addresses: [A, B], creates: undefined },
    ]);
  });

  it.each(SYSTEM)('names the unparsed System instruction %i as %s', (opcode, name) => {
    expect(read(raw(SYSTEM_PROGRAM, [...system(opcode), 9, 9]))).toMatchObject({
      program: SYSTEM_PROGRAM,
      name,
      addresses: [A, B],
    });
  });

  it.each(TOKEN)(
    'names the unparsed instruction %i of both token programs as %s',
    (opcode, name) => {
      for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]) {
        expect(read(raw(program, [opcode, 9]))).toMatchObject({
          program,
          name,
          addresses: [A, B],
          creates: undefined,
        });
      }
    },
  );

  it.each([
    ['System data too short for a number', SYSTEM_PROGRAM, [1, 0, 0]],
    ['an unknown System number', SYSTEM_PROGRAM, system(14)],
    ['a System number above the first byte', SYSTEM_PROGRAM, [1, 1, 0, 0]],
    ['no token data', TOKEN_PROGRAM, []],
    ['an extension', TOKEN_2022_PROGRAM, [34, 0]],
    ['a fee extension that transfers nothing', TOKEN_2022_PROGRAM, [26, 2]],
    ['an unknown token number', TOKEN_PROGRAM, [254]],
    [
      'more data than any token instruction has',
      TOKEN_PROGRAM,
      [3, ...new Array<number>(200).fill(255)],
    ],
    ['another program', ASSOCIATED_TOKEN_PROGRAM, [3]],
  ])('gives no name to %s', (_, program, bytes) => {
    expect(read(raw(program, bytes))).toMatchObject({
      name: undefined,
      addresses: [A, B],
      creates: undefined,
    });
  });

  it('names the only extension that transfers', () => {
    expect(read(raw(TOKEN_2022_PROGRAM, [26, 1, 5]))?.name).toBe('transferCheckedWithFee');
  });

  it.each<[string, string, number]>([
    ['createAccount', B, 0],
    ['createAccountWithSeed', B, 3],
    ['createAccountAllowPrefund', A, 13],
  ])('returns the account that %s creates, parsed or not', (type, created, opcode) => {
    expect(read(raw(SYSTEM_PROGRAM, system(opcode)))?.creates).toBe(created);
    const info = { source: A, newAccount: B, lamports: 1, space: 165, owner: TOKEN_PROGRAM };
    expect(read(parsed(SYSTEM_PROGRAM, { type, info }))).toMatchObject({ name: type, creates: B });
    expect(
      read(parsed(SYSTEM_PROGRAM, { type, info: { ...info, newAccount: 7 } }))?.creates,
    ).toBeUndefined();
    expect(read(raw(SYSTEM_PROGRAM, system(opcode), []))?.creates).toBeUndefined();
  });

  it('collects every address of a parsed instruction, also nested and in lists', () => {
    const info = {
      source: A,
      multisigOwner: B,
      signers: [C, key(4), 'not one'],
      tokenAmount: { amount: '7', decimals: 6, deep: [{ deeper: key(5) }] },
      newAuthority: null,
    };
    const { name, addresses = [] } =
      read(parsed(TOKEN_2022_PROGRAM, { type: 'approveChecked', info })) ?? {};
    expect(name).toBe('approveChecked');
    expect([...addresses].sort()).toEqual([A, B, C, key(4), key(5)].sort());
  });

  it('reads an answer that is nested deeper than the stack', () => {
    let info: object = { account: A };
    for (let depth = 0; depth < 100_000; depth += 1) info = { info };
    expect(read(parsed(TOKEN_PROGRAM, { type: 'burn', info }))?.addresses).toEqual([A]);
  });

  it('returns calls of other programs as they are parsed, also if only to a text', () => {
    expect(read(parsed(MEMO_PROGRAM, 'thanks'))).toMatchObject({
      program: MEMO_PROGRAM,
      name: undefined,
      addresses: [],
    });
    expect(
      read(parsed(ASSOCIATED_TOKEN_PROGRAM, { type: 'create', info: { wallet: A } })),
    ).toMatchObject({
      name: undefined,
      addresses: [A],
    });
  });

  it.each<[string, ShownCall]>([
    ['a parsed System instruction that is a text', parsed(SYSTEM_PROGRAM, 'transfer')],
    ['a parsed System instruction that is null', parsed(SYSTEM_PROGRAM, null)],
    ['a type that is not a text', parsed(TOKEN_PROGRAM, { type: 3, info: { account: A } })],
    ['no type', parsed(TOKEN_PROGRAM, { info: { account: A } })],
    ['no info', parsed(TOKEN_PROGRAM, { type: 'transfer' })],
    ['an info that is a text', parsed(TOKEN_2022_PROGRAM, { type: 'transfer', info: A })],
    ['an info that is null', parsed(TOKEN_2022_PROGRAM, { type: 'transfer', info: null })],
    ['an invalid program address', { programId: 'Token', parsed: {} }],
    ['a call in neither form', { programId: C }],
    ['accounts that are indexes', { programId: C, accounts: [0, 1], data: '' }],
    ['accounts that are not a list', { programId: C, accounts: A, data: '' }],
    ['data that is not a text', { programId: C, accounts: [], data: [1] }],
    ['data that is not base58', { programId: TOKEN_PROGRAM, accounts: [], data: '0OIl' }],
  ])('refuses %s', (_, call) => {
    expect(() => read(call)).toThrow(Fault);
    expect(() => read(call)).toThrow('a call between programs in it cannot be read');
  });

  it('refuses an invalid position', () => {
    expect(() => readInner([{ index: -1, instructions: [] }])).toThrow(Fault);
    expect(() => readInner([{ index: 0.5, instructions: [] }])).toThrow(Fault);
  });
});
