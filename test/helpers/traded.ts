import { getAddressEncoder } from '@solana/kit';
import type { ChainAccount, Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { VENUE } from '../../adapters/sandbox/venue/venue.mjs';
import type { SignedSwap } from '../../src/swaps/transaction/prepare.js';
import { type ChainTransaction, landed, rpc } from './chain.js';
import type { Direction, Holdings, Trader } from './trader.js';

/** Sends the signed bytes and waits until the transaction landed. */
export async function landSigned(
  { rpcUrl }: Sandbox,
  { bytes, signature }: SignedSwap,
): Promise<ChainTransaction> {
  // Skip the node's preflight, because a failing transaction must fail on the chain.
  const options = { encoding: 'base64', skipPreflight: true };
  await rpc(rpcUrl, 'sendTransaction', [Buffer.from(bytes).toString('base64'), options]);
  return landed(rpcUrl, signature);
}

const feesOf = ({ expected }: SignedSwap): bigint =>
  expected.networkFeeLamports + expected.priorityFeeLamports;

/** The part of the transaction that failed: the swap, the close of wrapped SOL, or the guard. */
export type FailedPart = 'swap' | 'unwrapping' | 'guard';

const CLOSE_ACCOUNT = 9;

function failedPart({ error, instructions }: ChainTransaction): FailedPart {
  const index = Number(/"InstructionError":\[(\d+)/.exec(JSON.stringify(error))?.[1]);
  const failed = instructions[index];
  if (failed === undefined)
    throw new Error(`not the failure of an instruction: ${JSON.stringify(error)}`);
  if (failed.program === VENUE) return 'swap';
  return failed.data[0] === CLOSE_ACCOUNT ? 'unwrapping' : 'guard';
}

/**
 * Lands a swap that must fail. Checks that the wallet pays only the network fee, and that no other
 * byte of its accounts changes. Returns the part that failed.
 */
export async function landAndExpectFeeOnly(
  sandbox: Sandbox,
  trader: Trader,
  signed: SignedSwap,
): Promise<FailedPart> {
  const before = trader.holdings();
  const transaction = await landSigned(sandbox, signed);
  const { fee } = transaction;
  expect(transaction.error).not.toBeNull();
  expect(fee).toBe(feesOf(signed));
  const after = new Map(trader.holdings());
  const wallet = after.get(trader.address);
  if (wallet === undefined) throw new Error('the wallet is gone');
  after.set(trader.address, { ...wallet, lamports: wallet.lamports + fee });
  expect(after).toEqual(before);
  return failedPart(transaction);
}

/** Base units that left the source and reached the output; lamports if the side is native SOL. */
export interface Moved {
  readonly spent: bigint;
  readonly gained: bigint;
}

/**
 * Lands a swap that must succeed. Checks that no other account changes, that no other party
 * controls an account of the wallet, and that SOL pays only fees and rent.
 */
export async function landsAndMoves(
  sandbox: Sandbox,
  trader: Trader,
  direction: Direction,
  signed: SignedSwap,
): Promise<Moved> {
  const before = trader.holdings();
  const { error } = await landSigned(sandbox, signed);
  expect(error).toBeNull();
  const after = trader.holdings();
  const [source, output] = [trader.at[direction.from], trader.at[direction.to]];
  const traded = [trader.address, source, output];
  const others = (holdings: Holdings) =>
    [...holdings].filter(([at]) => !traded.includes(at as typeof source));
  expect(others(after)).toEqual(others(before));
  for (const at of [source, output]) expectOwn(trader.address, before.get(at), after.get(at));

  const gain = (at: string, measure: (account: ChainAccount | undefined) => bigint) =>
    measure(after.get(at)) - measure(before.get(at));
  const [spent, gained] = [-gain(source, amountIn), gain(output, amountIn)];
  const lamports = gain(trader.address, lamportsIn) + feesOf(signed) + signed.expected.rentLamports;
  if (direction.native === 'from') return { spent: spent - lamports, gained };
  if (direction.native === 'to') return { spent, gained: gained + lamports };
  expect(lamports).toBe(0n);
  return { spent, gained };
}

const lamportsIn = (account: ChainAccount | undefined): bigint => account?.lamports ?? 0n;

export const isThere = (account: ChainAccount | undefined): account is ChainAccount =>
  account !== undefined && account.data.length > 0;

export const amountIn = (account: ChainAccount | undefined): bigint =>
  isThere(account) ? view(account).getBigUint64(64, true) : 0n;

const view = ({ data }: ChainAccount): DataView =>
  new DataView(data.buffer, data.byteOffset, data.byteLength);

/**
 * Checks that only the wallet controls an account, and that an existing account changed only its
 * balance.
 */
function expectOwn(
  wallet: Trader['address'],
  before: ChainAccount | undefined,
  after: ChainAccount | undefined,
): void {
  if (!isThere(after)) return;
  const control = controlOf(after);
  if (isThere(before)) expect(control).toEqual(controlOf(before));
  const owner = Buffer.from(getAddressEncoder().encode(wallet)).toString('hex');
  expect(control).toMatchObject({
    owner,
    delegate: 'none',
    delegated: 0n,
    state: 1,
    closeAuthority: 'none',
  });
}

/** Returns all fields of a token account except its balances and unset keys. */
export function controlOf(account: ChainAccount) {
  const { data } = account;
  const hex = (from: number, to: number) => Buffer.from(data.subarray(from, to)).toString('hex');
  // If the tag is 0, the key behind it is a leftover without meaning.
  const optional = (offset: number) =>
    view(account).getUint32(offset, true) === 0 ? 'none' : hex(offset + 4, offset + 36);
  return {
    ...{
      program: account.owner,
      mint: hex(0, 32),
      owner: hex(32, 64),
      delegate: optional(72),
      state: data[108],
    },
    ...{
      delegated: view(account).getBigUint64(121, true),
      closeAuthority: optional(129),
      extensions: hex(165, data.length),
    },
  };
}
