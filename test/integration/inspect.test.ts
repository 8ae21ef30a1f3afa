import {
  AccountRole,
  address,
  type AccountMeta,
  type Address,
  getAddressEncoder,
  type Instruction,
} from '@solana/kit';
import { Connection, PublicKey } from '@solana/web3.js';
import { type ErrorCode, inspectSwap, type InspectOptions, type SwapVerdict } from 'exact-change';
import type { MintSymbol, SandboxWallet, VenueBehaviour } from 'exact-change-sandbox';
import { beforeAll, describe, expect, it } from 'vitest';
import { MODE, TARGET, VENUE } from '../../adapters/sandbox/venue/venue.mjs';
import { type Making, createTemporary, temporaryAt } from '../corpus/temporary.js';
import { tokenAccount, until } from '../helpers/chain.js';
import {
  altered,
  buildForeign,
  type ForeignSwap,
  instruction,
  possessions,
  signAndLand,
  type SwapWish,
} from '../helpers/foreign-swap.js';
import { failureOf } from '../helpers/payer.js';
import { eachNth, share, unsampled } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';
import { endSocket } from '../helpers/web3-socket.js';
import { expectUntouched } from '../helpers/untouched.js';

const ATTACKER = address('Attack1111111111111111111111111111111111112');
const SYSTEM = '11111111111111111111111111111111';
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
/** Lamports of rent for 165 bytes. */
const RENT = 2_039_280n;
/** Lamports of rent for the 187 bytes of an account of PYUSD. */
const RENT_2022 = 2_192_400n;
const SIGNATURE = 5_000n;
/** The aggregator asks for 1,400,000 units at 1,000 micro-lamports. */
const PRIORITY = 1_400n;

const sandbox = await useSandbox({ seed: 'inspect', confirmationMs: 0, slotMs: 0 });

beforeAll(async () => {
  sandbox.chain.fundSol(ATTACKER, 10_000_000n);
});

const funds = { SOL: '0.5', USDC: '20' } as const;
const usdcToUsdt: SwapWish = { from: 'USDC', to: 'USDT', amount: 2_000_000n };

/** Options that ask for exactly what the quote promised, on the sandbox's node. */
function optionsFor(
  { address: wallet }: SandboxWallet,
  { from, to }: SwapWish,
  { maxIn, minOut }: ForeignSwap,
): InspectOptions {
  const { rpcUrl, wsUrl, mints } = sandbox;
  return {
    rpcUrl,
    wsUrl,
    wallet,
    inputMint: mints[from].address,
    outputMint: to,
    maxInAmount: maxIn,
    minOutAmount: minOut.toString(),
  };
}

interface Offered {
  readonly wallet: SandboxWallet;
  readonly swap: ForeignSwap;
  readonly options: InspectOptions;
}

async function offered(
  wish: SwapWish = usdcToUsdt,
  held: Partial<Record<MintSymbol, string>> = funds,
  wrapped = 0n,
): Promise<Offered> {
  const wallet = await sandbox.createWallet(held);
  if (wrapped > 0n)
    await sandbox.chain.fundToken(address(wallet.address), sandbox.mints.SOL, wrapped);
  const swap = await buildForeign(sandbox, wallet.address, wish);
  return { wallet, swap, options: optionsFor(wallet, wish, swap) };
}

async function offeredAs({ wish, held, wrapped, edit }: Shape): Promise<Offered> {
  const { wallet, swap, ...rest } = await offered(wish, held, wrapped);
  if (edit === undefined) return { wallet, swap, ...rest };
  const [owner, account] = [address(wallet.address), address(await own(wallet.address, 'SOL'))];
  const temporary = { ...(await temporaryAt(owner)), user: owner };
  const transaction = await altered(sandbox, swap.transaction, (all) =>
    edit(all, owner, account, temporary),
  );
  return { wallet, swap: { ...swap, transaction }, ...rest };
}

const outcomesOf = ({ rules }: SwapVerdict) =>
  new Map(rules.map(({ id, outcome }) => [id, outcome]));

function expectAccepted(verdict: SwapVerdict, guarded: boolean): void {
  expect(verdict).toMatchObject({ accepted: true, broken: undefined, guarded });
  const notPassed = [...outcomesOf(verdict)].filter(([, outcome]) => outcome !== 'passed');
  expect(notPassed).toEqual(guarded ? [] : [['guard', 'unchecked']]);
  expect(JSON.parse(JSON.stringify(verdict))).toEqual(verdict);
}

/** Expects a refusal by this rule: the rules before it passed, the rules after it are unchecked. */
function expectRefused(verdict: SwapVerdict, rule: string): void {
  expect({
    accepted: verdict.accepted,
    broken: verdict.broken?.id,
    guarded: verdict.guarded || undefined,
  }).toMatchObject({
    accepted: false,
    broken: rule,
  });
  const at = verdict.rules.findIndex(({ outcome }) => outcome === 'broken');
  expect(verdict.rules[at]?.id).toBe(rule);
  // The guard is listed after the rules of the simulation, but is judged before them.
  const checked =
    rule === 'guard' ? verdict.rules.findIndex(({ stage }) => stage === 'simulation') : at;
  const wrong = verdict.rules.filter(
    ({ outcome }, index) => index !== at && outcome !== (index < checked ? 'passed' : 'unchecked'),
  );
  expect(wrong).toEqual([]);
  expect(verdict.summary).toContain(
    `Do not sign it: ${verdict.broken?.refuses ?? ''} (rule ${rule}).`,
  );
  expect(JSON.parse(JSON.stringify(verdict))).toEqual(verdict);
}

interface Shape {
  readonly name: string;
  readonly wish: SwapWish;
  /**
   * Edits the instructions that the aggregator built. `account` is the wallet's account of wrapped
   * SOL, `temporary` the account that Jupiter makes for one swap.
   */
  readonly edit?: (
    instructions: readonly Instruction[],
    wallet: Address,
    account: Address,
    temporary: Making,
  ) => readonly Instruction[];
  /** Base units of wrapped SOL that the wallet holds before. */
  readonly wrapped?: bigint;
  readonly held?: Partial<Record<MintSymbol, string>>;
  readonly rent: bigint;
  /** Programs of the swap besides Jupiter and the compute budget. */
  readonly programs: readonly string[];
  /** Changes of each balance by landing the swap, the fees aside. */
  readonly does: (paid: bigint, got: bigint) => Changes;
}

