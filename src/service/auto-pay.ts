import { base64 } from '../internal/bytes.js';
import { maxAmount } from '../amount.js';
import type { Config, LocalSettings } from '../config/options.js';
import { isExactChangeError, type ExactChangeError } from '../errors.js';
import { amendError } from '../errors/amend.js';
import { createEvents } from '../events.js';
import { refuse } from '../internal/options.js';
import { parseBase64 } from '../internal/parse.js';
import { newWallet } from '../journal/registry.js';
import { contextOver, type PaymentContext } from '../payments/context.js';
import { composePayment, type Purpose } from '../payments/execute/sign-payment.js';
import type { Prices } from '../payments/memory.js';
import { choose, spendOf, type Choice } from '../payments/plan/choose.js';
import { findFunding } from '../payments/plan/funding.js';
import { fateOf } from '../payments/reconcile/fate.js';
import { landingOf, RESEND_MS } from '../payments/reconcile/swap-end.js';
import type { CapRules, Spend } from '../policy/caps.js';
import { checkPayment } from '../policy/refusals.js';
import type { PaymentRequired } from '../protocols/types.js';
import { readOffers } from '../protocols/x402/offers.js';
import { encodePayment } from '../protocols/x402/payload.js';
import { x402Protocol } from '../protocols/x402/protocol.js';
import { isAddress } from '../solana/address.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import type { Address } from '../solana/types.js';
import { landTransaction, type Landing } from '../solana/transactions/confirm.js';
import { assembleTransaction, firstSignature } from '../solana/transactions/transaction.js';
import type { SwapSource } from '../swaps/provider.js';
import type { AutoPayRequest, PaymentResult, Transport } from '../transport.js';
import { throwIfFailed } from './landing.js';
import { parsedOffer, termsOf } from './parse-payment.js';
import { readPayment } from './read-payment.js';
import { readSigned, type SignedBytes } from './read-swap.js';
import { narrowed, placeOf, swapAmountOf } from './request.js';
import { asOf } from './swap-proceeds.js';
import { awaitSwapState, sentBytes, withinCallerWait } from './verdict.js';

/** @internal The dependencies of a step. */
export interface AutoPayDeps {
  readonly settings: LocalSettings;
  readonly sources: readonly SwapSource[] | undefined;
  readonly rpc: Rpc;
  readonly transport: Transport;
  /** Token prices, shared by all wallets. */
  readonly tokenPrices: Prices;
}

/** Runs one step of a payment that its caller signs. It keeps no state between steps. */
export async function autoPayStep(
  deps: AutoPayDeps,
  request: AutoPayRequest,
  signal: AbortSignal | undefined,
): Promise<PaymentResult> {
  const { wallet, autoSwap = false, signedSwap, signedPayment } = request;
  if (!isAddress(wallet)) throw refuse('wallet', 'must be a base58 address.');
  const terms = termsOf(request.paymentRequired);
  const { url, host } = placeOf(terms);
  if (signedPayment !== undefined)
    return present(terms, deps.settings.network, wallet, bytesOf('signedPayment', signedPayment));
  const context = planner(deps, request, autoSwap);
  await context.ready();
  const { network, policy } = deps.settings;
  const purpose = { url, idempotencyKey: request.idempotencyKey };
  const options = { host, purpose, policy, signal, swapAmount: swapAmountOf(request) };
  if (signedSwap === undefined) return plan(context, terms, options);
  const bytes = bytesOf('signedSwap', signedSwap);
  const landedAt = await submit(context, wallet, bytes, signal);
  const signature = firstSignature(bytes);
  if (landedAt === undefined)
    return { state: 'swap_submitted', signature, offer: firstOffer(terms, network, wallet) };
  return afterSwap(signature, plan(asOf(context, landedAt), terms, options));
}

/** Returns a plan. If it fails, the error still reports the swap that landed before. */
export function afterSwap(
  signature: string,
  planned: Promise<PaymentResult>,
): Promise<PaymentResult> {
  return planned.catch((error: unknown) => {
    throw isExactChangeError(error)
      ? amendError(error, { moved: [{ kind: 'swap', signature }] })
      : error;
  });
}

/**
 * Creates a context that plans one step for a wallet, within the limits of the request. It keeps
 * only prices.
 */
export function planner(
  deps: AutoPayDeps,
  request: AutoPayRequest,
  autoSwap: boolean,
): PaymentContext {
  const config = {
    ...narrowed(deps.settings, request),
    ...{ address: request.wallet, autoSwap, journal: undefined },
  };
  return keylessContext(deps, config, {
    events: createEvents(config.runtime.now),
    kept: undefined,
    tokenPrices: deps.tokenPrices,
    wallet: newWallet(),
  });
}

/** Creates a context for a wallet without its key. */
export function keylessContext(
  { sources, rpc, transport }: AutoPayDeps,
  {
    address,
    ...settings
  }: LocalSettings & Pick<Config, 'autoSwap' | 'journal'> & { readonly address: Address },
  parts: Pick<Parameters<typeof contextOver>[1], 'events' | 'kept' | 'tokenPrices' | 'wallet'>,
): PaymentContext {
  const signMessage = () => Promise.reject(new TypeError('the service has no key of this wallet'));
  const config = {
    ...settings,
    signer: { address, signMessage },
    transport,
    apiUrl: undefined,
    apiKey: undefined,
    relayer: undefined,
    presign: [],
    retryWindow: 0,
  };
  return contextOver(config, { protocols: [x402Protocol], sources, rpc, transport, ...parts });
}

