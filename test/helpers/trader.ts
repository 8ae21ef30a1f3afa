import { address, type AccountMeta, type Address, getProgramDerivedAddress } from '@solana/kit';
import type { ChainAccount, MintSymbol, Sandbox } from 'exact-change-sandbox';
import {
  exactOutRouteV2,
  POOL_AUTHORITY,
  routeV2,
  sharedAccountsExactOutRouteV2,
  sharedAccountsRouteV2,
  VENUE,
  type VenueInstruction,
  type VenueSwap,
} from '../../adapters/sandbox/venue/venue.mjs';
import { SOLANA_MAINNET } from '../../src/network.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { createBlockhashSource } from '../../src/solana/rpc/blockhash.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import type { SigningIntent } from '../../src/solana/signer.js';
import { defaultSwapLimits } from './swap-limits.js';
import { type SignedSwap, signSwap } from '../../src/swaps/transaction/prepare.js';
import { fromKit } from '../unit/swaps/support.js';
import { tokenAccount } from './chain.js';
import { recordingSigner } from './payer.js';
import { swapDecoders as decoders } from '../../src/swaps/sources.js';

/** Amounts of a swap in base units, and their bounds at 50 basis points of slippage by hand. */
export interface Amounts {
  readonly input: bigint;
  readonly output: bigint;
  /** Bound of the input if the output is exact. */
  readonly mostInput: bigint;
  /** Bound of the output if the input is exact. */
  readonly leastOutput: bigint;
}

export interface Direction {
  readonly from: MintSymbol;
  readonly to: MintSymbol;
  /** The side that is native SOL; the swap makes and closes a wrapped SOL account for it. */
  readonly native?: 'from' | 'to';
  /** Base units of wrapped SOL that the wallet holds before the swap. */
  readonly wrapped?: bigint;
  readonly amounts: Amounts;
}

const dollars = {
  input: 2_000_000n,
  mostInput: 2_010_000n,
  output: 2_000_000n,
  leastOutput: 1_990_000n,
};
const fromSol = {
  input: 20_000_000n,
  mostInput: 20_100_000n,
  output: 3_000_000n,
  leastOutput: 2_985_000n,
};
const toSol = {
  input: 3_000_000n,
  mostInput: 3_015_000n,
  output: 20_000_000n,
  leastOutput: 19_900_000n,
};
const fromBonk = {
  input: 3_500_000_000n,
  mostInput: 3_517_500_000n,
  output: 700_000n,
  leastOutput: 696_500n,
};

/**
 * Swaps with every kind of account on each side: an existing account, an account made for the swap,
 * or an account made and closed by the swap; of either token program.
 */
export const directions = {
  'USDC to USDT': { from: 'USDC', to: 'USDT', amounts: dollars },
  'BONK to USDC': { from: 'BONK', to: 'USDC', amounts: fromBonk },
  'SOL to USDC': { from: 'SOL', to: 'USDC', native: 'from', amounts: fromSol },
  'wrapped SOL to USDC': { from: 'SOL', to: 'USDC', wrapped: 30_000_000n, amounts: fromSol },
  'USDC to SOL': { from: 'USDC', to: 'SOL', native: 'to', amounts: toSol },
  'USDC to wrapped SOL': { from: 'USDC', to: 'SOL', amounts: toSol },
  'USDC to PYUSD': { from: 'USDC', to: 'PYUSD', amounts: dollars },
} as const satisfies Record<string, Direction>;
export type DirectionName = keyof typeof directions;
// The keys of an object literal.
export const directionNames = Object.keys(directions) as DirectionName[];

/** Id of the shared accounts; their vaults belong to the pool. */
const SHARED_ID = 8;
/** A route of a single step for the whole amount. */
const routePlan = new Uint8Array([1, 0, 0, 0, 0, 0x10, 0x27, 0, 1]);
type Build = (swap: VenueSwap, amounts: Amounts) => VenueInstruction;

/** Every form that the venue executes. */
export const forms = {
  route_v2: (swap, { input, output }) =>
    routeV2({ ...swap, inAmount: input, quotedOutAmount: output }),
  exact_out_route_v2: (swap, { input, output }) =>
    exactOutRouteV2({ ...swap, outAmount: output, quotedInAmount: input }),
  shared_accounts_route_v2: (swap, { input, output }) =>
    sharedAccountsRouteV2({ ...swap, id: SHARED_ID, inAmount: input, quotedOutAmount: output }),
  shared_accounts_exact_out_route_v2: (swap, { input, output }) =>
    sharedAccountsExactOutRouteV2({
      ...swap,
      id: SHARED_ID,
      outAmount: output,
      quotedInAmount: input,
    }),
} as const satisfies Record<string, Build>;
export type FormName = keyof typeof forms;
export const formNames = Object.keys(forms) as FormName[]; // The keys of an object literal.
export const isExactOut = (form: FormName): boolean => form.includes('exact_out');

