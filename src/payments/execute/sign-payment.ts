import { base58, hex } from '../../internal/bytes.js';
import { sha256 } from '../../internal/sha2.js';
import type { Reading } from '../../journal/account-balance.js';
import type { SignedPayment } from '../../journal/types.js';
import { carriesNonce } from '../../protocols/protocol.js';
import { askSigner } from '../../solana/ask-signer.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import type { SignedMessage } from '../../solana/transactions/wallet-changes.js';
import type { Lifetime } from '../../solana/types.js';
import { signerWithTimeout, type PaymentContext } from '../context.js';
import type { Choice } from '../plan/choose.js';
import { recordedBefore } from '../reconcile/fate.js';

// Slots of margin: at `confirmed`, a node may be on a short fork that does not last.
const FORK_SLOTS = 64;

/** The message of a payment, built and checked, with the facts that find it on chain. */
type Composed = { readonly message: Uint8Array } & Pick<
  SignedPayment,
  'memo' | 'slot' | 'blockhash' | 'blockhashSlot' | 'lastValidBlockHeight'
>;

export async function composePayment(
  context: PaymentContext,
  { protocol, offer, facts }: Choice,
  purpose: Purpose,
  signal: AbortSignal | undefined,
): Promise<Composed> {
  const { signer, runtime } = context.config;
  const [ownHash, sellersHash] = await Promise.all([
    context.blockhashes.recent({ signal }),
    validHash(context, offer.recentBlockhash, signal),
  ]);
  const used = sellersHash === undefined ? ownHash : longestLifetime(ownHash, sellersHash);
  const { blockhash } = used;
  const { message, memo } = protocol.build({
    offer,
    payer: signer.address,
    ...facts,
    blockhash,
    nonce: nonceFor(purpose, runtime.randomBytes),
    price: carriesNonce(offer) ? 1n : BigInt(await context.next(blockhash)),
  });
  return {
    message,
    ...(memo === undefined ? {} : { memo }),
    slot: ownHash.slot - FORK_SLOTS,
    blockhash,
    blockhashSlot: used.slot,
    lastValidBlockHeight: used.lastValidBlockHeight.toString(),
  };
}

type SellersHash = Pick<Lifetime, 'blockhash' | 'slot'>;

/**
 * Returns the seller's blockhash if the caller's own node says that it is valid. A blockhash that
 * is made up, expired or of another chain would make a payment without a known end of its life.
 */
async function validHash(
  context: PaymentContext,
  blockhash: string | undefined,
  signal: AbortSignal | undefined,
): Promise<SellersHash | undefined> {
  if (blockhash === undefined) return undefined;
  // Do not fail if the node does not answer, because the own blockhash serves as well.
  const answer = await context.rpc.isBlockhashValid(blockhash, { signal }).catch(() => undefined);
  return answer?.valid === true ? { blockhash, slot: answer.slot } : undefined;
}

/**
 * Returns the longest lifetime that the seller's blockhash can have. A blockhash that is valid at a
 * slot does not outlive the newest blockhash of that slot. A chain grows by at most one block a
 * slot.
 */
function longestLifetime(ownHash: Lifetime, { blockhash, slot }: SellersHash): Lifetime {
  return {
    blockhash,
    lastValidBlockHeight: ownHash.lastValidBlockHeight + BigInt(Math.max(0, slot - ownHash.slot)),
    slot,
  };
}

/**
 * Builds, checks and signs the payment for a choice. Nothing leaves.
 *
 * @param before - The last reading of the account that the payment leaves from.
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
  const { message, ...landing } = await composePayment(context, choice, purpose, signal);
  const signed = await sign(context, message, choice, purpose.url, signal);
  const { signature } = signed;
  const transaction = assembleTransaction(signed.message, new Map([[signer.address, signature]]));
  const { header, hasPaymentId } = protocol.attach({
    ...{ terms, offer, transaction },
    random: runtime.randomBytes,
  });
  const payment = {
    header,
    payerSignature: base58.encode(signature),
    source: facts.source,
    ...recordedBefore(before),
    ...landing,
    ...(hasPaymentId ? { hasPaymentId } : {}),
  };
  return { payment, message: signed.message };
}

/**
 * Asks the wallet to sign a payment. The wallet may add instructions to the message, so the
 * returned message is the one that it signed.
 */
async function sign(
  context: PaymentContext,
  message: Uint8Array,
  { protocol, offer }: Choice,
  url: string,
  signal: AbortSignal | undefined,
): Promise<SignedMessage> {
  const { network } = context.config;
  const { mint, payTo, amount } = offer;
  return askSigner(
    signerWithTimeout(context, signal),
    message,
    { kind: 'payment', network, mint, amount: amount.toString(), payTo, url },
    signal,
    undefined,
    (signed) => protocol.refusesForm(offer, signed),
  );
}

const NONCE_BYTES = 16;
const RANDOM_BYTES = 8;

export interface Purpose {
  readonly url: string;
  /** Calls of the URL with the same key are one purchase. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * Returns 16 bytes that tell a payment from every other payment. With an idempotency key, they
 * commit to the URL and the key: they end in a hash of both and of the random bytes before. Without
 * a key they are random, because any reader of the chain could guess the URL from a hash without a
 * secret.
 */
export function nonceFor(
  { url, idempotencyKey }: Purpose,
  randomBytes: (length: number) => Uint8Array,
): Uint8Array {
  if (idempotencyKey === undefined) return randomBytes(NONCE_BYTES);
  const random = randomBytes(RANDOM_BYTES);
  return Uint8Array.of(...random, ...commitment(random, url, idempotencyKey));
}

/**
 * Whether a memo may belong to a purchase. A memo that looks like a nonce of this library must
 * commit to the URL and the key of the purchase. Any other memo may belong to it.
 */
export function mayBeFor(memo: string | undefined, { url, idempotencyKey }: Purpose): boolean {
  if (memo === undefined || idempotencyKey === undefined || !/^[0-9a-f]{32}$/.test(memo))
    return true;
  const nonce = hex.decode(memo);
  return (
    hex.encode(nonce.subarray(RANDOM_BYTES)) ===
    hex.encode(commitment(nonce.subarray(0, RANDOM_BYTES), url, idempotencyKey))
  );
}

/**
 * Returns the hash half of a nonce. JSON marks where the URL ends and the key begins. The fragment
 * is left out, because it is never sent.
 */
function commitment(random: Uint8Array, url: string, idempotencyKey: string): Uint8Array {
  const text = JSON.stringify([url.replace(/#.*/s, ''), idempotencyKey]);
  const bytes = Uint8Array.of(...random, ...new TextEncoder().encode(text));
  return sha256(bytes).subarray(0, NONCE_BYTES - RANDOM_BYTES);
}
