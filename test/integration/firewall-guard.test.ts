import { address, type Address, getAddressEncoder } from '@solana/kit';
import type { ChainAccount, MintSymbol } from 'exact-change-sandbox';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Instruction } from '../../src/solana/types.js';
import { guard } from '../../src/swaps/firewall/guard.js';
import { u64 } from '../corpus/accounts.js';
import { PROGRAMS } from '../corpus/addresses.js';
import { transaction } from '../corpus/build.js';
import {
  closeAccount,
  createAccount,
  type FilledInstruction,
  instruction,
  readonly,
  signer,
  writable,
} from '../corpus/instructions.js';
import { accountsOf, simulatedBy } from '../helpers/estate.js';
import { inTurn, share } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';
import { controlOf } from '../helpers/traded.js';
import { toKit } from '../unit/swaps/support.js';

// Steps of a hostile venue in a swap, on the real token programs. The venue signs with the wallet
// and with its own accounts.

const VENUE = address('Attack1111111111111111111111111111111111112');
const symbols = ['USDC', 'PYUSD', 'SOL'] as const;
const HELD = 5_000_000n;

const sandbox = await useSandbox({ seed: 'firewall-guard', confirmationMs: 0, slotMs: 0 });
let wallet: Address;
let at: Readonly<Record<MintSymbol, Address>>;
let loot: Readonly<Record<MintSymbol, Address>>;

beforeAll(async () => {
  const { chain, mints } = sandbox;
  wallet = address((await sandbox.createWallet({ SOL: '1' })).address);
  chain.fundSol(VENUE, 1_000_000_000n);
  for (const symbol of symbols)
    for (const owner of [wallet, VENUE]) await chain.fundToken(owner, mints[symbol], HELD);
  at = await accountsOf(wallet, mints);
  loot = await accountsOf(VENUE, mints);
});

type Party = 'wallet' | 'venue';
type Step = readonly [name: string, make: (symbol: MintSymbol) => FilledInstruction];

const keyOf = (party: Party): Address => (party === 'wallet' ? wallet : VENUE);
const bytesOf = (party: Party) => [...getAddressEncoder().encode(keyOf(party))];
const called = (
  symbol: MintSymbol,
  by: Party,
  data: readonly number[],
  more: readonly Address[] = [],
) =>
  instruction(
    sandbox.mints[symbol].tokenProgram,
    [writable(at[symbol]), ...more.map(readonly), signer(keyOf(by))],
    data,
  );

const OWNER = 2;
const CLOSER = 3;
const authority =
  (kind: number, by: Party, to: Party) =>
  (symbol: MintSymbol): FilledInstruction =>
    called(symbol, by, [6, kind, 1, ...bytesOf(to)]);
const approval = (by: Party, to: Party) => (symbol: MintSymbol) =>
  called(symbol, by, [4, ...u64(2n ** 64n - 1n)], [keyOf(to)]);
const transfer = (by: Party) => (symbol: MintSymbol) =>
  instruction(
    sandbox.mints[symbol].tokenProgram,
    [
      writable(at[symbol]),
      readonly(sandbox.mints[symbol].address),
      writable(loot[symbol]),
      signer(keyOf(by)),
    ],
    [12, ...u64(HELD), sandbox.mints[symbol].decimals],
  );

/** Every step that changes the keys that control an account, or its balance. */
const steps: readonly Step[] = [
  ['the wallet hands it over', authority(OWNER, 'wallet', 'venue')],
  ['the venue hands it back', authority(OWNER, 'venue', 'wallet')],
  ['the wallet lets the venue close it', authority(CLOSER, 'wallet', 'venue')],
  ['the venue lets the wallet close it', authority(CLOSER, 'venue', 'wallet')],
  ['the wallet approves the venue', approval('wallet', 'venue')],
  ['the wallet approves itself', approval('wallet', 'wallet')],
  ['the venue approves the wallet', approval('venue', 'wallet')],
  ['the wallet revokes', (symbol) => called(symbol, 'wallet', [5])],
  ['the wallet pays the venue', transfer('wallet')],
  ['the venue pays itself', transfer('venue')],
  [
    'the wallet closes it for the venue',
    (symbol) => closeAccount(at[symbol], VENUE, wallet, sandbox.mints[symbol].tokenProgram),
  ],
  [
    'the venue makes it anew',
    (symbol) => {
      const { address: mint, tokenProgram } = sandbox.mints[symbol];
      return createAccount({
        payer: VENUE,
        account: at[symbol],
        owner: wallet,
        mint,
        tokenProgram,
      });
    },
  ],
];

const sequences = [
  ...steps.map((step) => [step]),
  // The sample of triples has each pair of steps at each pair of places once.
  ...steps.flatMap((first, row) =>
    steps.flatMap((second, column) =>
      share(steps, inTurn(steps, row + column)).map((third) => [first, second, third]),
    ),
  ),
];

function filled(unfilled: Instruction): FilledInstruction {
  const { programAddress, accounts, data } = toKit(unfilled);
  const metas = accounts.map((account) => ({ ...account, address: address(account.address) }));
  return instruction(address(programAddress), metas, data);
}

const amountOf = ({ data }: ChainAccount) => Buffer.from(data).readBigUInt64LE(64);

describe('the guard of a swap', () => {
  it.each(symbols.flatMap((symbol) => [0n, HELD].map((least) => [symbol, least] as const)))(
    'stops any three steps that change the owner of the %s account or leave less than %d in it',
    async (symbol, least) => {
      const { chain, mints } = sandbox;
      const { address: mint, tokenProgram, decimals } = mints[symbol];
      const before = chain.account(at[symbol]);
      const lamports = chain.account(wallet)?.lamports ?? 0n;
      if (before === undefined) throw new Error('the account is gone');
      const own = {
        address: at[symbol],
        mint,
        tokenProgram,
        decimals,
        exists: true,
        balance: HELD,
        uncounted: 0n,
        lamports: before.lamports,
      };
      // The wallet pays 5,000 lamports for its own signature and as much for the venue's.
      const floors = {
        wallet,
        lamports: lamports - 10_000n,
        tokens: [{ account: own, least, closed: false }],
      };
      const end = guard(floors).map(filled);
      const venueSigns = instruction(PROGRAMS.memo, [signer(VENUE)], [65]);
      const harmed: string[] = [];
      let passed = 0;
      for (const attack of sequences) {
        const instructions = [venueSigns, ...attack.map(([, make]) => make(symbol)), ...end];
        const { error, after } = await simulatedBy(
          sandbox,
          transaction({ feePayer: wallet, instructions }),
          [wallet, at[symbol]],
        );
        if (error !== null) continue;
        passed += 1;
        const [account, left] = [after.get(at[symbol]), after.get(wallet)?.lamports ?? 0n];
        const isKept =
          account !== undefined &&
          JSON.stringify(controlOf(account), text) === JSON.stringify(controlOf(before), text);
        if (!isKept || amountOf(account) < least || left < floors.lamports)
          harmed.push(attack.map(([name]) => name).join(', '));
      }
      expect(harmed).toEqual([]);
      expect(passed).toBeGreaterThan(0);
    },
  );
});

const text = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