type Changes = Partial<Record<MintSymbol | 'lamports', bigint>>;

const u64 = (value: bigint) => [...new Uint8Array(new BigUint64Array([value]).buffer)];
const payer = (wallet: string): AccountMeta => ({
  address: address(wallet),
  role: AccountRole.WRITABLE_SIGNER,
});
const writable = (at: string): AccountMeta => ({
  address: address(at),
  role: AccountRole.WRITABLE,
});
const readable = (at: string): AccountMeta => ({
  address: address(at),
  role: AccountRole.READONLY,
});
const own = (wallet: string, symbol: MintSymbol) => tokenAccount(wallet, sandbox.mints[symbol]);

const createWrapped = (wallet: Address, account: Address) =>
  instruction(
    'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
    [
      payer(wallet),
      writable(account),
      ...[wallet, sandbox.mints.SOL.address, SYSTEM, TOKEN].map(readable),
    ],
    [1],
  );
const closeWrapped = (wallet: Address, account: Address) =>
  instruction(
    TOKEN,
    [writable(account), writable(wallet), { address: wallet, role: AccountRole.READONLY_SIGNER }],
    [9],
  );
const wrap = (wallet: Address, account: Address, lamports: bigint) =>
  instruction(SYSTEM, [payer(wallet), writable(account)], [2, 0, 0, 0, ...u64(lamports)]);
const isClose = ({ programAddress, data }: Instruction) =>
  programAddress === TOKEN && data?.[0] === 9;
const isWrap = ({ programAddress }: Instruction) => programAddress === SYSTEM;
const isSync = ({ programAddress, data }: Instruction) =>
  programAddress === TOKEN && data?.[0] === 17;

/**
 * Edits a swap into the form that Jupiter builds if the wallet's own wrapped SOL is to be left
 * alone: the SOL goes through an account that its program makes for this swap.
 */
const throughTemporary: Shape['edit'] = (all, wallet, account, temporary) =>
  all
    .filter(
      (step) =>
        !isSync(step) &&
        !(step.programAddress.startsWith('AToken') && step.accounts?.[1]?.address === account),
    )
    .flatMap((step) => {
      if (isWrap(step))
        return [
          wrap(wallet, temporary.account, RENT + Buffer.from(step.data ?? []).readBigUInt64LE(4)),
        ];
      const accounts = step.accounts?.map((meta) =>
        meta.address === account ? { ...meta, address: temporary.account } : meta,
      );
      const moved = accounts === undefined ? step : { ...step, accounts };
      return step.programAddress === VENUE ? [createTemporary(temporary), moved] : [moved];
    });

const fromSol = { from: 'SOL', to: 'USDC', amount: 20_000_000n } as const;
const intoSol = { from: 'USDC', to: 'SOL', amount: 3_000_000n } as const;
const exactOut = (wish: SwapWish, amount: bigint): SwapWish => ({
  ...wish,
  amount,
  exactOut: true,
});
const asIs = { wrapAndUnwrapSol: false };
const wraps = ['System', 'Token'];

