import { address, getAddressEncoder } from '@solana/kit';
import { describe, expect, it } from 'vitest';
import { TOKEN_PROGRAM } from '../../../../src/network.js';
import { JUPITER_PROGRAM, SYSTEM_PROGRAM } from '../../../../src/solana/programs.js';
import type { Account, InnerInstruction, Simulation } from '../../../../src/solana/rpc/rpc.js';
import type { Floors } from '../../../../src/swaps/firewall/guard.js';
import { type OwnAccount, readOwnAccount } from '../../../../src/swaps/accounts/own-account.js';
import { checkSimulation, watchedAccounts } from '../../../../src/swaps/firewall/simulation.js';
import {
  DESTINATION,
  SOURCE,
  STRANGER,
  USDC,
  USDT,
  WALLET,
  account,
  tokenAccountData,
} from '../support.js';
import { swapDecoders as decoders } from '../../../../src/swaps/sources.js';

const bytes = (text: string) => new Uint8Array(getAddressEncoder().encode(address(text)));
const own = (at: string, mint: string): OwnAccount => ({
  address: at,
  mint,
  tokenProgram: TOKEN_PROGRAM,
  decimals: 6,
  exists: true,
  uncounted: 0n,
  balance: 10n,
  lamports: 1n,
});

const FLOORS: Floors = {
  wallet: WALLET,
  lamports: 1_000n,
  tokens: [
    { account: own(SOURCE, USDC), least: 500n, closed: false },
    { account: own(DESTINATION, USDT), least: 900n, closed: false },
  ],
};

const READ_AT = 100;
const SWAP_AT = 3;
/** A call that every swap makes inside. */
const TRANSFER = {
  outer: SWAP_AT,
  program: TOKEN_PROGRAM,
  name: 'transferChecked',
  addresses: [SOURCE, WALLET],
  creates: undefined,
};

type Change = Partial<Parameters<typeof tokenAccountData>[0]>;
const token = (mint: string, amount: bigint, change: Change = {}) =>
  account(TOKEN_PROGRAM, tokenAccountData({ mint, owner: WALLET, amount, bytes, ...change }));

function simulation(
  change: {
    wallet?: Account | null;
    source?: Account | null;
    output?: Account | null;
    error?: string;
    logs?: string[];
    slot?: number;
    inner?: InnerInstruction[];
  } = {},
): Simulation {
  const {
    wallet = account(SYSTEM_PROGRAM, new Uint8Array(), 1_000n),
    source = token(USDC, 500n),
    output = token(USDT, 900n),
  } = change;
  return {
    slot: change.slot ?? READ_AT,
    error: change.error ?? null,
    logs: change.logs ?? [],
    unitsConsumed: 1n,
    accounts: [wallet, source, output],
    inner: change.inner ?? [TRANSFER],
  };
}

const walletOf = (owner: string, bytes: number, lamports: bigint) => ({
  wallet: account(owner, new Uint8Array(bytes), lamports),
});
const sourceOf = (change: Change) => ({ source: token(USDC, 500n, change) });
const outputOf = (change: Change) => ({ output: token(USDT, 900n, change) });

const ruleOf = (changed: Simulation, floors = FLOORS) => {
  try {
    checkSimulation(changed, { decoders, floors, readAt: READ_AT, swapAt: SWAP_AT, guardFrom: 5 });
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ funds: 'untouched', moved: [] });
    return (error as { code: string; details: { rule?: string; reason?: string } }).details;
  }
};