export const formAt = (turn: number): FormName => formNames[turn % formNames.length]!;

/** Each direction in two forms: one with an exact input, and one with an exact output. */
export const swapsAt = (turn: number, names: readonly DirectionName[] = directionNames) =>
  names.flatMap((direction, row) =>
    [turn, turn + 1].map((next) => [formAt(next + row), direction] as const),
  );

const TABLES = address('AddressLookupTab1e1111111111111111111111111');
const derived = async (program: Address, seed: string) =>
  (await getProgramDerivedAddress({ programAddress: program, seeds: [seed] }))[0];

/** The wallet's account and its token accounts by address, as the chain stores them. */
export type Holdings = ReadonlyMap<string, ChainAccount | undefined>;

/** A wallet that signs a service's swap instructions through the client's own code. */
export interface Trader {
  readonly address: Address;
  /** Addresses of the wallet's associated token accounts; an account may be missing. */
  readonly at: Readonly<Record<MintSymbol, Address>>;
  /** A second USDC account of the wallet, which no swap may touch. */
  readonly stash: Address;
  /** Intents of the messages that the wallet signed. */
  readonly signed: readonly SigningIntent[];
  holdings(): Holdings;
  /** Signs the swap by `signSwap`; the instruction also names the accounts in `extra`. */
  sign(
    form: FormName,
    direction: Direction,
    extra?: readonly (Address | AccountMeta)[],
  ): Promise<SignedSwap>;
}

const funds = { SOL: '0.5', USDC: '20', USDT: '1', BONK: '100000' } as const;

/** Makes a wallet with SOL, USDC, USDT and BONK, and no account for PYUSD. */
export async function traderOn(sandbox: Sandbox, rpc: Rpc, wrapped = 0n): Promise<Trader> {
  const { chain, mints } = sandbox;
  const wallet = await sandbox.createWallet(funds);
  const owner = address(wallet.address);
  if (wrapped > 0n) await chain.fundToken(owner, mints.SOL, wrapped);
  const { signer, signed } = recordingSigner(wallet.address, wallet.secretKey);
  const at = await accountsOf(wallet.address, mints);
  const usdc = chain.account(at.USDC);
  // The account is written to the chain directly, so any unused address works.
  const stash = await derived(VENUE, wallet.address.slice(0, 32));
  if (usdc !== undefined) chain.setAccount(stash, usdc);
  const deps = {
    decoders,
    ...{ rpc, signer, runtime: systemRuntime, network: SOLANA_MAINNET, limits: defaultSwapLimits },
    blockhashes: createBlockhashSource(rpc, systemRuntime),
  };
  const vaults = await accountsOf(POOL_AUTHORITY, mints);
  const config = await derived(VENUE, 'config');
  const lookupTables = await Promise.all(['common', 'pools'].map((name) => derived(TABLES, name)));

  return {
    ...{ address: owner, at, stash, signed },
    holdings: () =>
      new Map([owner, stash, ...Object.values(at)].map((key) => [key, chain.account(key)])),
    async sign(form, { from, to, native, amounts }, extra = []) {
      const instruction = forms[form](
        {
          ...{
            user: owner,
            source: at[from],
            destination: at[to],
            vaultIn: vaults[from],
            vaultOut: vaults[to],
            config,
            extra,
            routePlan,
          },
          ...{ sourceMint: mints[from].address, destinationMint: mints[to].address },
          ...{
            sourceProgram: mints[from].tokenProgram,
            destinationProgram: mints[to].tokenProgram,
          },
        },
        amounts,
      );
      const bounds = {
        inputMint: mints[from].address,
        outputMint: mints[to].address,
        slippageBps: 50,
        ...boundsOf(form, amounts),
      };
      const build = () => Promise.resolve({ instruction: fromKit(instruction), lookupTables });
      return signSwap(deps, { bounds, build, keepWrapped: native !== 'to' });
    },
  };
}

async function accountsOf(
  owner: string,
  mints: Sandbox['mints'],
): Promise<Readonly<Record<MintSymbol, Address>>> {
  const entries = Object.entries(mints).map(
    async ([symbol, mint]) => [symbol, address(await tokenAccount(owner, mint))] as const,
  );
  // The object has an entry for each mint.
  return Object.fromEntries(await Promise.all(entries)) as Record<MintSymbol, Address>;
}

/** Returns the most that may leave the wallet, and the least that it must receive. */
export function boundsOf(
  form: FormName,
  { input, mostInput, output, leastOutput }: Amounts,
): { maxIn: bigint; minOut: bigint } {
  return isExactOut(form)
    ? { maxIn: mostInput, minOut: output }
    : { maxIn: input, minOut: leastOutput };
}
