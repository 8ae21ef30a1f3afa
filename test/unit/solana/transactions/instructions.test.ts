import * as token from '@solana-program/token';
import { AccountRole, address } from '@solana/kit';
import type { Instruction as KitInstruction } from '@solana/kit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { U64_MAX } from '../../../../src/amount.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
} from '../../../../src/solana/programs.js';
import { addressOf } from '../../../../src/solana/address.js';
import { compileMessage } from '../../../../src/solana/transactions/compile.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  memo,
  transferChecked,
} from '../../../../src/solana/transactions/instructions.js';
import {
  closeTokenAccount,
  createAssociatedTokenAccount,
  dropCloseAuthority,
  revoke,
  syncNative,
  transferLamports,
} from '../../../../src/solana/transactions/swap-instructions.js';
import type { Instruction } from '../../../../src/solana/types.js';

const key = (seed: number) => addressOf(new Uint8Array(32).fill(seed));
const [wallet, mint, source, destination] = [key(1), key(2), key(3), key(4)];
const transfer = (amount: bigint, decimals = 6, tokenProgram = TOKEN_PROGRAM) =>
  transferChecked({ source, mint, destination, authority: wallet, amount, decimals, tokenProgram });
const refused: unknown = expect.objectContaining({ code: 'self_check_failed', funds: 'untouched' });

/** The instruction for the decoders of kit, which share no code with web3.js and spl-token. */
function kit(instruction: Instruction) {
  return {
    programAddress: address(instruction.program),
    accounts: instruction.accounts.map((meta) => ({
      address: address(meta.address),
      role: meta.signer
        ? meta.writable
          ? AccountRole.WRITABLE_SIGNER
          : AccountRole.READONLY_SIGNER
        : meta.writable
          ? AccountRole.WRITABLE
          : AccountRole.READONLY,
    })),
    data: instruction.data,
  } satisfies KitInstruction;
}

describe('transferChecked', () => {
  it('is read by kit, for every amount and both programs', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: U64_MAX }),
        fc.integer({ min: 0, max: 255 }),
        fc.boolean(),
        (amount, decimals, extended) => {
          const program = extended ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
          const parsed = token.parseTransferCheckedInstruction(
            kit(transfer(amount, decimals, program)),
          );
          expect(parsed.data).toMatchObject({ amount, decimals });
          expect(parsed.programAddress).toBe(program);
          expect(parsed.accounts.source).toEqual({ address: source, role: AccountRole.WRITABLE });
          expect(parsed.accounts.mint).toEqual({ address: mint, role: AccountRole.READONLY });
          expect(parsed.accounts.destination).toEqual({
            address: destination,
            role: AccountRole.WRITABLE,
          });
          expect(parsed.accounts.authority).toEqual({
            address: wallet,
            role: AccountRole.READONLY_SIGNER,
          });
        },
      ),
    );
  });

  it.each([2n ** 64n, 2n ** 64n + 5n, -1n, -(2n ** 64n), 2n ** 70n])(
    'refuses the amount %s, which spl-token would wrap',
    (amount) => {
      expect(() => transfer(amount)).toThrow(refused);
      expect(() => transferLamports({ from: wallet, to: source, lamports: amount })).toThrow(
        refused,
      );
      expect(() => computeUnitPrice(amount)).toThrow(refused);
    },
  );

  it.each([-1, 256, 6.5, NaN])('refuses %s decimals', (decimals) => {
    expect(() => transfer(1n, decimals)).toThrow(refused);
  });

  it('is refused in a message if it names an invalid address', () => {
    const named = transferChecked({
      ...{ source: 'x', mint, destination, authority: wallet },
      ...{ amount: 1n, decimals: 6, tokenProgram: TOKEN_PROGRAM },
    });
    const message = { feePayer: wallet, instructions: [named], blockhash: mint };
    expect(() => compileMessage(message)).toThrow(/Solana address/);
  });
});

describe('an instruction builder', () => {
  it('creates a token account idempotently', () => {
    const made = createAssociatedTokenAccount({
      payer: wallet,
      account: source,
      owner: destination,
      mint,
      tokenProgram: TOKEN_2022_PROGRAM,
    });
    const parsed = token.parseCreateAssociatedTokenIdempotentInstruction(kit(made));
    expect(parsed.programAddress).toBe(ASSOCIATED_TOKEN_PROGRAM);
    expect(Object.values(parsed.accounts).map((account) => account.address)).toEqual([
      wallet,
      source,
      destination,
      mint,
      SYSTEM_PROGRAM,
      TOKEN_2022_PROGRAM,
    ]);
    expect(parsed.accounts.payer.role).toBe(AccountRole.WRITABLE_SIGNER);
    expect(parsed.accounts.ata.role).toBe(AccountRole.WRITABLE);
  });

  it('closes, syncs, revokes and drops the close authority', () => {
    const at = { account: source, authority: wallet, tokenProgram: TOKEN_PROGRAM };
    const closed = token.parseCloseAccountInstruction(
      kit(closeTokenAccount({ ...at, destination })),
    );
    expect([
      closed.accounts.account.address,
      closed.accounts.destination.address,
      closed.accounts.owner.role,
    ]).toEqual([source, destination, AccountRole.READONLY_SIGNER]);
    expect(
      token.parseSyncNativeInstruction(kit(syncNative({ account: source }))).accounts.account.role,
    ).toBe(AccountRole.WRITABLE);
    expect(token.parseRevokeInstruction(kit(revoke(at))).accounts.owner).toEqual({
      address: wallet,
      role: AccountRole.READONLY_SIGNER,
    });
    const dropped = token.parseSetAuthorityInstruction(kit(dropCloseAuthority(at)));
    expect(dropped.data.authorityType).toBe(token.AuthorityType.CloseAccount);
    expect(dropped.data.newAuthority).toEqual({ __option: 'None' });
    expect(dropped.accounts.owned).toEqual({ address: source, role: AccountRole.WRITABLE });
  });

  it('moves lamports and sets the compute budget', () => {
    const moved = transferLamports({ from: wallet, to: wallet, lamports: U64_MAX });
    expect(moved).toEqual({
      program: SYSTEM_PROGRAM,
      accounts: [
        { address: wallet, signer: true, writable: true },
        { address: wallet, signer: false, writable: true },
      ],
      data: Uint8Array.of(2, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255),
    });
    expect(computeUnitLimit(1_400_000).data).toEqual(Uint8Array.of(2, 0xc0, 0x5c, 0x15, 0));
    expect(computeUnitPrice(U64_MAX).data).toEqual(
      Uint8Array.of(3, 255, 255, 255, 255, 255, 255, 255, 255),
    );
    expect(() => computeUnitLimit(2 ** 32)).toThrow(refused);
    expect(() => computeUnitLimit(-1)).toThrow(refused);
  });

  it('writes a memo without signers', () => {
    expect(memo('pay \u00e9')).toEqual({
      program: MEMO_PROGRAM,
      accounts: [],
      data: Uint8Array.of(112, 97, 121, 32, 0xc3, 0xa9),
    });
  });
});