describe('checkSimulation', () => {
  it('passes a simulation that holds every floor exactly', () => {
    expect(ruleOf(simulation())).toBeUndefined();
    expect(watchedAccounts(FLOORS)).toEqual([WALLET, SOURCE, DESTINATION]);
  });

  it.each<[string, string, Parameters<typeof simulation>[0]]>([
    ['the wallet is gone', 'simulated_wallet', { wallet: null }],
    ['the wallet is assigned to a program', 'simulated_wallet', walletOf(STRANGER, 0, 1_000n)],
    ['the wallet gets data', 'simulated_wallet', walletOf(SYSTEM_PROGRAM, 1, 1_000n)],
    ['SOL is taken', 'simulated_lamports', walletOf(SYSTEM_PROGRAM, 0, 999n)],
    ['it ran before the accounts were read', 'simulated_slot', { slot: READ_AT - 1 }],
    ['it ran long after the accounts were read', 'simulated_slot', { slot: READ_AT + 151 }],
    ['the node shows no inner calls', 'inner_shown', { inner: [] }],
    [
      'the swap approves a delegate and revokes it again',
      'inner_token',
      { inner: [{ ...TRANSFER, name: 'approve' }] },
    ],
    [
      'the swap assigns the wallet',
      'inner_system',
      {
        inner: [
          TRANSFER,
          { ...TRANSFER, program: SYSTEM_PROGRAM, name: 'assign', addresses: [WALLET] },
        ],
      },
    ],
    ['the source is closed', 'simulated_account', { source: null }],
    ['the source is another mint', 'simulated_account', { source: token(USDT, 500n) }],
    [
      'the source belongs to another program',
      'simulated_account',
      {
        source: account(
          STRANGER,
          tokenAccountData({ mint: USDC, owner: WALLET, amount: 500n, bytes }),
        ),
      },
    ],
    ['the output is frozen', 'simulated_account', outputOf({ state: 2 })],
    ['the source changes hands', 'simulated_owner', sourceOf({ owner: STRANGER })],
    ['the output changes hands', 'simulated_owner', outputOf({ owner: STRANGER })],
    ['a delegate is approved', 'simulated_delegate', sourceOf({ delegate: STRANGER })],
    [
      'a close authority is set',
      'simulated_close_authority',
      outputOf({ closeAuthority: STRANGER }),
    ],
    ['a unit more is taken', 'simulated_balance', { source: token(USDC, 499n) }],
    ['a unit less arrives', 'simulated_balance', { output: token(USDT, 899n) }],
  ])('refuses when %s', (_, rule, change) => {
    expect(ruleOf(simulation(change))).toEqual({ rule });
  });

  it('requires a closed account to be gone', () => {
    const closed: Floors = {
      ...FLOORS,
      tokens: FLOORS.tokens.map((floor, index) => ({ ...floor, closed: index === 0 })),
    };
    expect(ruleOf(simulation({ source: null }), closed)).toBeUndefined();
    expect(
      ruleOf(simulation({ source: account(SYSTEM_PROGRAM, new Uint8Array(), 0n) }), closed),
    ).toBeUndefined();
    expect(ruleOf(simulation(), closed)).toEqual({ rule: 'simulated_account' });
  });

  it('blames the venue only for an error of the guard', () => {
    expect(ruleOf(simulation({ error: '{"InstructionError":[5,{"Custom":1}]}' }))).toEqual({
      rule: 'guard',
    });
    expect(
      ruleOf(simulation({ error: '{"InstructionError":[11,"ExternalAccountLamportSpend"]}' })),
    ).toEqual({ rule: 'guard' });
    expect(ruleOf(simulation({ error: '{"InstructionError":[4,{"Custom":1}]}' }))).toEqual({
      reason: '{"InstructionError":[4,{"Custom":1}]}',
    });
    expect(ruleOf(simulation({ error: 'BlockhashNotFound\u202e' }))).toEqual({
      reason: 'BlockhashNotFound',
    });
  });

  it('names an error of Jupiter, and no error of a venue with the same number', () => {
    const error = '{"InstructionError":[4,{"Custom":6001}]}';
    const jupiter = `Program ${JUPITER_PROGRAM} failed: custom program error: 0x1771`;
    const venue = `Program ${STRANGER} failed: custom program error: 0x1771`;
    expect(ruleOf(simulation({ error, logs: ['Program log: x', jupiter] }))).toEqual({
      reason: 'SlippageToleranceExceeded',
    });
    expect(ruleOf(simulation({ error, logs: [venue, jupiter] }))).toEqual({ reason: error });
  });
});

describe('readOwnAccount', () => {
  const facts = { mint: USDC, tokenProgram: TOKEN_PROGRAM, decimals: 6 };
  const read = (held: Account | null) =>
    readOwnAccount(WALLET, { address: SOURCE, token: facts, account: held });

  it('reads a balance, and an account that does not exist yet', () => {
    expect(read(token(USDC, 12n))).toMatchObject({ exists: true, balance: 12n });
    expect(read(token(USDC, 12n, { closeAuthority: WALLET }))).toMatchObject({ exists: true });
    expect(read(null)).toMatchObject({ exists: false, balance: 0n, lamports: 0n });
    expect(read(account(SYSTEM_PROGRAM, new Uint8Array(), 5n))).toMatchObject({
      exists: false,
      lamports: 5n,
    });
  });

  it.each<[string, Account]>([
    ['a delegate', token(USDC, 12n, { delegate: STRANGER })],
    ['a foreign close authority', token(USDC, 12n, { closeAuthority: STRANGER })],
    ['a freeze', token(USDC, 12n, { state: 2 })],
    ['another owner', token(USDC, 12n, { owner: STRANGER })],
    ['another mint', token(USDT, 12n)],
    ['another program', account(STRANGER, new Uint8Array(165))],
    ['no initialisation', token(USDC, 12n, { state: 0 })],
  ])('refuses an account with %s', (_, held) => {
    expect(() => read(held)).toThrow(
      expect.objectContaining({ code: 'account_unusable', name: 'FundsError' }),
    );
  });
});
