import { maxAmount } from '../../amount.js';
import { WSOL_MINT } from '../../network.js';
import { compileMessage, SIGNATURE_LAMPORTS } from '../../solana/transactions/compile.js';
import type { Address } from '../../solana/types.js';
import { createOwn } from '../accounts/own-instructions.js';
import type { OwnAccount } from '../accounts/own-account.js';
import { readWallet } from '../accounts/read-wallet.js';
import { rentOf } from './read-market.js';
import { type ComputeBudget, type LamportBudget, leastLamports, priorityFee } from './budget.js';
import { computeInstructions, wrapInto } from './compose.js';
import { type Draft, finish } from './finish.js';
import { nothingReserved } from './plan.js';
import { intentOf, type SignedSwap, type SwapDeps, type SwapOrder } from './prepare.js';
import { signMessage } from './sign.js';

export interface WrapOrder extends Pick<SwapOrder, 'onPlanned' | 'signal'> {
  /** Lamports to wrap. */
  readonly amount: bigint;
  /**
   * Counts the transactions that are signed on a blockhash. The count is added to the compute limit:
   * two equal wraps would otherwise be the same transaction, which lands only once.
   */
  readonly next: (blockhash: string) => Promise<number>;
}

/** The least price, because no other wallet competes for the wallet's own accounts. */
const UNIT_PRICE = 1n;

/**
 * Signs a transaction that turns SOL into wrapped SOL without a swap; sends nothing. The result has
 * the shape of a swap's.
 */
export async function signWrap(deps: SwapDeps, order: WrapOrder): Promise<SignedSwap> {
  const { rpc, signer, network } = deps;
  const { amount } = order;
  const wallet = signer.address;
  const options = { signal: order.signal };
  const { legs, lamports, slot } = await readWallet(rpc, wallet, [WSOL_MINT], options);
  const [leg] = legs;
  if (leg === undefined) throw new TypeError('the wrapped SOL account was not read');
  const { account } = leg;
  const [walletMinimum, rent] = await Promise.all([
    rpc.rent(0, options),
    rentOf(rpc, leg, options),
  ]);
  const { draft, compute, lifetime } = await finish({
    ...{ ...deps, options, walletMinimum, readAt: slot, next: order.next },
    unitPrice: Promise.resolve(UNIT_PRICE),
    reserved: async () => nothingReserved,
    compose: (budget, blockhash) =>
      composeWrap({
        ...{ wallet, account, amount, rent, compute: budget, blockhash },
        availableLamports: lamports,
      }),
  });
  const expected = {
    ...{ inputMint: WSOL_MINT, outputMint: WSOL_MINT, maxIn: amount, minOut: amount },
    slippageBps: 0,
    ...{ source: wallet, output: account.address, outputBefore: account.balance },
    before: { amount: lamports, slot },
    leeway: nothingReserved,
    networkFeeLamports: draft.budget.networkFee,
    priorityFeeLamports: priorityFee(compute),
    rentLamports: draft.budget.rent,
  };
  await order.onPlanned?.(expected);
  const signed = await signMessage(
    signer,
    draft.message,
    intentOf(network, expected),
    order.signal,
  );
  return { ...signed, lifetime, expected };
}

export interface WrapParts {
  readonly wallet: Address;
  readonly account: OwnAccount;
  readonly amount: bigint;
  readonly availableLamports: bigint;
  /** Lamports that creating the account costs; 0n if it exists. */
  readonly rent: bigint;
  readonly compute: ComputeBudget;
  readonly blockhash: string;
}

/**
 * Composes a transaction that turns SOL into wrapped SOL for a payment. It has no guard, because it
 * has no foreign instruction.
 */
export function composeWrap(parts: WrapParts): Draft {
  const { wallet, account, amount, availableLamports, rent, compute, blockhash } = parts;
  const instructions = [
    ...computeInstructions(compute),
    ...(account.exists ? [] : [createOwn(wallet, account)]),
    ...wrapInto(wallet, account.address, amount),
  ];
  const budget: LamportBudget = {
    networkFee: SIGNATURE_LAMPORTS,
    priorityFee: priorityFee(compute),
    rent,
    temporaryRent: 0n,
    wrapped: amount,
    returned: 0n,
  };
  return {
    instructions,
    message: compileMessage({ feePayer: wallet, instructions, blockhash }),
    budget,
    floors: {
      wallet,
      lamports: maxAmount(leastLamports(availableLamports, budget), 0n),
      tokens: [{ account, least: account.balance + amount, closed: false }],
    },
    availableLamports,
    leeway: nothingReserved,
    swapAt: undefined,
    guardFrom: instructions.length,
  };
}
