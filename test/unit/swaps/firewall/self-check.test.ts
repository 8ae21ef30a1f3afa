import {
  decompileTransactionMessage,
  getCompiledTransactionMessageDecoder,
  type Instruction as KitInstruction,
} from '@solana/kit';
import { describe, expect, it } from 'vitest';
import {
  routeV2,
  sharedAccountsExactOutRouteV2,
} from '../../../../adapters/sandbox/venue/venue.mjs';
import { isExactChangeError } from '../../../../src/errors.js';
import { TOKEN_PROGRAM, WSOL_MINT } from '../../../../src/network.js';
import { MEMO_PROGRAM } from '../../../../src/solana/programs.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import {
  computeUnitPrice,
  transferChecked,
} from '../../../../src/solana/transactions/instructions.js';
import { transferLamports } from '../../../../src/solana/transactions/swap-instructions.js';
import { compileMessage } from '../../../../src/solana/transactions/compile.js';
import type { Instruction, LookupTable } from '../../../../src/solana/types.js';
import { composeSwap } from '../../../../src/swaps/transaction/compose.js';
import { type Composition, checkComposed } from '../../../../src/swaps/firewall/self-check.js';
import type { OwnAccount } from '../../../../src/swaps/accounts/own-account.js';
import { nothingReserved } from '../../../../src/swaps/transaction/plan.js';
import {
  BLOCKHASH,
  DESTINATION,
  EXPECTED,
  fromKit,
  SOURCE,
  someKey,
  STRANGER,
  USDC,
  VENUE_SWAP,
  WALLET,
  withAccount,
} from '../support.js';

/** 200,000 units at 10,000 micro-lamports. */
const PRIORITY_FEE = 2_000n;
const RENT = 2_039_280n;

const amounts = { inAmount: 1_000_000n, quotedOutAmount: 1_000_000n };
const swap = fromKit(routeV2({ ...VENUE_SWAP, ...amounts }));
const tables: readonly LookupTable[] = [
  { address: someKey(120), addresses: [someKey(121), someKey(20), someKey(30)] },
];

function own(mint: string, exists = true, balance = 0n): OwnAccount {
  const address = associatedTokenAddress(WALLET, mint, TOKEN_PROGRAM);
  return {
    address,
    mint,
    tokenProgram: TOKEN_PROGRAM,
    decimals: 6,
    exists,
    balance,
    uncounted: 0n,
    lamports: exists ? RENT : 0n,
  };
}

const usual = {
  instruction: swap,
  expected: EXPECTED,
  source: own(EXPECTED.inputMint, true, 5_000_000n),
  output: own(EXPECTED.outputMint),
};

/** A composed swap, and the composition that the client expects of it. */
function composed(change: Partial<typeof usual> = {}, lookupTables: readonly LookupTable[] = []) {
  const { instruction, expected, source, output } = { ...usual, ...change };
  const { instructions, message, plan, swapAt, guardFrom } = composeSwap({
    ...{ expected, instruction, lookupTables, keepWrapped: false, blockhash: BLOCKHASH },
    compute: { unitLimit: 200_000, unitPrice: 10_000n },
    facts: {
      ...{
        source,
        output,
        lamports: 10n ** 9n,
        sourceRent: RENT,
        outputRent: RENT,
        sourceExcess: 0n,
        outputExcess: 0n,
      },
      reserved: nothingReserved,
      leeway: nothingReserved,
    },
  });
  const composition: Composition = {
    expected,
    instruction,
    floors: plan.floors,
    lookupTables,
    maxPriorityFee: PRIORITY_FEE,
  };
  return { instructions, message, composition, swapAt, guardFrom };
}

const compiled = (
  instructions: readonly Instruction[],
  feePayer = WALLET,
  lookupTables: readonly LookupTable[] = [],
) => compileMessage({ feePayer, instructions, blockhash: BLOCKHASH, lookupTables });

/** The reason why a message is not the checked swap; undefined if it is. */
function failureOf(message: Uint8Array, composition: Composition): string | undefined {
  try {
    checkComposed(message, composition);
    return undefined;
  } catch (error) {
    if (!isExactChangeError(error, 'self_check_failed')) throw error;
    expect(error).toMatchObject({ name: 'TransactionError', funds: 'untouched', moved: [] });
    expect(error.message).toContain(error.details.reason);
    return error.details.reason;
  }
}

