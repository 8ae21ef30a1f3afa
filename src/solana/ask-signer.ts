import { TransactionError } from '../errors.js';
import { untilAborted } from '../internal/abort.js';
import { isGoodSignature, isTransactionSigner, isUint8Array } from './keys.js';
import type { Signer, SigningIntent } from './signer.js';
import { assembleTransaction } from './transactions/transaction.js';
import type { Address } from './types.js';
import { part } from '../internal/load-once.js';

const walletChanges = /* @__PURE__ */ part(() => import('./transactions/wallet-changes.js'));

/** What a signer made of a message. */
export interface SignedMessage {
  /** What is signed: the message itself, or with what the wallet may add to it. */
  readonly message: Uint8Array;
  /** The signer's own, 64 bytes. */
  readonly signature: Uint8Array;
  /** How many guards the wallet has added. */
  readonly guards: number;
}

/**
 * Has a wallet sign a message of ours. Throws `signing_failed` if it refuses, or signs anything
 * else; or the reason of the caller, which may stop waiting before the signer's own deadline.
 *
 * @param others - Signatures that the message has already: wallets leave such a transaction as it is.
 */
export async function askSigner(
  signer: Signer,
  message: Uint8Array,
  intent: SigningIntent,
  signal: AbortSignal | undefined,
  others: ReadonlyMap<Address, Uint8Array> = new Map(),
): Promise<SignedMessage> {
  const { address } = signer;
  const { kind } = intent;
  // Before the wallet is asked, and only for wallets that may add to what they sign.
  const judge = isTransactionSigner(signer) ? (await walletChanges()).readSigned : undefined;
  let answer: unknown;
  try {
    answer = await untilAborted(ask(signer, message, intent, others), signal);
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason;
    throw new TransactionError(
      'signing_failed',
      `The signer of ${address} refused or failed to sign the ${kind}, or did not answer in time. Nothing was sent; see cause.`,
      { details: { address }, cause },
    );
  }
  // A copy: what is judged here must be what is sent.
  const bytes = isUint8Array(answer) ? Uint8Array.from(answer) : new Uint8Array();
  const signed =
    judge === undefined
      ? { message, signature: bytes, guards: 0 }
      : judge(address, message, bytes, kind);
  if (await isGoodSignature(signer, signed.message, signed.signature)) return signed;
  throw new TransactionError(
    'signing_failed',
    `The signature of the signer of ${address} does not fit the ${kind}: it may have changed the message. Nothing was sent.`,
    { details: { address } },
  );
}

/** A signer may write into what it gets, and may throw at once. */
async function ask(
  signer: Signer,
  message: Uint8Array,
  intent: SigningIntent,
  others: ReadonlyMap<Address, Uint8Array>,
): Promise<Uint8Array> {
  return isTransactionSigner(signer)
    ? signer.signTransaction(assembleTransaction(message, others), intent)
    : signer.signMessage(message.slice(), intent);
}
