import { isExactChangeError, TransactionError } from '../errors.js';
import { isGoodSignature, isTransactionSigner, isUint8Array } from './keys.js';
import type { Signer, SigningIntent } from './signer.js';
import { assembleTransaction } from './transactions/transaction.js';
import type { Address } from './types.js';
import type { SignedMessage } from './transactions/wallet-changes.js';
import { lazyPart } from '../internal/load-once.js';

const walletChanges = /* @__PURE__ */ lazyPart(() => import('./transactions/wallet-changes.js'));

/**
 * Asks a wallet to sign a message. Throws `signing_failed` if the wallet refuses, or signs anything
 * else. Throws the signal's reason or `client_closed` if the signer rejects because of it.
 *
 * @param others - Signatures that the message already has. A wallet does not change a transaction
 *   that has such a signature.
 * @param refusesForm - Says why a message with guards cannot be used, if it cannot.
 */
export async function askSigner(
  signer: Signer,
  message: Uint8Array,
  intent: SigningIntent,
  signal: AbortSignal | undefined,
  others: ReadonlyMap<Address, Uint8Array> = new Map(),
  refusesForm?: (message: Uint8Array) => string | undefined,
): Promise<SignedMessage> {
  const { address } = signer;
  const { kind } = intent;
  // Load the check before the wallet is asked. Only a wallet that gets transactions may add guards.
  const judge = isTransactionSigner(signer) ? (await walletChanges()).readSigned : undefined;
  let bytes: Uint8Array;
  try {
    const answer: unknown = await ask(signer, message, intent, others);
    // The answer is copied, so that the checked bytes are the bytes that are sent.
    bytes = isUint8Array(answer) ? Uint8Array.from(answer) : new Uint8Array();
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason;
    if (isExactChangeError(cause, 'client_closed')) throw cause;
    throw new TransactionError(
      'signing_failed',
      `The signer of ${address} refused to sign the ${kind}, failed, or was late. Nothing was sent; see cause.`,
      { details: { address }, cause },
    );
  }
  const signed =
    judge === undefined
      ? { message, signature: bytes }
      : judge(address, message, bytes, kind, refusesForm);
  if (await isGoodSignature(signer, signed.message, signed.signature)) return signed;
  throw new TransactionError(
    'signing_failed',
    `The signature of the signer of ${address} does not fit the ${kind}: it may have changed the message. Nothing was sent.`,
    { details: { address } },
  );
}

/** Calls the signer on a copy, because it may write into its input. A throw becomes a rejection. */
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
