import { base64 } from '../internal/bytes.js';
import { maxAmount } from '../amount.js';
import type { LocalSettings } from '../config/options.js';
import { ConfigError, isExactChangeError } from '../errors.js';
import { amendError } from '../errors/amend.js';
import { createEvents } from '../events.js';
import { refuse } from '../internal/options.js';
import { newWallet } from '../journal/registry.js';
import { contextOver, type PaymentContext } from '../payments/context.js';
import { composePayment, type Purpose } from '../payments/execute/sign-payment.js';
import type { Prices } from '../payments/memory.js';
import { choose, type Choice } from '../payments/plan/choose.js';
import { findFunding } from '../payments/plan/funding.js';
import { fateOf } from '../payments/reconcile/fate.js';
import { landingOf, RESEND_MS } from '../payments/reconcile/swap-end.js';
import type { PaymentRequired } from '../protocols/types.js';
import { readOffers } from '../protocols/x402/offers.js';
import { encodePayment } from '../protocols/x402/payload.js';
import { x402Protocol } from '../protocols/x402/protocol.js';
import { isAddress } from '../solana/address.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import { landTransaction } from '../solana/transactions/confirm.js';
import { assembleTransaction, firstSignature } from '../solana/transactions/transaction.js';
import type { SwapSource } from '../swaps/provider.js';
import type { AutoPayRequest, PaymentResult, Transport } from '../transport.js';
import { throwIfFailed } from './landing.js';
import { parsedOffer, termsOf } from './parse-payment.js';
import { readPayment } from './read-payment.js';
import { readSigned, type SignedBytes } from './read-swap.js';
import { narrowed, swapAmountOf } from './request.js';
import { awaitVerdict, sentBytes, soon, type SwapState } from './verdict.js';

/** @internal What a step works with. */
export interface AutoPayDeps {
  readonly settings: LocalSettings;
  readonly sources: readonly SwapSource[] | undefined;
  readonly rpc: Rpc;
  readonly transport: Transport;
  /** The same for all wallets. */
  readonly tokenPrices: Prices;
}

/** One step of a payment that its caller signs. Keeps nothing of it between steps. */
export async function autoPayStep(
  deps: AutoPayDeps,
  request: AutoPayRequest,
  signal: AbortSignal | undefined,
): Promise<PaymentResult> {
  const { wallet, autoSwap = false, signedSwap, signedPayment } = request;
  if (!isAddress(wallet))
    throw new ConfigError('invalid_option', 'Option wallet must be a base58 address.', {
      details: { option: 'wallet' },
    });
  const terms = termsOf(request.paymentRequired);
  if (signedPayment !== undefined)
    return present(terms, deps.settings.network, wallet, bytesOf('signedPayment', signedPayment));
  const context = planner(deps, request, autoSwap);
  await context.ready();
  const purpose = { url: terms.url ?? '', idempotencyKey: request.idempotencyKey };
  if (signedSwap === undefined)
    return plan(context, terms, { purpose, signal, swapAmount: swapAmountOf(request) });
  const bytes = bytesOf('signedSwap', signedSwap);
  const submitted = await submit(context, wallet, bytes, signal);
  if (submitted !== undefined)
    return {
      state: 'swap_submitted',
      signature: submitted,
      offer: firstOffer(terms, deps.settings.network, wallet),
    };
  try {
    return await plan(context, terms, { purpose, signal });
  } catch (error) {
    // Whatever keeps the payment from being made, the swap for it was.
    throw isExactChangeError(error)
      ? amendError(error, { moved: [{ kind: 'swap', signature: firstSignature(bytes) }] })
      : error;
  }
}

/**
 * A context that plans one step for a wallet, within what the request asks for, and keeps nothing
 * but prices.
 */
export function planner(
  { settings, sources, rpc, transport, tokenPrices }: AutoPayDeps,
  request: AutoPayRequest,
  autoSwap: boolean,
): PaymentContext {
  const config = {
    ...narrowed(settings, request),
    signer: {
      address: request.wallet,
      signMessage: () => Promise.reject(new TypeError('this context only plans')),
    },
    transport,
    autoSwap,
    apiUrl: undefined,
    apiKey: undefined,
    relayer: undefined,
    journal: undefined,
    presign: [],
    retryWindow: 0,
  };
  return contextOver(config, {
    protocols: [x402Protocol],
    sources,
    events: createEvents(settings.runtime.now),
    rpc,
    transport,
    kept: undefined,
    tokenPrices,
    wallet: newWallet(),
  });
}

