import { describe, expect, it } from 'vitest';
import { TOKEN_PROGRAM } from '../../../../src/network.js';
import { JUPITER_PROGRAM, SYSTEM_PROGRAM } from '../../../../src/solana/programs.js';
import type { InnerInstruction, Simulation } from '../../../../src/solana/rpc/rpc.js';
import type { Instruction } from '../../../../src/solana/types.js';
import { inspectTransaction, type InspectionNode } from '../../../../src/swaps/firewall/inspect.js';
import { surroundingsRules } from '../../../../src/swaps/firewall/surroundings.js';
import { temporaryOf } from '../../../../src/swaps/jupiter/decoder.js';
import { swapDecoders as decoders } from '../../../../src/swaps/sources.js';
import { account, type ChainAccount } from '../../../corpus/accounts.js';
import { PROGRAMS } from '../../../corpus/addresses.js';
import { base, draftOf, instructionsOf } from '../../../corpus/bases.js';
import { transaction } from '../../../corpus/build.js';
import { SLOT, WORLD } from '../../../corpus/index.js';
import { recorded, RENT, TEMPORARY } from '../../../corpus/temporary.js';
import { fromKit, STRANGER, WALLET, WSOL } from '../support.js';

describe('the temporary account of Jupiter', () => {
  // Wallet, account and bump of transactions from `/swap` and `/order`, as public repositories
  // record them.
  const RECORDED: readonly (readonly [wallet: string, address: string, bump: number])[] = [
    [
      'BP5DDMf2fm6tVtBp2pEYvxmxAHdk4bGP3nUwhCd1KN6a',
      'CxGhs1r9tuB4QzGj5GFCnnfWwwNoRAxy1Yu5jhFAUGcW',
      255,
    ],
    [
      '3X2LFoTQecbpqCR7G5tL1kczqBKurjKPHhKSZrJ4wgWc',
      '7sW1uXipSvnsX94sqCPV5Rtc7aorj3rD2qyYHcQdv173',
      253,
    ],
    [
      'jdocuPgEAjMfihABsPgKEvYtsmMzjUHeq9LX4Hvs7f3',
      'BNwvLcrnnSLEiKzyLYwPGLeCcWZxdfVZfLDfyD9TTdxJ',
      252,
    ],
    [
      'GkqSi3d2Xud7DkJdcoS6JcfHCP3TSKbUdHzL3g3qwJRb',
      '9T3Rf7Z4GLr5VtZsBTWzVAMiUYseRXe57PcHx7T8EBA4',
      254,
    ],
    [
      '4cTNEpSA6STG1zzAHP2kvrRPktmAqbPCTC9zGpTKKTxG',
      '9nd6BFYTGymTJ5Z3p8fifkScGsQRPPUispkBd2Yn3LPH',
      255,
    ],
    [
      '3opR1scwKYwJK7ygW17zzrvf824Jp1xKGPcMAmWPeD5K',
      'ATHPRyJsSv5qMKSMZnBroPhGguEjZEaE7zKqD4BVgf6f',
      254,
    ],
    [
      'EchiScZ84gZNWhYyFZgs3aSsKEZ1Dyph8SL3du23MaNi',
      '7nheshdYExm6jNC6Yuj4D7RAGSZK17kkszdyHVTAMgqJ',
      255,
    ],
  ];
  it.each(RECORDED)('has the recorded address for the wallet %s', (wallet, address, bump) => {
    const accounts = [address, wallet, WSOL, TOKEN_PROGRAM, SYSTEM_PROGRAM].map((key) => ({
      address: key,
      signer: false,
      writable: false,
    }));
    const made: Instruction = {
      program: JUPITER_PROGRAM,
      accounts,
      data: Uint8Array.of(147, 241, 123, 100, 244, 132, 174, 118, bump),
    };
    expect(temporaryOf(made, wallet)).toBe(address);
    expect(temporaryOf(made, WALLET)).toBeUndefined();
    expect(
      temporaryOf({ ...made, data: Uint8Array.of(...made.data.subarray(0, 8), bump - 1) }, wallet),
    ).toBeUndefined();
  });
});

const world = new Map<string, ChainAccount | null>(WORLD);
const HELD = 2_000_000_000n;
/** 77,426 units at 161,977 micro-lamports, and a signature. */
const FEES = 12_542n + 5_000n;
const MADE_AT = { 'sol-usdc': 3, 'usdc-sol': 2 };
type Side = keyof typeof MADE_AT;

