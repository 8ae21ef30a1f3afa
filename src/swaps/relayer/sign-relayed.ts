import { ceilDiv, minAmount } from '../../amount.js';
import { PolicyError, TransactionError } from '../../errors.js';
import { WSOL_MINT } from '../../network.js';
import { verifySignature } from '../../solana/keys.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import { judgeChange } from '../../solana/transactions/wallet-changes.js';
import type { Address } from '../../solana/types.js';
import { amountText } from '../../token-text.js';
import {
  intentOf,
  prepareSwap,
  type SignedSwap,
  type SwapDeps,
  type SwapOrder,
} from '../transaction/prepare.js';
import { signMessage } from '../transaction/sign.js';
import type { Relayer, RelayerFacts } from './relayer.js';

/** A relayer that may pay for a swap, and the most that it may take as its fee. */
export interface RelayOffer extends Pick<RelayerFacts, 'feePayer' | 'payTo'> {
  readonly relayer: Relayer;
  /** The token of the fee: a token of the swap, never SOL. */
  readonly mint: Address;
  /** Base units. */
  readonly maxFee: bigint;
}

/** A fiftieth of the fee is added, because the fee may rise a little until the relayer signs. */
const HEADROOM = 50n;

/** Fee until the real fee is known: the relayer charges for the transfer of its fee too. */
const PLACEHOLDER = 1n;

/**
 * Signs a swap as `signSwap` does, for a wallet without SOL. The relayer signs first and pays fees
 * and rents. It is paid by a transfer of tokens, which is composed, simulated and guarded with the
 * swap. The wallet signs after each byte of the relayer's transaction is judged. Sends nothing.
 *
 * Throws the errors of `prepareSwap` and `signSwap`.
 *
 * @param because - Returns the error to throw if the relayer does not answer, asks for more than
 *   `maxFee`, or signed another transaction.
 */
export async function signRelayed(
  deps: SwapDeps,
  order: SwapOrder,
  offer: RelayOffer,
  because: (cause: unknown) => unknown,
): Promise<SignedSwap> {
  const orBecause = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((cause: unknown) => {
      throw because(cause);
    });
  const { signer, network } = deps;
  const { feePayer, payTo, mint, relayer } = offer;
  const { signal } = order;
  const wallet = signer.address;
  const unfit = unfitness(wallet, order, offer);
  if (unfit !== undefined) throw because(refused(feePayer, unfit));
  const prepare = (amount: bigint) =>
    prepareSwap(deps, wallet, { ...order, relay: { feePayer, payTo, mint, amount } });
  const facts = { feePayer, payTo, mints: undefined };
  const draft = await prepare(PLACEHOLDER);
  const fee = await orBecause(relayer.fee(unsigned(draft.message), mint, facts, signal));
  if (fee > offer.maxFee) throw because(tooDear(network, offer, fee));
  const { message, lifetime, expected } = await prepare(
    minAmount(fee + ceilDiv(fee, HEADROOM), offer.maxFee),
  );
  await order.onPlanned?.(expected);
  const wire = await orBecause(relayer.sign(unsigned(message), facts, signal));
  const relayed = await orBecause(judgeRelayed(message, wire, feePayer));
  const signed = await signMessage(
    signer,
    relayed.message,
    intentOf(network, expected),
    signal,
    new Map([[feePayer, relayed.signature]]),
  );
  return { ...signed, lifetime, expected };
}

/** Returns why a relayer may not pay for a swap: it could reach lamports of the wallet. */
function unfitness(
  wallet: Address,
  { bounds }: SwapOrder,
  { feePayer, payTo, mint }: RelayOffer,
): string | undefined {
  if (feePayer === wallet || payTo === wallet) return 'it names the wallet itself';
  return bounds.inputMint === WSOL_MINT || mint === WSOL_MINT
    ? 'the swap would take SOL of the wallet'
    : undefined;
}

/** Returns the message that a relayer signed; throws unless it only added guards that read. */
async function judgeRelayed(
  message: Uint8Array,
  wire: Uint8Array,
  feePayer: Address,
): Promise<{ readonly message: Uint8Array; readonly signature: Uint8Array }> {
  const judged = judgeChange(message, wire);
  if ('id' in judged) throw refused(feePayer, `it changed it: ${judged.refuses}`, judged.id);
  const { signed } = judged;
  const signature = signed.signatures[0] ?? new Uint8Array();
  if (!(await verifySignature(signed.message, signature, feePayer)))
    throw refused(feePayer, 'its signature does not fit');
  return { message: signed.message, signature };
}

function unsigned(message: Uint8Array): Uint8Array {
  return assembleTransaction(message, new Map());
}

function refused(address: Address, why: string, rule?: string): TransactionError<'signing_failed'> {
  return new TransactionError(
    'signing_failed',
    `The relayer ${address} did not sign the swap as it was composed: ${why}${rule === undefined ? '' : ` (rule ${rule})`}. The wallet signed nothing. Use another relayer, or send the wallet SOL.`,
    { details: { address, ...(rule === undefined ? {} : { rule }) } },
  );
}

function tooDear(
  network: string,
  { mint, maxFee }: RelayOffer,
  fee: bigint,
): PolicyError<'amount_over_limit'> {
  const [asked, most] = [fee, maxFee].map((amount) => amountText(network, mint, amount));
  return new PolicyError(
    'amount_over_limit',
    `The relayer asks for ${asked} to pay for the swap; at most ${most} may go to it. Raise relayer.maxFee, or send the wallet SOL.`,
    {
      details: {
        cap: 'relayer.maxFee',
        limit: maxFee.toString(),
        amount: fee.toString(),
        unit: mint,
      },
    },
  );
}
