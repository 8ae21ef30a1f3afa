import {
  AccountState,
  findAssociatedTokenPda,
  getMintEncoder,
  getTokenEncoder,
} from '@solana-program/token';
import { address, none, some } from '@solana/kit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM, WSOL_MINT } from '../../../../src/network.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { decodeMint, decodeTokenAccount } from '../../../../src/solana/tokens/decode.js';
import { addressBytes, addressOf } from '../../../../src/solana/address.js';
import type { Account } from '../../../../src/solana/rpc/rpc.js';

const key = (seed: number) => address(addressOf(new Uint8Array(32).fill(seed)));
const account = (data: ArrayLike<number>, owner: string = TOKEN_PROGRAM): Account => ({
  owner,
  lamports: 1n,
  data: Uint8Array.from(data),
  executable: false,
});
const mintBytes = (decimals = 6, isInitialized = true) =>
  Uint8Array.from(
    getMintEncoder().encode({
      mintAuthority: some(key(1)),
      supply: 2n ** 64n - 1n,
      decimals,
      isInitialized,
      freezeAuthority: none(),
    }),
  );
const tokenBytes = (
  changes: Partial<Parameters<ReturnType<typeof getTokenEncoder>['encode']>[0]> = {},
) =>
  Uint8Array.from(
    getTokenEncoder().encode({
      mint: key(2),
      owner: key(3),
      amount: 2n ** 64n - 1n,
      delegate: none(),
      state: AccountState.Initialized,
      isNative: none(),
      delegatedAmount: 0n,
      closeAuthority: none(),
      ...changes,
    }),
  );
const entry = (type: number, value: ArrayLike<number>) => [
  type & 255,
  type >> 8,
  value.length & 255,
  value.length >> 8,
  ...Array.from(value),
];
const extended = (base: Uint8Array, kind: number, ...entries: number[][]) =>
  account(
    [...base, ...new Uint8Array(165 - base.length), kind, ...entries.flat()],
    TOKEN_2022_PROGRAM,
  );
const mintWith = (...entries: number[][]) => decodeMint(extended(mintBytes(), 1, ...entries));

describe('associatedTokenAddress', () => {
  it('returns the address that kit derives, for owners on and off the curve', async () => {
    const owners = [
      key(1),
      key(2),
      key(7),
      key(9),
      address(associatedTokenAddress(key(1), WSOL_MINT, TOKEN_PROGRAM)),
    ];
    for (const owner of owners) {
      for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]) {
        const [expected] = await findAssociatedTokenPda({
          owner,
          mint: address(WSOL_MINT),
          tokenProgram: address(program),
        });
        // The second call reads the cache.
        expect(associatedTokenAddress(owner, WSOL_MINT, program)).toBe(expected);
        expect(associatedTokenAddress(owner, WSOL_MINT, program)).toBe(expected);
      }
    }
  });

  it('throws for a text that is not an address', () => {
    expect(() => associatedTokenAddress('x', WSOL_MINT, TOKEN_PROGRAM)).toThrow(TypeError);
  });
});

