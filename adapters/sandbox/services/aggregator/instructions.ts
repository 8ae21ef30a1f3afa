import { AccountRole, isAddress, type Address, type Instruction } from '@solana/kit';
import { associatedTokenAccount } from '../../chain/token.js';
import { ASSOCIATED_TOKEN_PROGRAM, SANDBOX_MINTS, TOKEN_PROGRAM } from '../../mints.js';
import type { Chain, SandboxMint } from '../../types.js';
import {
  exactOutRouteV2,
  routeV2,
  sharedAccountsExactOutRouteV2,
  sharedAccountsRouteV2,
} from '../../venue/venue.mjs';
import type { Markets, SwapMode } from './markets.js';
import { SYSTEM_PROGRAM, type Pools } from './pools.js';
import { badBody, notTradable, Refusal } from './problems.js';

/** Id of the shared accounts; their vaults belong to the pool authority. */
const SHARED_ID = 8;

/** A quote that a client sent back, possibly changed; the swap instruction uses its numbers. */
export interface Quoted {
  readonly inputMint: string;
  readonly outputMint: string;
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  readonly otherAmountThreshold: bigint;
  readonly swapMode: SwapMode;
  readonly slippageBps: number;
  readonly platformFeeBps: number;
}

export interface SwapIntent {
  readonly user: string;
  readonly quoted: Quoted;
  readonly wrapAndUnwrapSol: boolean;
  readonly useSharedAccounts: boolean;
  /** True if accounts are always created; false if only missing accounts are created. */
  readonly alwaysCreate: boolean;
  readonly destinationTokenAccount: string | undefined;
}

/** The parts of a swap transaction, in order. */
export interface SwapParts {
  readonly setup: readonly Instruction[];
  readonly swap: Instruction;
  readonly cleanup: Instruction | undefined;
}

/** Composes a swap as Jupiter does: account creations, SOL wrapping, the swap, SOL unwrapping. */
export async function swapParts(
  intent: SwapIntent,
  {
    chain,
    pools,
    markets,
  }: { readonly chain: Chain; readonly pools: Pools; readonly markets: Markets },
): Promise<SwapParts> {
  const { quoted } = intent;
  const user = key(intent.user, 'userPublicKey');
  const input = known(markets, quoted.inputMint);
  const output = known(markets, quoted.outputMint);
  const source = await associatedTokenAccount(user, input.address, input.tokenProgram);
  const ownOutput = await associatedTokenAccount(user, output.address, output.tokenProgram);
  const override =
    intent.destinationTokenAccount === undefined
      ? undefined
      : key(intent.destinationTokenAccount, 'destinationTokenAccount');
  const setup: Instruction[] = [];
  const create = (account: Address, mint: SandboxMint): void => {
    if (intent.alwaysCreate || chain.account(account) === undefined)
      setup.push(createAccount(user, account, mint));
  };

  const wraps = intent.wrapAndUnwrapSol && input === SANDBOX_MINTS.SOL;
  const unwraps = intent.wrapAndUnwrapSol && output === SANDBOX_MINTS.SOL && override === undefined;
  if (wraps) {
    create(source, input);
    const most = quoted.swapMode === 'ExactIn' ? quoted.inAmount : quoted.otherAmountThreshold;
    setup.push(transferLamports(user, source, most), syncNative(source));
  }
  if (override === undefined) create(ownOutput, output);

  const vaults = pools.vaults(input, output);
  if (vaults === undefined) throw new Refusal('MARKET_NOT_FOUND', 'Market not found');
  const accounts = {
    user,
    source,
    destination: override ?? ownOutput,
    override,
    sourceMint: input.address,
    destinationMint: output.address,
    sourceProgram: input.tokenProgram,
    destinationProgram: output.tokenProgram,
    ...vaults,
    config: pools.config,
    extra: pools.extra,
    slippageBps: quoted.slippageBps,
    platformFeeBps: quoted.platformFeeBps,
    routePlan: routePlan(),
    id: SHARED_ID,
  };
  const exactIn = { ...accounts, inAmount: quoted.inAmount, quotedOutAmount: quoted.outAmount };
  const exactOut = { ...accounts, outAmount: quoted.outAmount, quotedInAmount: quoted.inAmount };
  const swap =
    quoted.swapMode === 'ExactIn'
      ? (intent.useSharedAccounts ? sharedAccountsRouteV2 : routeV2)(exactIn)
      : (intent.useSharedAccounts ? sharedAccountsExactOutRouteV2 : exactOutRouteV2)(exactOut);
  return {
    setup,
    swap,
    cleanup: wraps || unwraps ? closeAccount(user, wraps ? source : ownOutput) : undefined,
  };
}

/** Reads an address in a request body. Throws a refusal if it is none. */
export function key(value: unknown, name: string): Address {
  if (typeof value !== 'string' || !isAddress(value)) throw badBody(`${name} is no base58 key`);
  return value;
}

function known(markets: Markets, mint: string): SandboxMint {
  const found = markets.mintAt(mint);
  if (found === undefined) throw notTradable(mint);
  return found;
}

/** Makes a CreateIdempotent instruction, paid by the owner. */
function createAccount(owner: Address, account: Address, mint: SandboxMint): Instruction {
  return {
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    accounts: [
      { address: owner, role: AccountRole.WRITABLE_SIGNER },
      { address: account, role: AccountRole.WRITABLE },
      { address: owner, role: AccountRole.READONLY },
      { address: mint.address, role: AccountRole.READONLY },
      { address: SYSTEM_PROGRAM, role: AccountRole.READONLY },
      { address: mint.tokenProgram, role: AccountRole.READONLY },
    ],
    data: new Uint8Array([1]),
  };
}

function transferLamports(from: Address, to: Address, lamports: bigint): Instruction {
  const data = new Uint8Array(12);
  const view = new DataView(data.buffer);
  view.setUint32(0, 2, true);
  view.setBigUint64(4, lamports, true);
  return {
    programAddress: SYSTEM_PROGRAM,
    accounts: [
      { address: from, role: AccountRole.WRITABLE_SIGNER },
      { address: to, role: AccountRole.WRITABLE },
    ],
    data,
  };
}

function syncNative(account: Address): Instruction {
  return {
    programAddress: TOKEN_PROGRAM,
    accounts: [{ address: account, role: AccountRole.WRITABLE }],
    data: new Uint8Array([17]),
  };
}

function closeAccount(owner: Address, account: Address): Instruction {
  return {
    programAddress: TOKEN_PROGRAM,
    accounts: [
      { address: account, role: AccountRole.WRITABLE },
      { address: owner, role: AccountRole.WRITABLE },
      { address: owner, role: AccountRole.READONLY_SIGNER },
    ],
    data: new Uint8Array([9]),
  };
}

/**
 * Encodes a route of a single step for the whole amount: a u32 count, then a step in the layout of
 * V2 (swap kind, u16 bps, input and output index).
 */
function routePlan(): Uint8Array {
  return new Uint8Array([1, 0, 0, 0, 0, 0x10, 0x27, 0, 1]);
}
