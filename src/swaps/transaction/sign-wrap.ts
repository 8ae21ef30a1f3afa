import { WSOL_MINT } from '../../network.js';
import type { CallOptions } from '../../solana/rpc/rpc.js';
import { requiredLamports, priorityFee } from './budget.js';
import { finish } from './finish.js';
import { nothingReserved } from './plan.js';
import type { SignedSwap, SwapDeps, SwapOrder } from './prepare.js';
import { accountBytes, readWallet } from './read-facts.js';
import { signMessage } from './sign.js';
import { composeWrap } from './wrap.js';

export interface WrapOrder extends Pick<
  SwapOrder,
  'onPlanned' | 'reserved' | 'minContextSlot' | 'signal'
> {
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
export async function signWrap(
  { rpc, signer, blockhashes, network, limits, decoders }: SwapDeps,
  order: WrapOrder,
): Promise<SignedSwap> {
  const { amount } = order;
  const wallet = signer.address;
  const options: CallOptions = { signal: order.signal, minContextSlot: order.minContextSlot };
  const readReserved = async () => order.reserved?.() ?? nothingReserved;
  const { legs, lamports, slot } = await readWallet(rpc, wallet, [WSOL_MINT], options);
  const [leg] = legs;
  if (leg === undefined) throw new TypeError('the wrapped SOL account was not read');
  const { account, mint } = leg;
  const [walletMinimum, rent] = await Promise.all([
    rpc.rent(0, options),
    account.exists ? 0n : rpc.rent(accountBytes(mint), options),
  ]);
  const { draft, compute, lifetime } = await finish({
    ...{
      rpc,
      decoders,
      blockhashes,
      limits,
      walletMinimum,
      readAt: slot,
      unitPrice: Promise.resolve(UNIT_PRICE),
      next: order.next,
      reserved: readReserved,
      options,
    },
    compose: (budget, blockhash, reserved) => {
      const availableLamports = lamports > reserved.lamports ? lamports - reserved.lamports : 0n;
      const composed = composeWrap({
        wallet,
        account,
        amount,
        availableLamports,
        rent,
        compute: budget,
        blockhash,
      });
      return {
        ...composed,
        availableLamports,
        leeway: nothingReserved,
        swapAt: undefined,
        guardFrom: composed.instructions.length,
      };
    },
  });
  const amounts = { maxInAmount: amount.toString(), minOutAmount: amount.toString() };
  const intent = {
    kind: 'swap',
    network,
    inputMint: WSOL_MINT,
    outputMint: WSOL_MINT,
    ...amounts,
  } as const;
  const expected = {
    ...{
      inputMint: WSOL_MINT,
      outputMint: WSOL_MINT,
      maxIn: amount,
      minOut: amount,
      slippageBps: 0,
    },
    ...{
      source: wallet,
      output: account.address,
      before: { amount: lamports, slot },
      outputBefore: account.balance,
    },
    leeway: nothingReserved,
    networkFeeLamports: draft.budget.networkFee,
    priorityFeeLamports: priorityFee(compute),
    rentLamports: draft.budget.rent,
    requiredLamports: requiredLamports(draft.budget, walletMinimum),
  };
  await order.onPlanned?.(expected);
  const signed = await signMessage(signer, draft.message, intent, order.signal);
  return { ...signed, lifetime, expected };
}