describe('decodeMint', () => {
  it('reads mints of both programs', () => {
    const facts = { transferFeeBps: 0, paused: false };
    expect(decodeMint(account(mintBytes(9)))).toEqual({
      tokenProgram: TOKEN_PROGRAM,
      decimals: 9,
      extensions: [],
      ...facts,
    });
    expect(decodeMint(account(mintBytes(), TOKEN_2022_PROGRAM))).toMatchObject({
      tokenProgram: TOKEN_2022_PROGRAM,
      extensions: [],
    });
    expect(mintWith()).toMatchObject({
      tokenProgram: TOKEN_2022_PROGRAM,
      decimals: 6,
      extensions: [],
      ...facts,
    });
  });

  it('reads a view into a larger buffer', () => {
    const large = new Uint8Array(200).fill(255);
    large.set(mintBytes(), 50);
    expect(decodeMint({ ...account([]), data: large.subarray(50, 132) })).toMatchObject({
      decimals: 6,
    });
  });

  it('names known and unknown extensions', () => {
    expect(
      mintWith(
        entry(3, addressBytes(key(1))),
        entry(18, new Uint8Array(64)),
        entry(9, []),
        entry(19, new Uint8Array(100)),
        entry(500, [1]),
      )?.extensions,
    ).toEqual([
      'mintCloseAuthority',
      'metadataPointer',
      'nonTransferable',
      'tokenMetadata',
      'unknown:500',
    ]);
  });

  it('returns the higher of both transfer fees', () => {
    const config = (older: number, newer: number) => {
      const bytes = new Uint8Array(108);
      new DataView(bytes.buffer).setUint16(88, older, true);
      new DataView(bytes.buffer).setUint16(106, newer, true);
      return entry(1, bytes);
    };
    expect(mintWith(config(0, 300))?.transferFeeBps).toBe(300);
    expect(mintWith(config(300, 0))?.transferFeeBps).toBe(300);
    expect(mintWith(config(0, 0))).toMatchObject({
      transferFeeBps: 0,
      extensions: ['transferFeeConfig'],
    });
  });

  it('returns hooks and pauses only if they are set, whatever the default state', () => {
    const hook = new Uint8Array(64);
    hook.set(addressBytes(key(5)), 32);
    const paused = new Uint8Array(33);
    paused[32] = 1;
    expect(
      mintWith(entry(14, hook), entry(12, addressBytes(key(6))), entry(6, [2]), entry(26, paused)),
    ).toMatchObject({
      transferHookProgram: key(5),
      paused: true,
    });
    const unset = mintWith(
      entry(14, new Uint8Array(64)),
      entry(12, new Uint8Array(32)),
      entry(6, [1]),
      entry(26, new Uint8Array(33)),
    );
    expect(unset).toMatchObject({ paused: false });
    expect(unset).not.toHaveProperty('transferHookProgram');
  });

  it('accepts zeros after the last extension', () => {
    expect(mintWith(entry(9, []), [0, 0, 0])?.extensions).toEqual(['nonTransferable']);
  });

  it.each<[string, Account]>([
    ['another owner', account(mintBytes(), key(9))],
    ['an uninitialised mint', account(mintBytes(6, false))],
    ['a byte less', account(mintBytes().slice(1))],
    ['a byte more, classic', account([...mintBytes(), 0])],
    ['a byte more, Token-2022', account([...mintBytes(), 0], TOKEN_2022_PROGRAM)],
    ['extensions on the classic program', account(extended(mintBytes(), 1).data)],
    ['the kind of an account', extended(mintBytes(), 2)],
    ['no kind', extended(mintBytes(), 0)],
    [
      'padding that is not zero',
      account([...mintBytes(), 1, ...new Uint8Array(82), 1], TOKEN_2022_PROGRAM),
    ],
    ['a multisig by its length', extended(mintBytes(), 1, [...new Uint8Array(189)])],
    ['a token account', account(tokenBytes())],
    ['a repeated extension', extended(mintBytes(), 1, entry(9, []), entry(9, []))],
    ['an extension of another length', extended(mintBytes(), 1, entry(12, new Uint8Array(31)))],
    ['an extension past the end', extended(mintBytes(), 1, [19, 0, 200, 0, 1])],
    ['half a header', extended(mintBytes(), 1, [19, 0, 1])],
    ['bytes after the end mark', extended(mintBytes(), 1, [0, 0, 0, 0, 9, 0, 0, 0])],
    ['an invalid default state', extended(mintBytes(), 1, entry(6, [0]))],
    ['an invalid option tag', account(mintBytes().map((byte, index) => (index === 0 ? 2 : byte)))],
    ['nothing', account([])],
  ])('returns no mint for %s', (_, bad) => {
    expect(decodeMint(bad)).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 400 }),
        fc.constantFrom(TOKEN_PROGRAM, TOKEN_2022_PROGRAM),
        fc.boolean(),
        (noise, owner, framed) => {
          const bad = framed
            ? account([...extended(mintBytes(), 1).data, ...noise], owner)
            : account(noise, owner);
          decodeMint(bad);
          decodeTokenAccount(bad);
        },
      ),
    );
  });
});

describe('decodeTokenAccount', () => {
  it('reads accounts of both programs', () => {
    const plain = {
      mint: key(2),
      owner: key(3),
      amount: 2n ** 64n - 1n,
      state: 'initialized',
      isNative: false,
      requiresMemo: false,
    };
    expect(decodeTokenAccount(account(tokenBytes()))).toEqual({
      ...plain,
      tokenProgram: TOKEN_PROGRAM,
      extensions: [],
    });
    expect(decodeTokenAccount(extended(tokenBytes(), 2, entry(7, []), entry(8, [1])))).toEqual({
      ...plain,
      tokenProgram: TOKEN_2022_PROGRAM,
      extensions: ['immutableOwner', 'memoTransfer'],
      requiresMemo: true,
    });
    expect(decodeTokenAccount(extended(tokenBytes(), 2, entry(8, [0])))?.requiresMemo).toBe(false);
  });

  it('says whether a confidential account takes plain transfers', () => {
    const rest = new Array<number>(32).fill(0);
    const taking = (plain: number) =>
      decodeTokenAccount(
        extended(tokenBytes(), 2, entry(5, [...new Array<number>(262).fill(1), plain, ...rest])),
      )?.isConfidential;
    expect([0, 1].map(taking)).toEqual([true, undefined]);
  });

  it('says whether a CPI guard is on', () => {
    const guarded = (on: number) =>
      decodeTokenAccount(extended(tokenBytes(), 2, entry(11, [on])))?.hasCpiGuard;
    expect([0, 1].map(guarded)).toEqual([undefined, true]);
  });

  it('returns delegates, close authorities, wrapped SOL and frozen states', () => {
    const found = decodeTokenAccount(
      account(
        tokenBytes({
          delegate: some(key(7)),
          delegatedAmount: 5n,
          closeAuthority: some(key(8)),
          isNative: some(2039280n),
          state: AccountState.Frozen,
        }),
      ),
    );
    expect(found).toMatchObject({
      delegate: key(7),
      closeAuthority: key(8),
      isNative: true,
      state: 'frozen',
    });
  });

  it.each<[string, Account]>([
    ['an uninitialised account', account(tokenBytes({ state: AccountState.Uninitialized }))],
    ['an invalid state', account(tokenBytes().map((byte, index) => (index === 108 ? 3 : byte)))],
    ['a mint', account(mintBytes())],
    ['a mint with extensions', extended(mintBytes(), 1)],
    ['another owner', account(tokenBytes(), key(9))],
    ['a byte less', account(tokenBytes().slice(1))],
    ['a byte more, classic', account([...tokenBytes(), 2])],
    [
      'an invalid option tag',
      account(tokenBytes().map((byte, index) => (index === 129 ? 2 : byte))),
    ],
  ])('returns no token account for %s', (_, bad) => {
    expect(decodeTokenAccount(bad)).toBeUndefined();
  });
});
