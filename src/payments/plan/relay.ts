import { minAmount } from '../../amount.js';
import { FundsError, PolicyError, type ExactChangeError } from '../../errors.js';
import { WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { createRelayer } from '../../swaps/relayer/relayer.js';
import type { RelayOffer } from '../../swaps/relayer/sign-relayed.js';
import { newAccountRent } from '../../swaps/accounts/read-wallet.js';
import type { PaymentContext } from '../context.js';
import { requestFor } from './ask-ahead.js';
import { noneIfFailed } from './none-if-failed.js';
import { readFirstHoldings } from './holdings.js';
import { quoteFrom, type QuotedSwap } from './swap-quote.js';
import { usdPriceOf } from './usd-price.js';

/**
 * Returns the configured relayer, with the most that it may take for a swap's fees and rents. The
 * fee is in the first of `mints` that the relayer takes. Undefined if no relayer is configured;
 * rejects with the reason if the relayer cannot be used.
 */
export async function relayOffer(
  context: PaymentContext,
  mints: readonly Address[],
  signal: AbortSignal | undefined,
): Promise<RelayOffer | undefined> {
  const { relayer: settings, fetch, timeouts, runtime } = context.config;
  if (settings === undefined) return undefined;
  const relayer = createRelayer({ ...settings, fetch, timeoutMs: timeouts.service, runtime });
  const { feePayer, payTo, mints: feeMints } = await relayer.facts(signal);
  const mint = mints.find((item) => item !== WSOL_MINT && feeMints?.includes(item) !== false);
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

/**
 * Adds a relayer to a swap if the wallet may have too little SOL for fees and rents. The amounts
 * then include the most that the relayer may take, so that the approval shows it.
 *
 * If the relayer fails, returns the swap unchanged: the relayer is asked again when it is needed,
 * and the error is thrown then.
 */
export async function withRelay(
  context: PaymentContext,
  funding: QuotedSwap,
  outputMint: Address,
  signal: AbortSignal | undefined,
): Promise<QuotedSwap> {
  const { inputMint } = funding;
  if (context.config.relayer === undefined || inputMint === WSOL_MINT) return funding;
  if (await hasSol(context, outputMint, signal)) return funding;
  const relay = await relayOffer(context, [inputMint, outputMint], signal).catch(noneIfFailed);
  // A relayer that may take less than one base unit is none to approve.
  if (relay === undefined || relay.maxFee === 0n) return funding;
  const { quote, available, maxInAmount } = funding;
  if (relay.mint === inputMint) {
    const maxFee = minAmount(relay.maxFee, available - maxInAmount);
    return { ...funding, maxInAmount: maxInAmount + maxFee, relay: { ...relay, maxFee } };
  }
  // Swap for the fee too; the wallet keeps the part that the relayer does not take.
  const amount = BigInt(quote.minOutAmount) + relay.maxFee;
  const candidate = { mint: inputMint, available };
  const request = requestFor(context, candidate, outputMint, amount);
  return { ...(await quoteFrom(context, candidate, request, signal)), relay };
}

/** Returns whether the wallet has SOL for the most that a swap into a token may cost. */
async function hasSol(
  context: PaymentContext,
  outputMint: Address,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { rpc, config } = context;
  const { lamports, wallet } = await readFirstHoldings(context, signal);
  const [minimum, rent] = await Promise.all([
    rpc.rent(0, { signal }),
    newAccountRent(rpc, wallet, outputMint, { signal }),
  ]);
  return lamports >= minimum + config.policy.maxFeeLamports + rent;
}

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