export interface PlanOptions {
  /** The seller's host, as {@link placeOf} returns it. */
  readonly host: string;
  readonly purpose: Purpose;
  /** The operator's policy, which holds beside the limits of the request. */
  readonly policy: CapRules;
  readonly signal: AbortSignal | undefined;
  /** Base units that the swap must bring. */
  readonly swapAmount?: bigint | undefined;
  /** Refuses an offer for a reason of this request, beside the policy. */
  readonly refuse?: (spend: Spend) => ExactChangeError | undefined;
  /** Throws if the chosen offer must not be paid. */
  readonly check?: (choice: Choice) => Promise<void>;
}

export async function plan(
  context: PaymentContext,
  terms: PaymentRequired,
  options: PlanOptions,
): Promise<PaymentResult> {
  const { purpose, signal } = options;
  let choice: Choice;
  try {
    choice = await chooseFunded(context, terms, options);
    await options.check?.(choice);
  } catch (error) {
    if (!isExactChangeError(error, 'insufficient_funds')) throw error;
    const { mint, required, available } = error.details;
    return {
      state: 'insufficient_funds',
      offer: firstOffer(terms, context.config.network, context.config.signer.address),
      funds: { mint, required, available },
    };
  }
  const offer = parsedOffer({ ok: true, offer: choice.offer }, choice.terms);
  const { funding, facts } = choice;
  // Check before the caller signs: a header that is too large cannot be presented.
  choice.protocol.checkHeader(choice.terms, choice.offer);
  if (funding === undefined) {
    const { message, lastValidBlockHeight } = await composePayment(
      context,
      choice,
      purpose,
      signal,
    );
    const transaction = base64.encode(assembleTransaction(message, new Map()));
    return {
      state: 'ready_to_sign',
      offer,
      payment: { transaction, lastValidBlockHeight },
    };
  }
  if ('quote' in funding) {
    const swap = await context.transport.buildSwap(
      { wallet: context.config.signer.address, quote: funding.quote },
      { signal },
    );
    return { state: 'swap_required', offer, swap };
  }
  const { mint, amount } = choice.offer;
  return {
    state: 'insufficient_funds',
    offer,
    funds: { mint, required: amount.toString(), available: facts.available.toString() },
  };
}

/** Chooses an offer, with a swap for the missing amount or for the requested amount. */
async function chooseFunded(
  context: PaymentContext,
  terms: PaymentRequired,
  { host, policy, signal, swapAmount, refuse }: PlanOptions,
): Promise<Choice> {
  const choice = await choose(context, terms, {
    host,
    signal,
    quote: swapAmount === undefined,
    // Without a price, a cap of the operator's allows a payment, but no limit of the request does.
    refuse(offer, microUsd) {
      const spend = spendOf({ offer, microUsd }, host);
      return refuse?.(spend) ?? checkPayment(policy, spend);
    },
  });
  if (swapAmount === undefined) return choice;
  const { available } = choice.facts;
  const { amount } = choice.offer;
  const needed = maxAmount(available + swapAmount, amount);
  return {
    ...choice,
    funding: await findFunding(context, choice.offer, choice.facts, needed, { signal }),
  };
}

/** Returns the header of a payment that the wallet signed, if it pays an offer of the terms. */
async function present(
  terms: PaymentRequired,
  network: string,
  wallet: string,
  bytes: Uint8Array,
): Promise<PaymentResult> {
  const signed = await readSigned('signedPayment', wallet, bytes);
  const { envelope, reading } = readPayment(terms, network, wallet, signed);
  const header = encodePayment({
    paymentRequired: envelope,
    offer: reading.offer,
    transaction: bytes,
  });
  return { state: 'ready_to_present', offer: parsedOffer(reading, envelope), header };
}

/**
 * Sends a signed swap and waits a while. Returns the slot in which the swap landed, or undefined if
 * it is still open. A swap that landed or expired before is not sent.
 */
async function submit(
  context: PaymentContext,
  wallet: string,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const signed = await readSigned('signedSwap', wallet, bytes);
  const verdict = await withinCallerWait(signal, async (within) => {
    const found = await awaitSwapState(context, signed, within);
    return found.outcome === 'open' ? land(context, signed, found.slot, within) : found;
  });
  await throwIfFailed(context, signed, verdict);
  return verdict?.outcome === 'confirmed' ? verdict.slot : undefined;
}

async function land(
  context: PaymentContext,
  signed: SignedBytes,
  minContextSlot: number,
  signal: AbortSignal,
): Promise<Landing> {
  const { rpc, config, histories } = context;
  const { runtime } = config;
  const sent = await sentBytes(context, signed, minContextSlot, signal);
  // A blockhash expires no later than a newer blockhash, so the newest height is an upper bound.
  const { lastValidBlockHeight } = await rpc.latestBlockhash({ minContextSlot, signal });
  const lookBack = async (within: AbortSignal) => landingOf(await fateOf(histories, sent, within));
  return landTransaction({
    rpc,
    runtime,
    bytes: signed.bytes,
    lastValidBlockHeight,
    resendMs: RESEND_MS,
    lookBack,
    signal,
  });
}

export function firstOffer(
  terms: PaymentRequired,
  network: string,
  wallet: string,
): PaymentResult['offer'] {
  const readings = readOffers(terms, network, wallet);
  const reading = readings.find(({ ok }) => ok) ?? readings[0];
  return reading === undefined
    ? { index: 0, x402Version: terms.x402Version, payable: false }
    : parsedOffer(reading, terms);
}

export function bytesOf(option: string, text: string): Uint8Array {
  const bytes = parseBase64(text);
  if (bytes === undefined) throw refuse(option, 'must be base64.');
  return bytes;
}