/** `does` is worked out by hand; only the amounts paid and got come from the quote. */
const shapes: readonly Shape[] = [
  {
    ...{
      name: 'SOL into a new account',
      wish: fromSol,
      held: { SOL: '0.5' },
      programs: [...wraps, 'Associated Token'],
    },
    ...{ rent: RENT, does: (paid, got) => ({ lamports: -paid - RENT, USDC: got }) },
  },
  {
    ...{
      name: 'SOL into an existing account',
      wish: fromSol,
      programs: [...wraps, 'Associated Token'],
    },
    ...{ rent: 0n, does: (paid, got) => ({ lamports: -paid, USDC: got }) },
  },
  {
    ...{
      name: 'SOL for an exact output',
      wish: exactOut(fromSol, 3_000_000n),
      programs: [...wraps, 'Associated Token'],
    },
    ...{ rent: 0n, does: (paid, got) => ({ lamports: -paid, USDC: got }) },
  },
  {
    ...{
      name: 'SOL beside held wrapped SOL, which is unwrapped too',
      wish: fromSol,
      wrapped: 30_000_000n,
      programs: wraps,
    },
    ...{ rent: 0n },
    does: (paid, got) => ({ lamports: 30_000_000n - paid + RENT, SOL: -30_000_000n, USDC: got }),
  },
  {
    ...{
      name: 'wrapped SOL',
      wish: { ...fromSol, body: asIs },
      wrapped: 30_000_000n,
      programs: [],
    },
    ...{ rent: 0n, does: (paid, got) => ({ SOL: -paid, USDC: got }) },
  },
  {
    ...{
      name: 'wrapped SOL for an exact output, into a new account',
      wish: { ...exactOut(fromSol, 3_000_000n), body: asIs },
    },
    ...{ wrapped: 30_000_000n, held: { SOL: '0.5' }, programs: ['Associated Token'] },
    ...{ rent: RENT, does: (paid, got) => ({ lamports: -RENT, SOL: -paid, USDC: got }) },
  },
  {
    ...{ name: 'USDC into a new account', wish: usdcToUsdt, programs: ['Associated Token'] },
    ...{ rent: RENT, does: (paid, got) => ({ lamports: -RENT, USDC: -paid, USDT: got }) },
  },
  {
    ...{
      name: 'USDC for an exact output',
      wish: exactOut(usdcToUsdt, 2_000_000n),
      held: { ...funds, USDT: '1' },
      programs: [],
    },
    ...{ rent: 0n, does: (paid, got) => ({ USDC: -paid, USDT: got }) },
  },
  {
    ...{
      name: 'USDC through shared accounts',
      wish: { ...usdcToUsdt, body: { useSharedAccounts: true } },
      programs: ['Associated Token'],
    },
    ...{ rent: RENT, does: (paid, got) => ({ lamports: -RENT, USDC: -paid, USDT: got }) },
  },
  {
    ...{
      name: 'USDC with the creation of an existing account',
      wish: { ...usdcToUsdt, body: { skipUserAccountsRpcCalls: true } },
    },
    ...{ held: { ...funds, USDT: '1' }, programs: ['Associated Token'] },
    ...{ rent: 0n, does: (paid, got) => ({ USDC: -paid, USDT: got }) },
  },
  {
    ...{ name: 'USDC into SOL', wish: intoSol, programs: ['Associated Token', 'Token'] },
    ...{ rent: 0n, does: (paid, got) => ({ lamports: got, USDC: -paid }) },
  },
  {
    ...{
      name: 'USDC into SOL for an exact output',
      wish: exactOut(intoSol, 20_000_000n),
      programs: ['Associated Token', 'Token'],
    },
    ...{ rent: 0n, does: (paid, got) => ({ lamports: got, USDC: -paid }) },
  },
  {
    ...{
      name: 'USDC into SOL beside held wrapped SOL, which is unwrapped too',
      wish: intoSol,
      wrapped: 7n,
      programs: ['Token'],
    },
    ...{ rent: 0n, does: (paid, got) => ({ lamports: got + 7n + RENT, SOL: -7n, USDC: -paid }) },
  },
  {
    ...{
      name: 'USDC into wrapped SOL that stays',
      wish: { ...intoSol, body: asIs },
      programs: ['Associated Token'],
    },
    ...{ rent: RENT, does: (paid, got) => ({ lamports: -RENT, SOL: got, USDC: -paid }) },
  },
  {
    ...{
      name: 'USDC into wrapped SOL that is held',
      wish: { ...intoSol, body: asIs },
      wrapped: 7n,
      programs: [],
    },
    ...{ rent: 0n, does: (paid, got) => ({ SOL: got, USDC: -paid }) },
  },
  {
    ...{
      name: 'USDC into a new account of Token-2022',
      wish: { ...usdcToUsdt, to: 'PYUSD' },
      programs: ['Associated Token'],
    },
    ...{ rent: RENT_2022 },
    does: (paid, got) => ({ lamports: -RENT_2022, USDC: -paid, PYUSD: got }),
  },
  {
    ...{
      name: 'USDC for an exact output of Token-2022',
      wish: exactOut({ ...usdcToUsdt, to: 'PYUSD' }, 2_000_000n),
    },
    ...{ held: { ...funds, PYUSD: '1' }, programs: [] },
    ...{ rent: 0n, does: (paid, got) => ({ USDC: -paid, PYUSD: got }) },
  },
  {
    ...{
      name: 'SOL through a new wrapped account that stays',
      wish: fromSol,
      programs: [...wraps, 'Associated Token'],
      rent: RENT,
    },
    edit: (all) => all.filter((instruction) => !isClose(instruction)),
    does: (paid, got) => ({ lamports: -paid - RENT, USDC: got }),
  },
  {
    ...{
      name: 'SOL beside wrapped SOL that stays',
      wish: fromSol,
      wrapped: 30_000_000n,
      programs: wraps,
      rent: 0n,
    },
    edit: (all) => all.filter((instruction) => !isClose(instruction)),
    does: (paid, got) => ({ lamports: -paid, USDC: got }),
  },
  {
    ...{
      name: 'SOL that is partly wrapped already',
      wish: fromSol,
      wrapped: 30_000_000n,
      programs: wraps,
      rent: 0n,
    },
    edit: (all, wallet, account) =>
      all
        .filter((instruction) => !isClose(instruction))
        .map((instruction) => (isWrap(instruction) ? wrap(wallet, account, 5n) : instruction)),
    does: (paid, got) => ({ lamports: -5n, SOL: 5n - paid, USDC: got }),
  },
  {
    ...{
      name: 'USDC with a wrapped account that is created without need',
      wish: usdcToUsdt,
      programs: ['Associated Token'],
      rent: 2n * RENT,
    },
    edit: (all, wallet, account) => [createWrapped(wallet, account), ...all],
    does: (paid, got) => ({ lamports: -2n * RENT, USDC: -paid, USDT: got }),
  },
  {
    ...{
      name: 'USDC with a wrapped account that is created and closed',
      wish: usdcToUsdt,
      programs: ['Associated Token', 'Token'],
      rent: RENT,
    },
    edit: (all, wallet, account) => [
      createWrapped(wallet, account),
      ...all,
      closeWrapped(wallet, account),
    ],
    does: (paid, got) => ({ lamports: -RENT, USDC: -paid, USDT: got }),
  },
  {
    ...{
      name: 'USDC with held wrapped SOL that the swap unwraps',
      wish: usdcToUsdt,
      wrapped: 7n,
      rent: RENT,
    },
    ...{
      programs: ['Associated Token', 'Token'],
      edit: (all, wallet, account) => [...all, closeWrapped(wallet, account)],
    },
    does: (paid, got) => ({ lamports: 7n, SOL: -7n, USDC: -paid, USDT: got }),
  },
  {
    ...{
      name: 'SOL through a temporary account that Jupiter makes',
      wish: fromSol,
      held: { SOL: '0.5' },
      edit: throughTemporary,
    },
    ...{
      rent: RENT,
      programs: [...wraps, 'Associated Token'],
      does: (paid, got) => ({ lamports: -paid - RENT, USDC: got }),
    },
  },
  {
    ...{
      name: 'SOL for an exact output through a temporary account, beside wrapped SOL that stays',
      wish: exactOut(fromSol, 3_000_000n),
    },
    ...{ wrapped: 30_000_000n, edit: throughTemporary, rent: 0n, programs: wraps },
    does: (paid, got) => ({ lamports: -paid, USDC: got }),
  },
  {
    ...{
      name: 'USDC into SOL through a temporary account',
      wish: intoSol,
      edit: throughTemporary,
      rent: 0n,
      programs: ['Token'],
    },
    does: (paid, got) => ({ lamports: got, USDC: -paid }),
  },
  {
    ...{
      name: 'USDC into SOL through a temporary account, beside wrapped SOL that stays',
      wish: intoSol,
      wrapped: 7n,
      edit: throughTemporary,
    },
    ...{ rent: 0n, programs: ['Token'], does: (paid, got) => ({ lamports: got, USDC: -paid }) },
  },
];

