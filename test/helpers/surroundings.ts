import {
  AccountRole,
  address,
  type Address,
  type AccountMeta,
  getAddressEncoder,
  type Instruction,
} from '@solana/kit';
import fc from 'fast-check';
import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import type { Deal, Estate } from './estate.js';

const SYSTEM = address('11111111111111111111111111111111');
const BUDGET = address('ComputeBudget111111111111111111111111111111');
const ASSOCIATED = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const TOKEN_2022 = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
const JUPITER = address('JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4');
const PROGRAMS: readonly Address[] = [
  ...[SYSTEM, BUDGET, ASSOCIATED, TOKEN, TOKEN_2022, JUPITER],
  ...[
    address('AddressLookupTab1e1111111111111111111111111'),
    address('Stake11111111111111111111111111111111111111'),
  ],
  ...[
    address('BPFLoaderUpgradeab1e11111111111111111111111'),
    address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'),
  ],
  address('Foreign111111111111111111111111111111111112'),
];

/** The accounts that a generated instruction can name. The wallet signs wherever it is named. */
export interface Participants {
  readonly estate: Estate;
  readonly mints: Sandbox['mints'];
  readonly attacker: Address;
  /** The attacker's token accounts. */
  readonly loot: Readonly<Record<MintSymbol, Address>>;
  readonly deal: Deal;
  /** Instructions of the aggregator: the swap, and the instructions that it needs around it. */
  readonly good: readonly Instruction[];
}

const RECENT = address('SysvarRecentB1ockHashes11111111111111111111');
const RENT = address('SysvarRent111111111111111111111111111111111');

const bytesOf = (key: Address): number[] => [...getAddressEncoder().encode(key)];
// `placed` later makes the wallet a signer, so these roles have no signers.
const writable = (key: Address): AccountMeta => ({ address: key, role: AccountRole.WRITABLE });
const readonly = (key: Address): AccountMeta => ({ address: key, role: AccountRole.READONLY });
const make = (programAddress: Address, accounts: AccountMeta[], data: number[]): Instruction => ({
  programAddress,
  accounts,
  data: Uint8Array.from(data),
});

function le(bytes: number, value: bigint): number[] {
  return Array.from({ length: bytes }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn));
}

/** An extra instruction, and its place relative to the swap. */
interface Extra {
  readonly instruction: Instruction;
  readonly side: 'before' | 'after' | 'last' | 'any';
}

/** Returns instructions that Jupiter and the library put around a swap, each correct by itself. */
function templates({ estate, mints, deal }: Participants, lamports: bigint): Extra[] {
  const { wallet, at } = estate;
  const before = (instruction: Instruction): Extra => ({ instruction, side: 'before' });
  const after = (instruction: Instruction): Extra => ({ instruction, side: 'after' });
  const legs = [deal.from, deal.to].map((symbol) => ({ ...mints[symbol], own: at[symbol] }));
  return [
    before(make(BUDGET, [], [2, ...le(4, 1_400_000n)])),
    before(make(BUDGET, [], [3, ...le(8, lamports % 200_000n)])),
    before(make(SYSTEM, [writable(wallet), writable(at.SOL)], [2, 0, 0, 0, ...le(8, lamports)])),
    before(make(TOKEN, [writable(at.SOL)], [17])),
    ...[...legs, { ...mints.SOL, own: at.SOL }].map(({ own, address: mint, tokenProgram }) =>
      before(
        make(
          ASSOCIATED,
          [writable(wallet), writable(own), ...[wallet, mint, SYSTEM, tokenProgram].map(readonly)],
          [1],
        ),
      ),
    ),
    after(make(TOKEN, [writable(at.SOL), writable(wallet), readonly(wallet)], [9])),
    ...legs.flatMap(({ own, address: mint, tokenProgram, decimals }) => [
      after(
        make(
          tokenProgram,
          [writable(own), readonly(mint), writable(own), readonly(wallet)],
          [12, ...le(8, lamports), decimals],
        ),
      ),
      after(make(tokenProgram, [writable(own), readonly(wallet)], [5])),
      after(make(tokenProgram, [writable(own), readonly(wallet)], [6, 3, 0])),
    ]),
    {
      side: 'last',
      instruction: make(
        SYSTEM,
        [writable(wallet), writable(wallet)],
        [2, 0, 0, 0, ...le(8, lamports)],
      ),
    },
  ];
}