describe('a composed message', () => {
  const withTable = fromKit(routeV2({ ...VENUE_SWAP, ...amounts, extra: [someKey(121)] }));
  const native = { ...EXPECTED, inputMint: WSOL_MINT };

  it.each<[string, Partial<typeof usual>, readonly LookupTable[]]>([
    ['between tokens', {}, []],
    ['with an account to create', { output: own(EXPECTED.outputMint, false) }, []],
    [
      'in another form',
      {
        instruction: fromKit(
          sharedAccountsExactOutRouteV2({
            ...VENUE_SWAP,
            id: 8,
            outAmount: 1n,
            quotedInAmount: 1n,
          }),
        ),
      },
      [],
    ],
    ['with a lookup table', { instruction: withTable }, tables],
    ['of SOL', { expected: native, source: own(WSOL_MINT, false) }, []],
    ['of SOL and wrapped SOL', { expected: native, source: own(WSOL_MINT, true, 400_000n) }, []],
    [
      'into SOL',
      { expected: { ...EXPECTED, outputMint: WSOL_MINT }, output: own(WSOL_MINT, false) },
      [],
    ],
  ])('passes for a swap %s', (_, change, lookupTables) => {
    const { message, composition } = composed(change, lookupTables);
    expect(failureOf(message, composition)).toBeUndefined();
  });
});

/** The instructions with a replacement at a position. */
const replaced = (list: readonly Instruction[], at: number, replacement: Instruction) =>
  list.map((other, index) => (index === at ? replacement : other));
const without = (list: readonly Instruction[], at: number) =>
  list.filter((_, index) => index !== at);
const swapped = (list: readonly Instruction[], a: number, b: number) =>
  list.map((entry, index) => (index === a ? list[b] : index === b ? list[a] : entry) ?? entry);

const NO_GUARD = 'it does not end in the guard';
const OTHER_SWAP = 'its swap is not the one that was checked';
const SIGNERS = 'the wallet is not its only signer, after what pays its fee';
const UNREADABLE = 'it cannot be read';

