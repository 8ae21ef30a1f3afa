import { base64 } from '@scure/base';
import { maxAmount } from '../src/amount.js';
import { choose, type Choice } from '../src/autopay/choose.js';
import { coreOver, type Core } from '../src/autopay/core.js';
import { findFunding } from '../src/autopay/funding.js';
import { composePayment } from '../src/autopay/sign-payment.js';
import { readLanded, swapFailed } from '../src/autopay/swap-outcome.js';
import type { LocalSettings } from '../src/config.js';
import { startDeadline } from '../src/deadline.js';
import { amendError, ConfigError, isExactChangeError, TransactionError } from '../src/errors.js';
import { createEvents } from '../src/events.js';
import { newWallet } from '../src/journal/registry.js';
import { associatedTokenAddress } from '../src/solana/accounts.js';
import { isAddress } from '../src/solana/address.js';
import { landTransaction } from '../src/solana/confirm.js';
import { verifySignature } from '../src/solana/keys.js';
import type { Rpc } from '../src/solana/rpc.js';
import { assembleTransaction, decodeTransaction, firstSignature, messageSigners, resolveInstructions } from '../src/solana/transaction.js';
import { SIGNATURE_LAMPORTS } from '../src/swap/budget.js';
import type { AutoPayRequest, PaymentResult, Transport } from '../src/transport.js';
import { readOffers } from '../src/x402/offers.js';
import { encodePayment } from '../src/x402/payload.js';
import type { Offer, PaymentRequired } from '../src/x402/types.js';
import { narrowed, swapAmountOf } from './auto-pay-request.js';
import { parsedOffer, termsOf } from './local-parse.js';

interface Deps {
  readonly settings: LocalSettings;
  readonly rpc: Rpc;
  readonly transport: Transport;
}

const RESEND_MS = 2_000;
// An HTTP caller does not wait for long; what is not confirmed by then is asked for again.
const SWAP_WAIT_MS = 20_000;

/** One step of a payment that somebody else signs. Keeps nothing between steps. */
export async function autoPayStep(
  { settings, rpc, transport }: Deps,
  request: AutoPayRequest,
  signal: AbortSignal | undefined,
): Promise<PaymentResult> {
  const { wallet, autoSwap = false, signedSwap, signedPayment } = request;
  if (!isAddress(wallet))
    throw new ConfigError('invalid_option', 'Option wallet must be a base58 address.', { details: { option: 'wallet' } });
  const terms = termsOf(request.paymentRequired);
  if (signedPayment !== undefined) return present(terms, settings.network, wallet, bytesOf('signedPayment', signedPayment));
  const config = {
    ...narrowed(settings, request),
    signer: { address: wallet, signMessage: () => Promise.reject(new TypeError('this core only plans')) },
    transport,
    autoSwap,
    apiUrl: undefined,
    apiKey: undefined,
    journal: undefined,
    retryWindow: 0,
  };
  const core = coreOver(config, createEvents(settings.runtime.now), rpc, transport, newWallet());
  await core.ready();
  if (signedSwap === undefined) return plan(core, terms, signal, swapAmountOf(request));
  const bytes = bytesOf('signedSwap', signedSwap);
  const submitted = await submit(core, wallet, bytes, signal);
  if (submitted !== undefined) return { state: 'swap_submitted', signature: submitted, offer: firstOffer(terms, settings.network, wallet) };
  try {
    return await plan(core, terms, signal);
  } catch (error) {
    // Whatever keeps the payment from being made, the swap for it was.
    throw isExactChangeError(error) ? amendError(error, { moved: [{ kind: 'swap', signature: firstSignature(bytes) }] }) : error;
  }
}

async function plan(core: Core, terms: PaymentRequired, signal: AbortSignal | undefined, swapAmount?: bigint): Promise<PaymentResult> {
  let choice: Choice;
  try {
    choice = await chooseFunded(core, terms, signal, swapAmount);
  } catch (error) {
    if (!isExactChangeError(error, 'insufficient_funds')) throw error;
    return { state: 'insufficient_funds', offer: firstOffer(terms, core.config.network, core.config.signer.address), funds: error.details };
  }
  const offer = parsedOffer({ ok: true, offer: choice.offer }, choice.terms);
  const { funding, facts } = choice;
  if (funding === undefined) {
    const { message, lastValidBlockHeight } = await composePayment(core, choice, signal);
    const transaction = base64.encode(assembleTransaction(message, new Map()));
    return { state: 'ready_to_sign', offer, payment: { transaction, lastValidBlockHeight: lastValidBlockHeight.toString() } };
  }
  if ('quote' in funding) {
    const swap = await core.transport.buildSwap({ wallet: core.config.signer.address, quote: funding.quote }, { signal });
    return { state: 'swap_required', offer, swap };
  }
  const { mint, amount } = choice.offer;
  return { state: 'insufficient_funds', offer, funds: { mint, required: amount.toString(), available: facts.available.toString() } };
}