const shapeless: Shape = {
  name: '',
  wish: fromSol,
  wrapped: 30_000_000n,
  programs: [],
  rent: 0n,
  does: () => ({}),
};

/** Changes of each balance by landing the swap, the fees aside. */
async function changes(wallet: SandboxWallet, transaction: string, fees: bigint): Promise<Changes> {
  const before = await possessions(sandbox, wallet.address);
  const { error, fee } = await signAndLand(sandbox, wallet, transaction);
  expect({ error, fee }).toEqual({ error: null, fee: fees });
  const after = await possessions(sandbox, wallet.address);
  const names = Object.keys(before) as (keyof typeof before)[]; // The keys of its own record.
  const changed = names.map(
    (name) => [name, after[name] - before[name] + (name === 'lamports' ? fees : 0n)] as const,
  );
  return Object.fromEntries(changed.filter(([, change]) => change !== 0n));
}

describe('inspectSwap, for an honest swap', () => {
  it.each(share(shapes, eachNth(shapes, 6, 0)).map((shape) => [shape.name, shape] as const))(
    'accepts a swap of %s, and landing it does what the verdict says',
    async (_, shape) => {
      const { wish, rent, programs } = shape;
      const { wallet, swap, options } = await offeredAs(shape);
      const verdict = await inspectSwap(swap.transaction, options);
      expectAccepted(verdict, false);
      expect(verdict.leaves).toEqual({
        mint: sandbox.mints[wish.from].address,
        amount: swap.mostIn.toString(),
      });
      expect(verdict.arrives).toEqual({
        mint: sandbox.mints[wish.to].address,
        amount: swap.leastOut.toString(),
      });
      expect(verdict.fees).toEqual({
        network: `${SIGNATURE}`,
        priority: `${PRIORITY}`,
        rent: `${rent}`,
      });
      expect(verdict.programs.map(({ name }) => name).sort()).toEqual(
        ['Compute Budget', 'Jupiter', ...programs].sort(),
      );
      expect(await changes(wallet, swap.transaction, SIGNATURE + PRIORITY)).toEqual(
        shape.does(swap.quotedIn, swap.quotedOut),
      );
    },
  );

  it.each(share(shapes, eachNth(shapes, 6, 1)).map((shape) => [shape.name, shape] as const))(
    'recomposes a swap of %s under the guard',
    async (_, shape) => {
      const { wish } = shape;
      const { wallet, swap, options } = await offeredAs(shape);
      const { recomposed } = await inspectSwap(swap.transaction, options);
      const verdict = await inspectSwap(recomposed?.transaction ?? '', options);
      expectAccepted(verdict, true);
      expect(verdict.recomposed).toBeUndefined();
      expect({ leaves: verdict.leaves?.amount, arrives: verdict.arrives?.amount }).toEqual({
        leaves: swap.mostIn.toString(),
        arrives: swap.leastOut.toString(),
      });

      const { priority = '', rent = '' } = verdict.fees ?? {};
      const done = await changes(
        wallet,
        recomposed?.transaction ?? '',
        SIGNATURE + BigInt(priority),
      );
      // The composition decides how much is wrapped and how much is native SOL: compare the sum.
      const total = (symbol: MintSymbol) =>
        (done[symbol] ?? 0n) + (symbol === 'SOL' ? (done.lamports ?? 0n) + BigInt(rent) : 0n);
      expect({ [wish.from]: total(wish.from), [wish.to]: total(wish.to) }).toEqual({
        [wish.from]: -swap.quotedIn,
        [wish.to]: swap.quotedOut,
      });
      const others = Object.keys(done).filter(
        (name) => ![wish.from, wish.to, 'lamports'].includes(name),
      );
      expect(others.filter((name) => name !== 'SOL')).toEqual([]);
    },
  );

  it.each([
    ['of SOL', fromSol],
    ['into SOL', intoSol],
  ])(
    'counts SOL that another wallet sent to the temporary account, for a swap %s',
    async (_, wish) => {
      const SENT = 890_880n;
      const { wallet, swap, options } = await offeredAs({
        ...shapeless,
        wish,
        wrapped: 0n,
        edit: throughTemporary,
      });
      sandbox.chain.fundSol((await temporaryAt(address(wallet.address))).account, SENT);
      expectAccepted(await inspectSwap(swap.transaction, options), false);
      const { quotedIn, quotedOut } = swap;
      expect(await changes(wallet, swap.transaction, SIGNATURE + PRIORITY)).toEqual(
        wish.from === 'SOL'
          ? { lamports: SENT - quotedIn, USDC: quotedOut }
          : { lamports: SENT + quotedOut, USDC: -quotedIn },
      );
    },
  );

  it('sums up in two sentences what the swap takes, brings and costs', async () => {
    const { swap, options } = await offered(fromSol, { SOL: '0.5' });
    expect((await inspectSwap(swap.transaction, options)).summary).toBe(
      'It takes at most 0.02 SOL and brings at least 2.983506 USDC, for up to 6400 lamports of fees and 2039280 lamports of rent for accounts of its own. ' +
        'That is what it does in a simulation; nothing in it holds it to that when it lands.',
    );
  });

  it('reads base64 like bytes, and amounts in text like bigints', async () => {
    const { swap, options } = await offered();
    const bytes = new Uint8Array(Buffer.from(swap.transaction, 'base64'));
    const [text, wire] = await Promise.all([
      inspectSwap(swap.transaction, options),
      inspectSwap(bytes, {
        ...options,
        inputMint: 'USDC',
        maxInAmount: String(options.maxInAmount),
        minOutAmount: swap.minOut,
      }),
    ]);
    expectAccepted(wire, false);
    expect({ ...wire, recomposed: undefined }).toEqual({ ...text, recomposed: undefined });
  });

  it('judges a swap with an expired blockhash, and recomposes it anew', async () => {
    const { wallet, swap, options } = await offered();
    sandbox.controls.node.warp();
    const { recomposed, ...verdict } = await inspectSwap(swap.transaction, options);
    expectAccepted({ ...verdict, recomposed }, false);
    const { error } = await signAndLand(sandbox, wallet, recomposed?.transaction ?? '');
    expect(error).toBeNull();
  });

  it('allows one unit of rounding on either side, and no more', async () => {
    const { swap, options } = await offered();
    const judge = async (change: Partial<InspectOptions>) =>
      (await inspectSwap(swap.transaction, { ...options, ...change })).broken?.id ?? 'accepted';
    expect(await judge({ maxInAmount: swap.mostIn - 1n, minOutAmount: swap.leastOut + 1n })).toBe(
      'accepted',
    );
    expect(await judge({ maxInAmount: swap.mostIn - 2n })).toBe('swap_max_in');
    expect(await judge({ minOutAmount: swap.leastOut + 2n })).toBe('swap_min_out');
  });

  it('allows no swap that may bring nothing', async () => {
    const { swap, options } = await offered({ ...usdcToUsdt, slippageBps: 10_000 });
    const verdict = await inspectSwap(swap.transaction, { ...options, minOutAmount: 1n });
    expectRefused(verdict, 'swap_min_out');
  });

  it('bounds slippage and fees if the caller sets a limit', async () => {
    const { swap, options } = await offered();
    const judge = async (change: Partial<InspectOptions>) =>
      (await inspectSwap(swap.transaction, { ...options, ...change })).broken?.id ?? 'accepted';
    expect(await judge({ slippageBps: 50 })).toBe('accepted');
    expect(await judge({ slippageBps: 49 })).toBe('swap_slippage');
    expect(await judge({ maxFeeLamports: SIGNATURE + PRIORITY })).toBe('accepted');
    expect(await judge({ maxFeeLamports: `${SIGNATURE + PRIORITY - 1n}` })).toBe('priority_fee');
  });
});

