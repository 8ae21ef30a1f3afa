import { base58 } from '@scure/base';
import { TransactionError } from '../../errors.js';
import { untilAborted } from '../../internal/abort.js';
import type { Reading } from '../../journal/account-balance.js';
import type { SignedPayment } from '../../journal/types.js';
import { carriesNonce } from '../../protocols/protocol.js';
import { isGoodSignature } from '../../solana/keys.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import type { Lifetime } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import type { Choice } from '../plan/choose.js';
import { nonceFor, type Purpose } from './payment-nonce.js';
import { signerWithTimeout } from './signer-timeout.js';

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
): Promise<SignedPayment> {
  const { signer, runtime } = context.config;
  const { protocol, terms, offer, facts } = choice;
  const { message, memo, blockhash, lastValidBlockHeight, slot, blockhashSlot } =
    await composePayment(context, choice, purpose, signal);
  const signature = await untilAborted(
    askSigner(context, message, offer, purpose.url, signal),
    signal,
  );
  const transaction = assembleTransaction(message, new Map([[signer.address, signature]]));
  const { header, hasPaymentId } = protocol.attach({
    ...{ terms, offer, transaction },
    random: runtime.randomBytes(PAYMENT_ID_BYTES),
  });
  return {
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
}

async function askSigner(
  context: PaymentContext,
  message: Uint8Array,
  offer: Choice['offer'],
  url: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const { signer, network } = context.config;
  const { mint, payTo } = offer;
  let signature: Uint8Array | undefined;
  try {
    const intent = {
      kind: 'payment',
      network,
      mint,
      amount: offer.amount.toString(),
      payTo,
      url,
    } as const;
    signature = await signerWithTimeout(context, signal).signMessage(message.slice(), intent);
  } catch (cause) {
    throw new TransactionError(
      'signing_failed',
      'The signer refused or failed to sign the payment, or did not answer in time. Nothing was sent; see cause.',
      {
        details: { address: signer.address },
        cause,
      },
    );
  }
  if (isGoodSignature(signer, message, signature)) return signature;
  throw new TransactionError(
    'signing_failed',
    'The signer returned a signature that does not fit the payment: it may have changed the message. Nothing was sent.',
    {
      details: { address: signer.address },
    },
  );
}