/** Returns instructions that take assets or rights from the wallet, each valid by itself. */
function thefts({ estate, mints, attacker, loot }: Participants, lamports: bigint): Instruction[] {
  const { wallet, at, others } = estate;
  const [stash, spendable, nonce, minted] = others;
  const symbols = ['USDC', 'USDT', 'BONK'] as const;
  return [
    make(SYSTEM, [writable(wallet), writable(attacker)], [2, 0, 0, 0, ...le(8, lamports)]),
    make(SYSTEM, [writable(wallet)], [1, 0, 0, 0, ...bytesOf(attacker)]),
    make(SYSTEM, [writable(nonce!), readonly(wallet)], [7, 0, 0, 0, ...bytesOf(attacker)]),
    make(
      SYSTEM,
      [writable(nonce!), writable(attacker), readonly(RECENT), readonly(RENT), readonly(wallet)],
      [5, 0, 0, 0, ...le(8, 10_000_000n)],
    ),
    make(
      ASSOCIATED,
      [
        writable(wallet),
        writable(at.PYUSD),
        readonly(attacker),
        readonly(mints.PYUSD.address),
        readonly(SYSTEM),
        readonly(TOKEN_2022),
      ],
      [1],
    ),
    make(TOKEN, [writable(stash!), writable(loot.USDC), readonly(wallet)], [3, ...le(8, lamports)]),
    make(
      TOKEN,
      [writable(spendable!), writable(loot.USDC), readonly(wallet)],
      [3, ...le(8, 5_000_000n)],
    ),
    make(TOKEN, [writable(minted!), readonly(wallet)], [6, 0, 1, ...bytesOf(attacker)]),
    ...symbols.flatMap((symbol) => [
      make(
        TOKEN,
        [writable(at[symbol]), writable(loot[symbol]), readonly(wallet)],
        [3, ...le(8, lamports % 1_000_000n)],
      ),
      make(
        TOKEN,
        [
          writable(at[symbol]),
          readonly(mints[symbol].address),
          writable(loot[symbol]),
          readonly(wallet),
        ],
        [12, ...le(8, lamports % 1_000_000n), mints[symbol].decimals],
      ),
      make(
        TOKEN,
        [writable(at[symbol]), writable(mints[symbol].address), readonly(wallet)],
        [8, ...le(8, lamports % 1_000_000n)],
      ),
      make(
        TOKEN,
        [writable(at[symbol]), readonly(attacker), readonly(wallet)],
        [4, ...le(8, lamports)],
      ),
      make(TOKEN, [writable(at[symbol]), readonly(wallet)], [6, 2, 1, ...bytesOf(attacker)]),
      make(TOKEN, [writable(at[symbol]), readonly(wallet)], [6, 3, 1, ...bytesOf(attacker)]),
      make(TOKEN, [writable(at[symbol]), writable(attacker), readonly(wallet)], [9]),
    ]),
  ];
}

/** Returns every address that an instruction may name. */
function everybody({ estate, mints, attacker, loot, good }: Participants): Address[] {
  const named = good.flatMap(({ accounts = [] }) => accounts.map((account) => account.address));
  const addresses = [
    ...[
      estate.wallet,
      ...Object.values(estate.at),
      ...estate.others,
      attacker,
      ...Object.values(loot),
      ...PROGRAMS,
    ],
    ...[...Object.values(mints).map((mint) => mint.address), ...named],
    ...[
      'Sysvar1nstructions1111111111111111111111111',
      'SysvarRecentB1ockHashes11111111111111111111',
      'SysvarRent111111111111111111111111111111111',
    ].map((sysvar) => address(sysvar)),
  ];
  return [...new Set(addresses)];
}