const sendSol = (wallet: string) =>
  instruction(SYSTEM, [payer(wallet), writable(ATTACKER)], [2, 0, 0, 0, ...u64(100_000_000n)]);
const newOwner = async (wallet: string) =>
  instruction(
    TOKEN,
    [writable(await own(wallet, 'USDC')), payer(wallet)],
    [6, 2, 1, ...getAddressEncoder().encode(ATTACKER)],
  );
const memo = (wallet: string) =>
  instruction(MEMO, [payer(wallet)], [...Buffer.from('a gift for you')]);
/** An instruction that is added to an honest swap, and the id of the rule that it breaks. */
const additions: readonly (readonly [
  string,
  string,
  (wallet: string) => Instruction | Promise<Instruction>,
])[] = [
  ['a transfer of SOL', 'system_instruction', sendSol],
  ['a change of owner', 'token_instruction', newOwner],
];

unsampled('inspectSwap, for an honest swap with an added instruction', () => {
  it.each(additions)('refuses %s, and recomposes the swap without it', async (_, rule, make) => {
    const { wallet, swap, options } = await offered();
    const added = await make(wallet.address);
    const hostile = await altered(sandbox, swap.transaction, (all) => [...all, added]);
    const verdict = await inspectSwap(hostile, options);
    expectRefused(verdict, rule);
    expect(verdict).toMatchObject({ leaves: undefined, arrives: undefined, fees: undefined });

    const account = await own(wallet.address, 'USDC');
    const [attacker, control] = [
      sandbox.chain.account(ATTACKER),
      sandbox.chain.account(address(account))?.data.slice(72),
    ];
    const { priority = '' } =
      (await inspectSwap(verdict.recomposed?.transaction ?? '', options)).fees ?? {};
    const done = await changes(
      wallet,
      verdict.recomposed?.transaction ?? '',
      SIGNATURE + BigInt(priority),
    );
    expect(done).toEqual({ lamports: -RENT, USDC: -swap.quotedIn, USDT: swap.quotedOut });
    expect(sandbox.chain.account(ATTACKER)).toEqual(attacker);
    expect(sandbox.chain.account(address(account))?.data.slice(72)).toEqual(control);
  });

  it('puts nothing of the added instruction into the verdict but addresses', async () => {
    const { wallet, swap, options } = await offered();
    const verdict = await inspectSwap(
      await altered(sandbox, swap.transaction, (all) => [...all, memo(wallet.address)]),
      options,
    );
    expectRefused(verdict, 'foreign_program');
    expect(verdict.programs).toContainEqual({ address: MEMO, name: undefined });
    expect(JSON.stringify({ ...verdict, programs: [], recomposed: [] })).not.toMatch(/gift|Memo/);
  });
});

unsampled('a swap that breaks the agreed terms', () => {
  const wrong: readonly (readonly [string, Partial<InspectOptions>, string])[] = [
    ['takes more', { maxInAmount: 1_000_000n }, 'swap_max_in'],
    ['pays less', { minOutAmount: 2_000_000n }, 'swap_min_out'],
    ['sells another token', { inputMint: 'PYUSD' }, 'swap_source'],
    ['buys another token', { outputMint: 'PYUSD' }, 'token_account_creation'],
    ['is for another wallet', { wallet: ATTACKER }, 'transaction_fee_payer'],
  ];

  it.each(wrong)('is refused, without a recomposed swap, if it %s', async (_, change, rule) => {
    const { swap, options } = await offered();
    const verdict = await inspectSwap(swap.transaction, { ...options, ...change });
    expectRefused(verdict, rule);
    expect(verdict.recomposed).toBeUndefined();
  });

  it('is refused if it names another token account of the wallet', async () => {
    const { wallet, swap, options } = await offered();
    const stash = address((await sandbox.createWallet()).address);
    const usdc = sandbox.chain.account(address(await own(wallet.address, 'USDC')));
    if (usdc === undefined) throw new Error('the wallet has no USDC');
    sandbox.chain.setAccount(stash, usdc);
    const reaching = await altered(sandbox, swap.transaction, (all) =>
      all.map((instruction) =>
        instruction.programAddress.startsWith('JUP6')
          ? { ...instruction, accounts: [...(instruction.accounts ?? []), writable(stash)] }
          : instruction,
      ),
    );
    const verdict = await inspectSwap(reaching, options);
    expectRefused(verdict, 'exposed_account');
    expect(verdict.recomposed).toBeUndefined();
  });
});