describe('a changed message', () => {
  const { instructions, message, composition, swapAt, guardFrom } = composed();
  const last = instructions.length - 1;
  const reason = (changed: readonly Instruction[], feePayer = WALLET) =>
    failureOf(compiled(changed, feePayer), composition);

  it('has seven guards, which the other tests remove or change', () => {
    expect({ swapAt, guards: instructions.length - guardFrom }).toEqual({ swapAt: 2, guards: 7 });
    expect(compiled(instructions)).toEqual(message);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])('fails without guard %i', (at) => {
    expect(reason(without(instructions, guardFrom + at))).toBe(NO_GUARD);
  });

  it('fails without any guard', () => {
    expect(reason(instructions.slice(0, guardFrom))).toBe(NO_GUARD);
  });

  it.each([
    ['source', 1],
    ['output', 4],
  ] as const)(
    'fails if the guard of the %s requires one unit less, and passes if it requires more',
    (_, at) => {
      const { account, least } = composition.floors.tokens[at === 1 ? 0 : 1] ?? {
        account: usual.source,
        least: 0n,
      };
      const { address, mint, decimals, tokenProgram } = account;
      const hold = (amount: bigint) =>
        transferChecked({
          source: address,
          mint,
          destination: address,
          authority: WALLET,
          amount,
          decimals,
          tokenProgram,
        });
      expect(instructions[guardFrom + at]).toEqual(hold(least));
      expect(reason(replaced(instructions, guardFrom + at, hold(least - 1n)))).toBe(NO_GUARD);
      expect(
        failureOf(compiled(replaced(instructions, guardFrom + at, hold(least + 1n))), composition),
      ).toBeUndefined();
    },
  );

  it('fails if the guard requires one lamport less, none, or lamports of another wallet', () => {
    const { lamports } = composition.floors;
    const send = (amount: bigint, to = WALLET) =>
      transferLamports({ from: WALLET, to, lamports: amount });
    expect(instructions[last]).toEqual(send(lamports));
    expect(reason(replaced(instructions, last, send(lamports - 1n)))).toBe(NO_GUARD);
    expect(reason(replaced(instructions, last, send(0n)))).toBe(NO_GUARD);
    expect(reason(replaced(instructions, last, send(lamports, STRANGER)))).toMatch(
      /system_instruction/,
    );
    expect(
      failureOf(message, {
        ...composition,
        floors: { ...composition.floors, lamports: lamports + 1n },
      }),
    ).toBe(NO_GUARD);
  });

  it('fails if the guard concerns other accounts', () => {
    const other = associatedTokenAddress(WALLET, EXPECTED.inputMint, someKey(3));
    const account = { address: other, signer: false, writable: true };
    for (const at of [0, 1, 2]) {
      const guarded = instructions[guardFrom + at] ?? swap;
      const accounts = guarded.accounts.map((meta) => (meta.address === SOURCE ? account : meta));
      expect(reason(replaced(instructions, guardFrom + at, { ...guarded, accounts }))).toMatch(
        /token_instruction/,
      );
    }
    const [source, output] = composition.floors.tokens;
    if (source === undefined || output === undefined) throw new Error('two accounts are guarded');
    const floors = {
      ...composition.floors,
      tokens: [source, { ...output, account: { ...output.account, address: STRANGER } }],
    };
    expect(failureOf(message, { ...composition, floors })).toBe(NO_GUARD);
  });

  it('fails if the guard precedes the swap, or if an instruction stands between the guard and the end', () => {
    expect(reason(swapped(instructions, swapAt, guardFrom))).toMatch(/token_instruction/);
    expect(reason(swapped(instructions, swapAt, last))).toMatch(/system_instruction/);
    expect(reason(swapped(instructions, guardFrom, last))).toMatch(/system_instruction/);
    const price = computeUnitPrice(10_000n);
    const moved = [...without(instructions, 1).slice(0, -1), price, ...instructions.slice(-1)];
    expect(moved.filter(({ program }) => program === price.program)).toHaveLength(2);
    expect(reason(moved)).toBe(NO_GUARD);
  });

  it.each([0, 3])('fails if the revoking guard %i comes after the guard that counts', (at) => {
    expect(reason(swapped(instructions, guardFrom + at, guardFrom + at + 1))).toBe(NO_GUARD);
  });

  it('passes in another order that changes nothing', () => {
    expect(failureOf(compiled(swapped(instructions, 0, 1)), composition)).toBeUndefined();
  });

  it('fails with any other instruction at any position', () => {
    const attacks: readonly Instruction[] = [
      transferLamports({ from: WALLET, to: STRANGER, lamports: 1n }),
      transferLamports({ from: WALLET, to: WALLET, lamports: 1n }),
      transferChecked({
        ...{
          source: SOURCE,
          mint: USDC,
          destination: DESTINATION,
          authority: WALLET,
          amount: 1n,
          decimals: 6,
          tokenProgram: TOKEN_PROGRAM,
        },
      }),
      { program: MEMO_PROGRAM, accounts: [], data: Uint8Array.of(1) },
      { program: someKey(150), accounts: [], data: new Uint8Array() },
      computeUnitPrice(1n),
      swap,
    ];
    const places = instructions.map((_, at) => at).concat(instructions.length);
    for (const attack of attacks) {
      for (const at of places) {
        const more = [...instructions.slice(0, at), attack, ...instructions.slice(at)];
        expect(reason(more)).toMatch(
          /rule (system_instruction|token_instruction|foreign_program|compute_budget|one_swap)|guard/,
        );
      }
    }
  });

  it('fails if the swap differs in a byte', () => {
    for (let at = 0; at < swap.data.length; at++) {
      const data = swap.data.map((byte, index) => (index === at ? byte ^ 1 : byte));
      expect(reason(replaced(instructions, swapAt, { ...swap, data }))).toBe(OTHER_SWAP);
    }
    expect(reason(replaced(instructions, swapAt, { ...swap, data: swap.data.slice(0, -1) }))).toBe(
      OTHER_SWAP,
    );
    expect(
      reason(replaced(instructions, swapAt, { ...swap, data: Uint8Array.of(...swap.data, 0) })),
    ).toBe(OTHER_SWAP);
  });

  it('fails if the swap differs in an account', () => {
    for (let at = 0; at < swap.accounts.length; at++) {
      const changed = { address: someKey(140), signer: false };
      expect(reason(replaced(instructions, swapAt, withAccount(swap, at, changed)))).toBe(
        OTHER_SWAP,
      );
    }
    expect(
      reason(replaced(instructions, swapAt, { ...swap, accounts: swap.accounts.slice(0, -1) })),
    ).toBe(OTHER_SWAP);
    const [first, second, ...rest] = swap.accounts;
    if (first === undefined || second === undefined) throw new Error('a swap names accounts');
    expect(
      reason(replaced(instructions, swapAt, { ...swap, accounts: [second, first, ...rest] })),
    ).toBe(OTHER_SWAP);
  });

  it('fails if an account of the swap changes between writable and read-only', () => {
    const foreign = swap.accounts.filter(
      ({ address }) => ![WALLET, SOURCE, DESTINATION].includes(address),
    );
    const programs: readonly string[] = instructions.map(({ program }) => program);
    for (const { address, writable } of foreign) {
      // A writable program is refused by a rule of its own.
      if (programs.includes(address)) continue;
      const at = swap.accounts.findIndex((account) => account.address === address);
      expect(
        reason(replaced(instructions, swapAt, withAccount(swap, at, { writable: !writable }))),
      ).toBe(OTHER_SWAP);
    }
    expect(
      foreign.some(({ writable }) => writable) && foreign.some(({ writable }) => !writable),
    ).toBe(true);
  });

  it('fails without the swap, or with two swaps', () => {
    expect(reason(without(instructions, swapAt))).toMatch(/one_swap/);
    expect(reason([...instructions.slice(0, swapAt), swap, ...instructions.slice(swapAt)])).toMatch(
      /one_swap/,
    );
  });

  it('fails with a second signer, or with another fee payer', () => {
    const signer = withAccount(swap, 10, { signer: true });
    expect(reason(replaced(instructions, swapAt, signer))).toBe(SIGNERS);
    expect(reason(instructions, STRANGER)).toBe(SIGNERS);
    const noMore = instructions.map((entry) => ({
      ...entry,
      accounts: entry.accounts.map((account) => ({ ...account, signer: false })),
    }));
    expect(reason(noMore, STRANGER)).toBe(SIGNERS);
  });

  it('fails if the priority fee is one lamport above the limit', () => {
    expect(failureOf(message, { ...composition, maxPriorityFee: PRIORITY_FEE - 1n })).toMatch(
      /priority_fee/,
    );
    expect(reason(replaced(instructions, 1, computeUnitPrice(10_001n)))).toMatch(/priority_fee/);
    expect(reason(without(instructions, 0))).toMatch(/priority_fee/);
  });

  it('fails if it cannot be read', () => {
    for (const bytes of [
      new Uint8Array(),
      message.slice(0, -1),
      Uint8Array.of(...message, 0),
      message.slice(1),
    ])
      expect(failureOf(bytes, composition)).toBe(UNREADABLE);
  });

  it('fails at every flipped byte, except for another blockhash, a smaller fee or a stricter guard', () => {
    const read = (bytes: Uint8Array) =>
      // Kit types the result as its own output, but another builder compiled these bytes.
      (
        decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(bytes))
          .instructions as readonly KitInstruction[]
      ).map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
        calls: [programAddress, ...accounts.map(({ address }) => address)],
        data: [...data],
      }));
    const numbers = [0, 1, guardFrom + 1, guardFrom + 4, last];
    const honest = read(message);
    const flips = [...message.keys()].map((at) =>
      message.map((byte, index) => (index === at ? byte ^ 1 : byte)),
    );
    const passed = flips.filter((flipped) => failureOf(flipped, composition) === undefined);
    for (const flipped of passed) {
      const found = read(flipped);
      expect(found.map(({ calls }) => calls)).toEqual(honest.map(({ calls }) => calls));
      const changed = found.flatMap(({ data }, index) =>
        data.join() === honest[index]?.data.join() ? [] : [index],
      );
      expect(changed.filter((index) => !numbers.includes(index))).toEqual([]);
    }
    expect(passed.length).toBeGreaterThanOrEqual(32);
  });
});

describe('a message with lookup tables', () => {
  const instruction = fromKit(routeV2({ ...VENUE_SWAP, ...amounts, extra: [someKey(121)] }));
  const { message, composition } = composed({ instruction }, tables);

  it('cannot be read without its tables', () => {
    expect(failureOf(message, { ...composition, lookupTables: [] })).toBe(UNREADABLE);
  });

  it('is another swap if its tables hold other accounts', () => {
    const [table] = tables;
    if (table === undefined) throw new Error('there is a table');
    const changedTables = [{ ...table, addresses: [someKey(122), ...table.addresses.slice(1)] }];
    expect(failureOf(message, { ...composition, lookupTables: changedTables })).toBe(OTHER_SWAP);
  });
});