/** How to plan. */
export interface PlanOptions {
  /** What the payment is for. */
  readonly purpose: Purpose;
  readonly signal: AbortSignal | undefined;
  /** Base units that a swap has to bring. */
  readonly swapAmount?: bigint | undefined;
  /** Throws if what was chosen may not be paid after all. */
  readonly check?: (choice: Choice) => Promise<void>;
}

/** What to sign next, or what is missing. */
export async function plan(
  context: PaymentContext,
  terms: PaymentRequired,
  { purpose, signal, swapAmount, check }: PlanOptions,
): Promise<PaymentResult> {
  let choice: Choice;
  try {
    choice = await chooseFunded(context, terms, signal, swapAmount);
    await check?.(choice);
  } catch (error) {
    if (!isExactChangeError(error, 'insufficient_funds')) throw error;
    return {
      state: 'insufficient_funds',
      offer: firstOffer(terms, context.config.network, context.config.signer.address),
      funds: error.details,
    };
  }
  const offer = parsedOffer({ ok: true, offer: choice.offer }, choice.terms);
  const { funding, facts } = choice;
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
      payment: { transaction, lastValidBlockHeight: lastValidBlockHeight.toString() },
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

/** The offer, and the swap for it: for what is missing, or for so much as is asked for. */
async function chooseFunded(
  context: PaymentContext,
  terms: PaymentRequired,
  signal: AbortSignal | undefined,
  swapAmount: bigint | undefined,
): Promise<Choice> {
  const choice = await choose(context, terms, {
    host: hostOf(terms),
    signal,
    quote: swapAmount === undefined,
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

/** Of the place that asks; empty if the 402 does not say. Throws `invalid_option`. */
export function hostOf({ url }: PaymentRequired): string {
  try {
    return url === undefined ? '' : new URL(url).host;
  } catch {
    throw refuse('paymentRequired.url', 'must be an absolute address.');
  }
}

/** The header for a payment that the wallet signed, if it is a payment for one of the offers. */
async function present(
  terms: PaymentRequired,
  network: string,
  wallet: string,
  bytes: Uint8Array,
): Promise<PaymentResult> {
  const { envelope, reading } = await readPayment(terms, network, wallet, bytes);
  const header = encodePayment({
    paymentRequired: envelope,
    offer: reading.offer,
    transaction: bytes,
  });
  return { state: 'ready_to_present', offer: parsedOffer(reading, envelope), header };
}

/**
 * Sends a signed swap and waits a while; its signature if it is not decided by then. What landed
 * or died before is told at once.
 */
async function submit(
  context: PaymentContext,
  wallet: string,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const signed = await readSigned(wallet, bytes);
  const verdict = await soon(signal, async (within) => {
    const found = await awaitVerdict(context, signed, within);
    return found.state === 'open' ? land(context, signed, found.slot, within) : found;
  });
  await throwIfFailed(context, signed, verdict);
  return verdict.state === 'confirmed' ? undefined : signed.signature;
}

/** Sends a swap whose blockhash was valid at a slot. */
async function land(
  context: PaymentContext,
  signed: SignedBytes,
  minContextSlot: number,
  signal: AbortSignal,
): Promise<SwapState> {
  const { rpc, config, histories } = context;
  const { runtime } = config;
  const sent = await sentBytes(context, signed, minContextSlot, signal);
  // No blockhash of before outlives one of now.
  const { lastValidBlockHeight } = await rpc.latestBlockhash({ minContextSlot, signal });
  const lookBack = async (within: AbortSignal) => landingOf(await fateOf(histories, sent, within));
  const landing = await landTransaction({
    rpc,
    runtime,
    bytes: signed.bytes,
    lastValidBlockHeight,
    resendMs: RESEND_MS,
    lookBack,
    signal,
  });
  if (landing.outcome === 'failed') return { state: 'failed', reason: landing.error };
  return { state: landing.outcome === 'unknown' ? 'waiting' : landing.outcome };
}

/** The first offer that can be paid, or else the first. */
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

/** The bytes of an option that is base64. Throws `invalid_option`. */
export function bytesOf(option: string, text: string): Uint8Array {
  try {
    return base64.decode(text);
  } catch {
    throw refuse(option, 'must be base64.');
  }
}