/** What the venue does in the simulation, and the id of the rule that it breaks. */
const deeds: readonly (readonly [string, VenueBehaviour, string])[] = [
  ['fails', { modes: [MODE.fail], amount: 6001n }, 'simulated_success'],
  ['assigns the wallet', { modes: [MODE.assignWallet] }, 'simulated_wallet'],
  [
    'closes the emptied source',
    { modes: [MODE.overcharge, MODE.closeAccount] },
    'simulated_account',
  ],
  [
    'takes the output account',
    { modes: [MODE.setOwner], target: TARGET.destination },
    'simulated_owner',
  ],
  ['approves a delegate', { modes: [MODE.approve], target: TARGET.source }, 'simulated_delegate'],
  [
    'sets a close authority',
    { modes: [MODE.setCloseAuthority], target: TARGET.source },
    'simulated_close_authority',
  ],
  ['takes one unit more', { modes: [MODE.overcharge], amount: 1n }, 'simulated_balance'],
  ['pays one unit less', { modes: [MODE.underpay], amount: 2n }, 'simulated_balance'],
  ['takes one lamport', { modes: [MODE.takeSol], amount: 1n }, 'simulated_lamports'],
];
const extra: VenueBehaviour['extra'] = [
  ATTACKER,
  { address: address(SYSTEM), role: AccountRole.READONLY },
];
const setVenue = (behaviour: VenueBehaviour) =>
  sandbox.controls.aggregator.setVenue({ attacker: ATTACKER, extra, ...behaviour });

describe('a hostile venue', () => {
  it.each(share(deeds, eachNth(deeds, 6)))(
    'is caught in the simulation, with and without a guard, if it %s',
    async (_, behaviour, rule) => {
      setVenue({});
      const { swap, options } = await offered();
      const { recomposed } = await inspectSwap(swap.transaction, options);
      setVenue(behaviour);
      const verdict = await inspectSwap(swap.transaction, options);
      expectRefused(verdict, rule);
      expect(verdict.recomposed).toBeUndefined();

      // The guard repairs a delegate, so a rule on inner calls refuses the swap. In all other cases
      // the guard itself fails.
      const guarded = await inspectSwap(recomposed?.transaction ?? '', options);
      const repaired = rule === 'simulated_delegate';
      expectRefused(
        guarded,
        repaired ? 'inner_token' : rule === 'simulated_success' ? rule : 'guard',
      );
      expect(guarded).toMatchObject({ guarded: true, recomposed: undefined });
    },
  );

  it('takes only the agreed amounts if it turns hostile when the swap lands', async () => {
    setVenue({});
    const { wallet, swap, options } = await offered();
    const { recomposed } = await inspectSwap(swap.transaction, options);
    setVenue({ modes: [MODE.overcharge], amount: 1n });
    const before = await possessions(sandbox, wallet.address);
    const { error, fee } = await signAndLand(sandbox, wallet, recomposed?.transaction ?? '');
    expect(error).not.toBeNull();
    expect(await possessions(sandbox, wallet.address)).toEqual({
      ...before,
      lamports: before.lamports - fee,
    });
  });
});

describe('inspectSwap, for what a venue takes in a simulation', () => {
  const slackOf = ({ mostIn, quotedIn, quotedOut, leastOut }: ForeignSwap) => ({
    input: mostIn - quotedIn,
    output: quotedOut - leastOut,
  });
  /** Lamports of native SOL that may slip on either side, if the swap unwraps them in the end. */
  const slackInSol = ({ wish }: Shape, swap: ForeignSwap, closes: boolean) => {
    if (!closes) return 0n;
    return wish.from === 'SOL'
      ? slackOf(swap).input
      : wish.to === 'SOL'
        ? slackOf(swap).output
        : 0n;
  };
  const judge = async (behaviour: VenueBehaviour, { swap, options }: Offered) => {
    setVenue(behaviour);
    return (await inspectSwap(swap.transaction, options)).broken?.id ?? 'accepted';
  };
  const closesIn = async ({ swap }: Offered) => {
    let closes = false;
    await altered(sandbox, swap.transaction, (all) => ((closes = all.some(isClose)), all));
    return closes;
  };

  it.each(share(shapes, eachNth(shapes, 6, 2)).map((shape) => [shape.name, shape] as const))(
    'refuses a venue that takes one lamport more than the slippage allows, in a swap of %s',
    async (_, shape) => {
      setVenue({});
      const offer = await offeredAs(shape);
      const amount = slackInSol(shape, offer.swap, await closesIn(offer));
      if (amount > 0n)
        expect(await judge({ modes: [MODE.takeSol], amount }, offer)).toBe('accepted');
      expect(await judge({ modes: [MODE.takeSol], amount: amount + 1n }, offer)).toBe(
        'simulated_lamports',
      );
    },
  );

  it.each(share(shapes, eachNth(shapes, 6, 3)).map((shape) => [shape.name, shape] as const))(
    'refuses a venue that takes one unit more than the slippage allows, in a swap of %s',
    async (_, shape) => {
      setVenue({});
      const offer = await offeredAs(shape);
      const { input } = slackOf(offer.swap);
      if (input > 0n)
        expect(await judge({ modes: [MODE.overcharge], amount: input }, offer)).toBe('accepted');
      const closes = (await closesIn(offer)) && shape.wish.from === 'SOL';
      // An account that is made for the swap holds no more than the swap sells.
      const bare =
        shape.wish.from === 'SOL' &&
        (shape.wrapped === undefined || shape.edit === throughTemporary);
      const rule = bare ? 'accepted' : closes ? 'simulated_lamports' : 'simulated_balance';
      expect(await judge({ modes: [MODE.overcharge], amount: input + 1n }, offer)).toBe(rule);
    },
  );

  it.each(share(shapes, eachNth(shapes, 6, 4)).map((shape) => [shape.name, shape] as const))(
    'refuses a venue that pays out less than the slippage allows, in a swap of %s',
    async (_, shape) => {
      setVenue({});
      const offer = await offeredAs(shape);
      const closes = (await closesIn(offer)) && shape.wish.to === 'SOL';
      expect(await judge({ modes: [MODE.underpay], amount: 2n }, offer)).toBe(
        closes ? 'simulated_lamports' : 'simulated_balance',
      );
    },
  );
});