/** Judges the recorded transaction with a simulation that shows these values. */
async function judged(
  side: Side,
  shown: {
    readonly lamports: bigint;
    readonly left?: boolean;
    readonly inner?: readonly Partial<InnerInstruction>[];
  },
) {
  const from = base('route_v2', side, false);
  const { expected } = from;
  const { account: temporary } = TEMPORARY;
  const after = (address: string) => {
    if (address === WALLET) return account(PROGRAMS.system, new Uint8Array(), shown.lamports);
    const before = world.get(address) ?? null;
    if (address === temporary)
      return shown.left === true ? account(PROGRAMS.token, new Uint8Array(165)) : null;
    const data = Uint8Array.from(before?.data ?? []);
    // The balance on the other side of the swap, as agreed.
    new DataView(data.buffer).setBigUint64(
      64,
      side === 'sol-usdc' ? 1_000_000_000n + expected.minOut : 1_000_000_000n - expected.maxIn,
      true,
    );
    return before === null ? null : { ...before, data };
  };
  const call = (outer: number, change: Partial<InnerInstruction>): InnerInstruction => ({
    ...{
      outer,
      program: TOKEN_PROGRAM,
      name: 'transferChecked',
      addresses: [temporary, WALLET],
      creates: undefined,
    },
    ...change,
  });
  const at = MADE_AT[side];
  const node: InspectionNode = {
    accounts: async (addresses) => ({
      slot: Number(SLOT),
      accounts: addresses.map((address) => world.get(address) ?? null),
    }),
    rent: async (bytes) => BigInt(bytes + 128) * 6_960n,
    simulate: async (_bytes, addresses): Promise<Simulation> => ({
      ...{
        slot: Number(SLOT),
        error: null,
        logs: [],
        unitsConsumed: 1n,
        accounts: addresses.map(after),
      },
      inner: [call(at + 1, {}), ...(shown.inner ?? []).map((change) => call(at, change))],
    }),
  };
  const terms = { ...expected, decoders, wallet: WALLET };
  const found = await inspectTransaction(node, transaction(draftOf(recorded(from))), terms);
  return { rule: found.broken?.id, outlay: found.outlay };
}

/** The lamports that the wallet must have at the end. */
const least = (side: Side): bigint => {
  const { expected } = base('route_v2', side, false);
  return side === 'sol-usdc' ? HELD - FEES - expected.maxIn : HELD - FEES + expected.minOut;
};

describe.each(['sol-usdc', 'usdc-sol'] as const)(
  'a swap %s through the temporary account',
  (side) => {
    const program = SYSTEM_PROGRAM;
    const { account: temporary } = TEMPORARY;
    const honest = [
      { program, name: 'transfer', addresses: [WALLET, temporary] },
      { program, name: 'allocate', addresses: [temporary] },
      { program, name: 'assign', addresses: [temporary, TOKEN_PROGRAM] },
      { name: 'initializeAccount3', addresses: [temporary, WSOL, WALLET] },
    ];

    it('is accepted if the account is gone at the end and its whole rent is back', async () => {
      const { rule, outlay } = await judged(side, { lamports: least(side), inner: honest });
      expect(rule).toBeUndefined();
      expect(outlay).toMatchObject({ rent: 0n, floors: { lamports: least(side) } });
    });

    it.each<[string, Parameters<typeof judged>[1], string]>([
      ['a lamport is missing', { lamports: least(side) - 1n }, 'simulated_lamports'],
      ['its rent is not back', { lamports: least(side) - RENT }, 'simulated_lamports'],
      ['the account still exists', { lamports: least(side), left: true }, 'simulated_account'],
    ])('is refused if %s', async (_name, shown, rule) => {
      expect((await judged(side, { inner: honest, ...shown })).rule).toBe(rule);
    });

    it.each<[string, Partial<InnerInstruction>]>([
      ['assigns the wallet', { program, name: 'assign', addresses: [WALLET] }],
      ['approves a delegate', { name: 'approve', addresses: [temporary, STRANGER, WALLET] }],
      ['changes an authority', { name: 'setAuthority', addresses: [temporary, WALLET] }],
      ['creates another account', { name: 'initializeAccount3', addresses: [STRANGER] }],
      ['calls an unknown program', { program: STRANGER, name: undefined, addresses: [] }],
    ])('is refused if its creation %s', async (_name, call) => {
      const { rule } = await judged(side, { lamports: least(side), inner: [call] });
      expect(rule).toBe('inner_temporary');
    });
  },
);

it('refuses a temporary account in a swap of two other tokens', () => {
  const rule = surroundingsRules.find(({ id }) => id === 'temporary_funding');
  const from = base('route_v2', 'usdc-usdt', false);
  const instructions = instructionsOf(recorded(from)).map(fromKit);
  const swapAt = instructions.findIndex(({ data }) => data.length > 20);
  const temporary = { rent: RENT, vacant: true };
  const expected = { ...from.expected, decoders, temporary: TEMPORARY.account };
  expect(rule?.passes({ instructions, swapAt, expected, maxPriorityFee: 0n, temporary })).toBe(
    false,
  );
});