/** The offer, and the swap for it: for what is missing, or for so much as is asked for. */
async function chooseFunded(
  core: Core,
  terms: PaymentRequired,
  signal: AbortSignal | undefined,
  swapAmount: bigint | undefined,
): Promise<Choice> {
  const choice = await choose(core, terms, { host: hostOf(terms), signal, quote: swapAmount === undefined });
  if (swapAmount === undefined) return choice;
  const { available } = choice.facts;
  const { amount } = choice.offer;
  const needed = maxAmount(available + swapAmount, amount);
  return { ...choice, funding: await findFunding(core, choice.offer, choice.facts, needed, { signal }) };
}

function hostOf({ url }: PaymentRequired): string {
  try {
    return url === undefined ? '' : new URL(url).host;
  } catch {
    throw refuse('paymentRequired.url', 'must be an absolute address.');
  }
}

/** The header for a payment that the wallet signed, if it is a payment for one of the offers. */
function present(terms: PaymentRequired, network: string, wallet: string, bytes: Uint8Array): PaymentResult {
  const decoded = decodeTransaction(bytes);
  const position = decoded === undefined ? -1 : messageSigners(decoded.message).indexOf(wallet);
  const signature = decoded?.signatures[position];
  if (decoded === undefined || signature === undefined || !verifySignature(decoded.message, signature, wallet)) {
    throw refuse('signedPayment', 'must be the transaction of the step before, signed by the wallet.');
  }
  const envelopes = terms.fallback === undefined ? [terms] : [terms, terms.fallback];
  for (const envelope of envelopes) {
    for (const reading of readOffers(envelope, network, wallet)) {
      if (!reading.ok || !pays(bytes, reading.offer)) continue;
      const header = encodePayment({ paymentRequired: envelope, offer: reading.offer, transaction: bytes });
      return { state: 'ready_to_present', offer: parsedOffer(reading, envelope), header };
    }
  }
  throw refuse('signedPayment', 'pays none of the offers.');
}

const TRANSFER_CHECKED = 12;

function pays(bytes: Uint8Array, { feePayer, payTo, mint, amount }: Offer): boolean {
  const decoded = decodeTransaction(bytes);
  const instructions = decoded === undefined ? undefined : resolveInstructions(decoded, []);
  if (decoded?.staticAccounts[0] !== feePayer || instructions === undefined) return false;
  const transfers = instructions.filter(({ data }) => data[0] === TRANSFER_CHECKED && data.length === 10);
  const [transfer] = transfers;
  if (transfer === undefined || transfers.length !== 1) return false;
  const [, of, to] = transfer.accounts;
  const paid = new DataView(transfer.data.buffer, transfer.data.byteOffset).getBigUint64(1, true);
  return of?.address === mint && to?.address === associatedTokenAddress(payTo, mint, transfer.program) && paid === amount;
}

/** Sends a signed swap and waits a while; its signature where it is not confirmed by then. */
async function submit(core: Core, wallet: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<string | undefined> {
  const decoded = decodeTransaction(bytes);
  const [signature] = decoded?.signatures ?? [];
  if (decoded?.staticAccounts[0] !== wallet || signature === undefined || !verifySignature(decoded.message, signature, wallet)) {
    throw refuse('signedSwap', 'must be the transaction of the step before, signed by the wallet.');
  }
  const { rpc, config, blockhashes } = core;
  // No blockhash of before outlives one of now.
  const { lastValidBlockHeight } = await blockhashes.fresh({ signal });
  const deadline = startDeadline(SWAP_WAIT_MS, signal);
  const landing = await landTransaction({
    rpc,
    runtime: config.runtime,
    bytes,
    lastValidBlockHeight,
    resendMs: RESEND_MS,
    signal: deadline.signal,
  });
  deadline.end();
  const id = firstSignature(bytes);
  switch (landing.outcome) {
    case 'confirmed':
      return undefined;
    case 'unknown':
      return id;
    case 'failed': {
      const feeLamports = (await readLanded(core, id))?.feeLamports ?? SIGNATURE_LAMPORTS;
      throw swapFailed({ signature: id, reason: landing.error, feeLamports: feeLamports.toString() });
    }
    case 'expired':
      throw new TransactionError('swap_expired', 'The swap did not land before its blockhash expired, and now never can. Try again.', {
        details: { signature: id },
      });
  }
}

function firstOffer(terms: PaymentRequired, network: string, wallet: string): PaymentResult['offer'] {
  const readings = readOffers(terms, network, wallet);
  const reading = readings.find(({ ok }) => ok) ?? readings[0];
  return reading === undefined ? { index: 0, x402Version: terms.x402Version, payable: false } : parsedOffer(reading, terms);
}

function bytesOf(option: string, text: string): Uint8Array {
  try {
    return base64.decode(text);
  } catch {
    throw refuse(option, 'must be base64.');
  }
}

function refuse(option: string, rule: string): ConfigError {
  return new ConfigError('invalid_option', `Option ${option} ${rule}`, { details: { option } });
}