/** Any wallet may send SOL to an account of wrapped SOL, and any wallet may sync its balance. */
unsampled('lamports that an account of wrapped SOL does not count yet', () => {
  const UNCOUNTED = 5_000_000n;
  const tip = async ({ wallet }: Offered) =>
    sandbox.chain.fundSol(address(await own(wallet.address, 'SOL')), UNCOUNTED);
  const keeps = (all: readonly Instruction[]) => all.filter((instruction) => !isClose(instruction));
  const tipped: readonly (readonly [string, Pick<Shape, 'wish' | 'edit'>])[] = [
    ['SOL beside wrapped SOL that stays', { wish: fromSol, edit: keeps }],
    [
      'SOL that is partly wrapped already',
      { wish: { ...fromSol, amount: 40_000_000n }, edit: keeps },
    ],
    ['wrapped SOL', { wish: { ...fromSol, body: asIs } }],
    ['SOL beside held wrapped SOL, which is unwrapped too', { wish: fromSol }],
    ['USDC into wrapped SOL that is held', { wish: { ...intoSol, body: asIs } }],
    ['USDC into SOL beside held wrapped SOL, which is unwrapped too', { wish: intoSol }],
  ];

  it.each(tipped)(
    'gain the venue nothing in a swap of %s, as built and as recomposed',
    async (_, shape) => {
      setVenue({});
      const offer = await offeredAs({ ...shapeless, ...shape });
      await tip(offer);
      const honest = await inspectSwap(offer.swap.transaction, offer.options);
      expectAccepted(honest, false);
      expectAccepted(await inspectSwap(honest.recomposed?.transaction ?? '', offer.options), true);
      setVenue({
        modes: [shape.wish.from === 'SOL' ? MODE.overcharge : MODE.underpay],
        amount: UNCOUNTED,
      });
      for (const transaction of [offer.swap.transaction, honest.recomposed?.transaction ?? ''])
        expect((await inspectSwap(transaction, offer.options)).accepted).toBe(false);
      const { error } = await signAndLand(
        sandbox,
        offer.wallet,
        honest.recomposed?.transaction ?? '',
      );
      expect(error).not.toBeNull();
    },
  );
});

unsampled('inspectSwap, for input that is no transaction', () => {
  const things: readonly (readonly [string, unknown])[] = [
    ...['', '!', 'AAAA', 'a'.repeat(50_000_000)].map(
      (text) => [`text of ${text.length}: ${text.slice(0, 9)}`, text] as const,
    ),
    ['undefined', undefined],
    ['a symbol', Symbol('swap')],
    ['a promise', Promise.resolve('AQ')],
    ['zeros', new Uint8Array(1_232)],
  ];

  it.each(things)(
    'returns a verdict for %s, without a request to the node',
    async (_, transaction) => {
      const options = {
        rpcUrl: sandbox.rpcUrl,
        wallet: ATTACKER,
        inputMint: 'SOL',
        outputMint: 'USDC',
        maxInAmount: 1n,
        minOutAmount: 1n,
      };
      const asked = sandbox.controls.node.calls();
      // Callers without types pass anything.
      const verdict = await inspectSwap(transaction as string, options);
      expectRefused(verdict, 'transaction_encoding');
      expect(verdict).toMatchObject({
        programs: [],
        recomposed: undefined,
        leaves: undefined,
        fees: undefined,
      });
      expect(sandbox.controls.node.calls()).toBe(asked);
    },
  );
});