/** Draws the aggregator's instructions with one to six extra instructions at any place. */
export function crowdedInstructions(cast: Participants): fc.Arbitrary<Instruction[]> {
  const { wallet } = cast.estate;
  // Make the wallet a signer, and programs read-only, because kit refuses to compile a writable
  // program.
  const placed = ({ address: named, role }: AccountMeta): AccountMeta => {
    const isRead = role === AccountRole.READONLY || role === AccountRole.READONLY_SIGNER;
    if (named === wallet)
      return {
        address: named,
        role: isRead ? AccountRole.READONLY_SIGNER : AccountRole.WRITABLE_SIGNER,
      };
    return {
      address: named,
      role: isRead || PROGRAMS.includes(named) ? AccountRole.READONLY : AccountRole.WRITABLE,
    };
  };
  const account = fc.record({
    address: fc.constantFrom(...everybody(cast)),
    role: fc.constantFrom(AccountRole.WRITABLE, AccountRole.READONLY),
  });
  const amount = fc.oneof(
    { arbitrary: fc.bigInt({ min: 0n, max: 1_000_000n }), weight: 6 },
    { arbitrary: fc.constantFrom(0n, 30_000_000n, (1n << 64n) - 1n), weight: 1 },
  );
  const correct = amount.chain((lamports) => fc.constantFrom(...templates(cast, lamports)));
  const theft = amount.chain((lamports) => fc.constantFrom(...thefts(cast, lamports)));
  // A correct instruction with a single change, because an attacker would change as little as
  // possible.
  const changedOnce = fc
    .record({
      ...{
        correct,
        what: fc.nat({ max: 4 }),
        at: fc.nat(),
        other: account,
        byte: fc.nat({ max: 255 }),
        program: fc.constantFrom(...PROGRAMS),
      },
    })
    .map(({ correct: { instruction, side }, what, at, other, byte, program }): Extra => {
      const { accounts = [], data = new Uint8Array() } = instruction;
      const place = at % Math.max(1, accounts.length);
      const changed = [
        { ...instruction, accounts: accounts.map((old, index) => (index === place ? other : old)) },
        {
          ...instruction,
          data: Uint8Array.from(data, (old, index) => (index === at % data.length ? byte : old)),
        },
        { ...instruction, accounts: [...accounts, other] },
        { ...instruction, programAddress: program },
      ][what];
      return changed === undefined ? { instruction, side: 'any' } : { instruction: changed, side };
    });
  // Token programs have operation codes of one byte, and the System program of four bytes.
  const opcode = fc.oneof(
    fc.nat({ max: 45 }).map((code) => [code]),
    fc.nat({ max: 12 }).map((code) => le(4, BigInt(code))),
  );
  const word = fc.oneof(
    amount.map((value) => le(8, value)),
    fc.constantFrom([0], [1], [6], [0, 0, 0, 0]),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => [...bytes]),
  );
  const any = fc
    .record({
      program: fc.constantFrom(...PROGRAMS),
      accounts: fc.array(account, { maxLength: 6 }),
      head: opcode,
      rest: fc.array(word, { maxLength: 3 }),
    })
    .map(({ program, accounts, head, rest }) => make(program, accounts, [...head, ...rest.flat()]));
  const anywhere = fc.oneof({ arbitrary: theft, weight: 1 }, { arbitrary: any, weight: 1 });
  const extra = fc.oneof(
    { arbitrary: correct, weight: 6 },
    { arbitrary: changedOnce, weight: 1 },
    { arbitrary: anywhere.map((instruction): Extra => ({ instruction, side: 'any' })), weight: 1 },
  );
  const more = fc.array(fc.record({ extra, at: fc.nat() }), { minLength: 1, maxLength: 6 });
  // Half of the cases drop the compute budget, so that extra instructions can replace it.
  const base = fc
    .boolean()
    .map((budget) => cast.good.filter(({ programAddress }) => budget || programAddress !== BUDGET));
  return fc
    .tuple(base, more)
    .map(([good, extras]) => extras.reduce((list, item) => put(list, item.extra, item.at), good))
    .map((list) =>
      list.map(({ accounts = [], ...rest }) => ({ ...rest, accounts: accounts.map(placed) })),
    );
}

/** Returns the list with an extra instruction, at a place on its side of the swap. */
function put(
  list: readonly Instruction[],
  { instruction, side }: Extra,
  at: number,
): Instruction[] {
  const swapAt = list.findIndex(({ programAddress }) => programAddress === JUPITER);
  const [from, to] = {
    ...{
      before: [0, swapAt],
      after: [swapAt + 1, list.length],
      last: [list.length, list.length],
      any: [0, list.length],
    },
  }[side];
  const place = from! + (at % (to! - from! + 1));
  return [...list.slice(0, place), instruction, ...list.slice(place)];
}
