import { minAmount } from '../../amount.js';
import {
  FundsError,
  isExactChangeError,
  PolicyError,
  type ExactChangeError,
} from '../../errors.js';
import { WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { createRelayer } from '../../swaps/relayer/relayer.js';
import type { RelayOffer } from '../../swaps/relayer/sign-relayed.js';
import { newAccountRent } from '../../swaps/transaction/read-facts.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';
import { shareFirst } from './holdings.js';
import { checkAvailable, quoteForPayment } from './swap-quote.js';
import { usdPriceOf } from './usd-price.js';

/**
 * What the configured relayer takes at most for paying a swap's fees and rents, in the first of
 * these tokens that it takes. Undefined if none is configured; rejects with the reason if it will
 * not do.
 */
export async function relayOffer(
  context: PaymentContext,
  mints: readonly Address[],
  signal: AbortSignal | undefined,
): Promise<RelayOffer | undefined> {
  const { relayer: settings, fetch, timeouts, runtime } = context.config;
  if (settings === undefined) return undefined;
  const relayer = createRelayer({ ...settings, fetch, timeoutMs: timeouts.service, runtime });
  const { feePayer, payTo, mints: taken } = await relayer.facts(signal);
  const mint = mints.find((one) => one !== WSOL_MINT && taken?.includes(one) !== false);
  const [first = ''] = mints;
  if (mint === undefined)
    throw new FundsError(
      'mint_not_supported',
      `The relayer takes no fee in the tokens of this swap (${mints.join(', ')}). Hold a token that it takes, or send the wallet SOL.`,
      { details: { mint: first, reason: 'the relayer takes no fee in it' } },
    );
  const price = await usdPriceOf(context, mint, signal);
  if (price === undefined)
    throw new PolicyError(
      'price_unknown',
      `No price is known for mint ${mint}, so relayer.maxFee cannot hold the fee. Send the wallet SOL.`,
      { details: { mint } },
    );
  return { relayer, feePayer, payTo, mint, maxFee: price.amountOf(settings.maxFee) };
}

/** A swap that funds a payment. */
interface Quoted {
  readonly inputMint: Address;
  readonly maxInAmount: bigint;
  readonly quote: SwapQuote;
  /** What may be spent of the input. */
  readonly available: bigint;
  readonly relay?: RelayOffer;
}

/**
 * A swap that funds a payment, with what a relayer may take at most if the wallet may have too little
 * SOL for fees and rents: what is shown and approved has it in. A relayer that fails is asked again
 * when it is needed, and says why then.
 */
export async function withRelay(
  context: PaymentContext,
  funding: Quoted,
  outputMint: Address,
  signal: AbortSignal | undefined,
): Promise<Quoted> {
  const { inputMint } = funding;
  if (context.config.relayer === undefined || inputMint === WSOL_MINT) return funding;
  if (await hasSol(context, outputMint, signal)) return funding;
  const relay = await relayOffer(context, [inputMint, outputMint], signal).catch(
    (error: unknown) => {
      if (isExactChangeError(error)) return undefined;
      throw error;
    },
  );
  if (relay === undefined) return funding;
  const { quote, available, maxInAmount } = funding;
  if (relay.mint === inputMint) {
    const maxFee = minAmount(relay.maxFee, available - maxInAmount);
    return { ...funding, maxInAmount: maxInAmount + maxFee, relay: { ...relay, maxFee } };
  }
  // It brings so much more; what the relayer does not take of it stays.
  const amount = BigInt(quote.minOutAmount) + relay.maxFee;
  const { slippageBps } = quote;
  const dearer = await quoteForPayment(
    context,
    { inputMint, outputMint, slippageBps, amount: amount.toString(), swapMode: 'ExactOut' },
    signal,
  );
  checkAvailable(context.config.network, dearer, available);
  return { inputMint, maxInAmount: BigInt(dearer.maxInAmount), quote: dearer, available, relay };
}

/** Whether SOL is there for the most that a swap into a token may take. */
async function hasSol(
  context: PaymentContext,
  outputMint: Address,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { rpc, config, ledger } = context;
  const { lamports, wallet } = await shareFirst(context, signal);
  const [held, minimum, rent] = await Promise.all([
    ledger.held(wallet),
    rpc.rent(0, { signal }),
    newAccountRent(rpc, wallet, outputMint, { signal }),
  ]);
  return lamports - held >= minimum + config.policy.maxFeeLamports + rent;
}

/** The error of a swap that a relayer was to pay for, with the reason why it did not. */
export function notRelayed(
  { message, details }: ExactChangeError<'insufficient_sol'>,
  cause: ExactChangeError,
): FundsError<'insufficient_sol'> {
  return new FundsError(
    'insufficient_sol',
    `${message} The relayer did not pay for it: ${cause.message}`,
    { details, cause, ...(cause.untrusted === undefined ? {} : { untrusted: cause.untrusted }) },
  );
}