unsampled('inspectSwap, for invalid options', () => {
  const good = (): Record<string, unknown> => ({
    ...{
      rpcUrl: sandbox.rpcUrl,
      wallet: ATTACKER,
      inputMint: 'SOL',
      outputMint: 'USDC',
      maxInAmount: '5',
      minOutAmount: '5',
    },
  });
  const each = (option: string, values: readonly unknown[]) =>
    values.map((value) => [option, String(value), value] as const);
  const noAmounts = [
    undefined,
    null,
    0n,
    '0',
    -1n,
    1,
    0.5,
    '',
    '01',
    '1.5',
    '-1',
    '1e3',
    ' 1',
    2n ** 64n,
    '18446744073709551616',
    {},
    [],
  ];

  it.each([
    ...each('wallet', [undefined, null, '', 'me', 5, {}, `${ATTACKER}11`]),
    ...each('inputMint', [undefined, null, '', 'DOGE', 5, 'USDC']),
    ...each('outputMint', [undefined, 'XYZ', 'SOL', 'So11111111111111111111111111111111111111112']),
    ...each('maxInAmount', noAmounts),
    ...each('minOutAmount', noAmounts),
    ...each('slippageBps', [null, -1, 10_001, 0.5, NaN, Infinity, '50', 50n]),
    ...each('maxFeeLamports', [null, -1n, 1, '1.5', 'all', 2n ** 64n]),
    ...each('rpcUrl', ['', 'nonsense', 'ftp://127.0.0.1', [], 5]),
    ...each('wsUrl', ['', 'http://127.0.0.1', 5]),
    ...each('network', ['bitcoin', 5, '']),
    ...each('fetch', ['fetch', {}, null]),
    ...each('timeouts', [5, 'none', []]),
    ...each('connection', [{}, 5, null]),
    ...each('timeouts.rpc', [{ rpc: -1 }, { rpc: '5' }]),
    ...each('timeouts.other', [{ other: 1 }]),
    // Options of clients, and none of an inspection.
    ...[
      'jupiterUrl',
      'jupiterApiKey',
      'swapFrom',
      'policy',
      'walletSecretKey',
      'slippage',
      'toString',
    ].flatMap((name) => each(name, ['SOL'])),
  ])('refuses %s: %s, before any request', async (option, _, value) => {
    const [name = option] = option.split('.');
    const same = option === 'inputMint' && value === 'USDC' ? 'outputMint' : option;
    const options = { ...good(), [name]: value };
    if (option === 'connection') delete options['rpcUrl'];
    const asked = sandbox.controls.node.calls();
    const error = await failureOf(
      inspectSwap('', options as unknown as InspectOptions),
      'invalid_option',
    );
    expect(error).toMatchObject({ name: 'ConfigError', details: { option: same } });
    expectUntouched(error);
    expect(sandbox.controls.node.calls()).toBe(asked);
  });

  it.each([undefined, null, 5, 'options', []])(
    'refuses %s in place of an object',
    async (options) => {
      // Callers without types pass anything.
      const error = await failureOf(
        inspectSwap('', options as unknown as InspectOptions),
        'invalid_option',
      );
      expect(error.details).toEqual({ option: 'options' });
    },
  );

  it('refuses a fee limit below the price of one signature, as a policy error', async () => {
    const { swap, options } = await offered();
    await failureOf(
      inspectSwap(swap.transaction, { ...options, maxFeeLamports: SIGNATURE - 1n }),
      'fees_over_limit',
    );
  });

  it.each<[string, ErrorCode, Partial<InspectOptions>]>([
    ['does not exist', 'unknown_mint', { outputMint: ATTACKER }],
    ['is a wallet and no mint', 'unknown_mint', { inputMint: ATTACKER }],
  ])('refuses a mint that %s, with %s', async (_, code, change) => {
    const { swap, options } = await offered();
    expectUntouched(
      await failureOf(inspectSwap(swap.transaction, { ...options, ...change }), code),
    );
  });
});

unsampled('the node of an inspection', () => {
  it.each<[string, Partial<InspectOptions>, ErrorCode]>([
    [
      'cannot be reached',
      { rpcUrl: 'http://127.0.0.1:1', wsUrl: 'ws://127.0.0.1:1' },
      'rpc_unavailable',
    ],
    ['is of another network', { network: 'solana-devnet' }, 'rpc_wrong_network'],
  ])('causes a TransportError and no verdict if it %s', async (_, change, code) => {
    const { swap, options } = await offered();
    const error = await failureOf(
      inspectSwap(swap.transaction, {
        ...options,
        inputMint: sandbox.mints.USDC.address,
        ...change,
        outputMint: sandbox.mints.USDT.address,
      }),
      code,
    );
    expect(error.name).toBe('TransportError');
    expectUntouched(error);
  });

  it.each([
    'getMultipleAccounts',
    'simulateTransaction',
    'getLatestBlockhash',
    'getMinimumBalanceForRentExemption',
  ])('causes rpc_unavailable and no verdict if it fails at %s', async (method) => {
    const { swap, options } = await offered();
    const callOff = sandbox.controls.node.fault(method, { kind: 'status', status: 503 });
    const error = await failureOf(inspectSwap(swap.transaction, options), 'rpc_unavailable');
    callOff();
    expectUntouched(error);
  });

  it('gets no further request once the caller aborts', async () => {
    const { swap, options } = await offered();
    const gaveUp = new Error('had enough');
    await expect(
      inspectSwap(swap.transaction, { ...options, signal: AbortSignal.abort(gaveUp) }),
    ).rejects.toBe(gaveUp);
    const controller = new AbortController();
    sandbox.controls.node.intercept = (method, _params, next) => {
      if (method === 'simulateTransaction') controller.abort(gaveUp);
      return next();
    };
    await expect(
      inspectSwap(swap.transaction, { ...options, signal: controller.signal }),
    ).rejects.toBe(gaveUp);
  });

  it('may be reached through a connection of the caller, which stays open', async () => {
    const { wallet, swap, options } = await offered();
    const { rpcUrl, wsUrl, ...rest } = options;
    const lamports = sandbox.chain.account(ATTACKER)?.lamports ?? 0n;
    let told: (lamports: number) => void = () => undefined;
    const heard = new Promise<number>((resolve) => void (told = resolve));
    const connection = new Connection(sandbox.rpcUrl, {
      commitment: 'confirmed',
      wsEndpoint: sandbox.wsUrl,
    });
    expect([rpcUrl, wsUrl]).toEqual([sandbox.rpcUrl, sandbox.wsUrl]);
    const id = connection.onAccountChange(new PublicKey(ATTACKER), (account) =>
      told(account.lamports),
    );
    await until(
      'the node has taken the subscription',
      () => sandbox.controls.node.calls({ method: 'accountSubscribe' }) > 0 || undefined,
    );
    expectAccepted(await inspectSwap(swap.transaction, { ...rest, connection }), false);
    // The subscription of the connection still reports, and the connection still answers.
    await signAndLand(
      sandbox,
      wallet,
      await altered(sandbox, swap.transaction, () => [sendSol(wallet.address)]),
    );
    expect(await heard).toBe(Number(lamports + 100_000_000n));
    expect(await connection.getSlot()).toBeGreaterThanOrEqual(0);
    await connection.removeAccountChangeListener(id);
    endSocket(connection);
  });

  it('gets no transaction to send', async () => {
    const { swap, options } = await offered();
    const before = sandbox.controls.node.calls({ method: 'sendTransaction' });
    await inspectSwap(swap.transaction, options);
    expect(sandbox.controls.node.calls({ method: 'sendTransaction' })).toBe(before);
  });
});
