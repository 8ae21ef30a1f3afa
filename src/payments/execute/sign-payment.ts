import { TransactionError } from '../../errors.js';
import { base58 } from '../../internal/bytes.js';
import { sha256 } from '../../internal/sha2.js';
import type { Reading } from '../../journal/account-balance.js';
import type { SignedPayment } from '../../journal/types.js';
import { carriesNonce } from '../../protocols/protocol.js';
import { askSigner, type SignedMessage } from '../../solana/ask-signer.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import type { Lifetime } from '../../solana/types.js';
import { signerWithTimeout, type PaymentContext } from '../context.js';
import type { Choice } from '../plan/choose.js';

const PAYMENT_ID_BYTES = 16;

// The slot comes with a cached blockhash of a node at `confirmed`; a short fork may count a little
// differently.
const FORK_SLOTS = 64;

/** A payment's message, built and checked, and what finds it on chain. */
export interface Composed {
  readonly message: Uint8Array;
  readonly memo: string | undefined;
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
  /** It cannot land before this slot. */
  readonly slot: number;
  /** As of which the blockhash was valid. */
  readonly blockhashSlot: number;
}

/** Builds the payment for a choice and checks it against itself. */
export async function composePayment(
  context: PaymentContext,
  { protocol, offer, facts }: Choice,
  purpose: Purpose,
  signal: AbortSignal | undefined,
): Promise<Composed> {
  const { signer, runtime } = context.config;
  const [own, theirs] = await Promise.all([
    context.blockhashes.recent({ signal }),
    judgeHash(context, offer.recentBlockhash, signal),
  ]);
  const {
    blockhash,
    lastValidBlockHeight,
    slot: blockhashSlot,
  } = theirs === undefined ? own : boundBy(own, theirs);
  const { message, memo } = protocol.build({
    offer,
    payer: signer.address,
    source: facts.source,
    destination: facts.destination,
    tokenProgram: facts.tokenProgram,
    decimals: facts.decimals,
    blockhash,
    nonce: nonceFor(purpose, runtime.randomBytes),
    price: carriesNonce(offer) ? 1n : BigInt(await context.next(blockhash)),
  });
  return {
    message,
    memo,
    blockhash,
    lastValidBlockHeight,
    slot: own.slot - FORK_SLOTS,
    blockhashSlot,
  };
}

interface TheirHash {
  readonly blockhash: string;
  /** As of which it was valid. */
  readonly slot: number;
}

/**
 * The seller's blockhash, if our own node takes it: one that is made up, expired or of another
 * chain would make a payment whose life has no known end.
 */
async function judgeHash(
  context: PaymentContext,
  blockhash: string | undefined,
  signal: AbortSignal | undefined,
): Promise<TheirHash | undefined> {
  if (blockhash === undefined) return undefined;
  // Not worth failing for: ours does as well.
  const answer = await context.rpc.isBlockhashValid(blockhash, { signal }).catch(() => undefined);
  return answer?.valid === true ? { blockhash, slot: answer.slot } : undefined;
}

/**
 * No hash that is valid at a slot outlives the newest of that slot, and a chain grows by at most
 * one block a slot.
 */
function boundBy(
  own: Lifetime & { readonly slot: number },
  { blockhash, slot }: TheirHash,
): Lifetime & { readonly slot: number } {
  return {
    blockhash,
    lastValidBlockHeight: own.lastValidBlockHeight + BigInt(Math.max(0, slot - own.slot)),
    slot,
  };
}

/**
 * Builds, checks and signs the payment for a choice. Nothing leaves.
 *
 * @param before - What the chain showed of the account that it leaves from.
 */
export async function signPayment(
  context: PaymentContext,
  choice: Choice,
  purpose: Purpose,
  before: Reading | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly payment: SignedPayment; readonly message: Uint8Array }> {
  const { signer, runtime } = context.config;
  const { protocol, terms, offer, facts } = choice;
  const { message, memo, blockhash, lastValidBlockHeight, slot, blockhashSlot } =
    await composePayment(context, choice, purpose, signal);
  const signed = await sign(context, message, choice, purpose.url, signal);
  const { signature } = signed;
  const transaction = assembleTransaction(signed.message, new Map([[signer.address, signature]]));
  const { header, hasPaymentId } = protocol.attach({
    ...{ terms, offer, transaction },
    random: () => runtime.randomBytes(PAYMENT_ID_BYTES),
  });
  const payment = {
    header,
    payerSignature: base58.encode(signature),
    source: facts.source,
    ...(memo === undefined ? {} : { memo }),
    ...(before === undefined
      ? {}
      : { before: { amount: before.amount.toString(), slot: before.slot } }),
    slot,
    blockhash,
    blockhashSlot,
    lastValidBlockHeight: lastValidBlockHeight.toString(),
    ...(hasPaymentId ? { hasPaymentId } : {}),
  };
  return { payment, message: signed.message };
}

/** What the wallet signs of a payment: what was judged is what is put on record and presented. */
async function sign(
  context: PaymentContext,
  message: Uint8Array,
  { protocol, offer }: Choice,
  url: string,
  signal: AbortSignal | undefined,
): Promise<SignedMessage> {
  const { signer, network } = context.config;
  const { mint, payTo, amount } = offer;
  const signed = await askSigner(
    signerWithTimeout(context, signal),
    message,
    { kind: 'payment', network, mint, amount: amount.toString(), payTo, url },
    signal,
  );
  const refused = signed.guards === 0 ? undefined : protocol.refusesForm(offer, signed.message);
  if (refused === undefined) return signed;
  const { address } = signer;
  throw new TransactionError(
    'signing_failed',
    `The wallet ${address} put ${signed.guards} instructions of its own into the payment, and facilitators of this seller's kind refuse it: ${refused}. Nothing was presented. Pay with a wallet that adds fewer or puts them last, or with one that adds none: a key, a cloud key or a hardware wallet.`,
    { details: { address, rule: 'wallet_form' } },
  );
}

const NONCE_BYTES = 16;
export const RANDOM_BYTES = 8;

/** What a payment is for: a place, and the key that makes it one purchase there. */
export interface Purpose {
  readonly url: string;
  readonly idempotencyKey?: string | undefined;
}

/**
 * 16 bytes that tell a payment from every other. Those of a purchase with a key commit to it and to
 * its place: they end in a hash of both and of the random bytes before. Without a key they are
 * random: any reader of the chain could look up on chain which of some places a hash without a
 * secret was made for.
 */
export function nonceFor(
  { url, idempotencyKey }: Purpose,
  randomBytes: (length: number) => Uint8Array,
): Uint8Array {
  if (idempotencyKey === undefined) return randomBytes(NONCE_BYTES);
  const random = randomBytes(RANDOM_BYTES);
  return Uint8Array.of(...random, ...commitment(random, url, idempotencyKey));
}

/** JSON tells where one text ends and the next begins. A fragment is never sent. */
export function commitment(random: Uint8Array, url: string, idempotencyKey: string): Uint8Array {
  const text = JSON.stringify([url.replace(/#.*/s, ''), idempotencyKey]);
  const bytes = Uint8Array.of(...random, ...new TextEncoder().encode(text));
  return sha256(bytes).subarray(0, NONCE_BYTES - RANDOM_BYTES);
}
