import { SettlementError, type ErrorDetails } from '../errors.js';
import type { Emit } from '../events.js';
import type { Attempt } from '../journal/types.js';
import type { Call } from '../request.js';
import type { Core } from './core.js';
import { decide, openOf, type Open } from './follow.js';
import { present } from './present.js';

interface Repeat {
  readonly fingerprint: string;
  readonly idempotencyKey: string | undefined;
  readonly call: Call;
  readonly url: string;
  readonly emit: Emit;
  readonly startedAt: number;
}

/**
 * Looks for an earlier attempt at the same purchase whose answer did not reach its caller, and lets the chain decide it first:
 * `already_spent`, the same payment presented again (GET and HEAD), or undefined where the way is free for a new one.
 */
export async function adopt(core: Core, repeat: Repeat): Promise<Response | undefined> {
  const { call, url, emit, startedAt } = repeat;
  const earlier = await findEarlier(core, repeat);
  if (earlier === undefined) return undefined;
  if (core.wallet.active.has(earlier.id)) throw inProgress({ payerSignature: earlier.payment.payerSignature });
  const open = openOf(core, earlier);
  if (earlier.state === 'signed') await decide(core, open, emit, core.closing.signal);
  if (open.attempt.state === 'settled') throw spent(open.attempt);
  if (open.attempt.state === 'unsettled') return undefined;
  if (call.method === 'GET' || call.method === 'HEAD') return present(core, call, url, open, [], emit, startedAt);
  throw undecided(open.attempt);
}

async function findEarlier(core: Core, { fingerprint, idempotencyKey }: Repeat): Promise<Open['attempt'] | undefined> {
  const { runtime, retryWindow, signer } = core.config;
  let found: Open['attempt'] | undefined;
  for (const attempt of await core.journal.similar(signer.address, fingerprint, idempotencyKey)) {
    const { payment, receipt, state } = attempt;
    if (payment === undefined || receipt === undefined || state === 'unsettled') continue;
    // Parallel calls without a key are separate purchases, and so are later ones once the answer arrived.
    const keyed = idempotencyKey !== undefined;
    const lost = !attempt.delivered && !core.wallet.active.has(attempt.id);
    const recent = state === 'signed' || runtime.now() - attempt.at <= retryWindow;
    if (recent && (keyed || lost)) found = { ...attempt, payment, receipt };
  }
  return found;
}

function spent({ payment, receipt, mint, amount }: Open['attempt']): SettlementError {
  const { payerSignature } = payment;
  const { signature } = receipt.payment;
  return new SettlementError(
    'already_spent',
    'This purchase is paid already. Ask the seller for its answer with the signature, or buy again by giving a new idempotencyKey.',
    {
      details: { payerSignature, ...(signature === undefined ? {} : { signature }) },
      funds: 'spent',
      moved: signature === undefined ? [] : [{ kind: 'payment', signature, inputMint: mint, inAmount: amount }],
    },
  );
}

function undecided({ payment }: Open['attempt']): SettlementError {
  const { payerSignature, lastValidBlockHeight } = payment;
  return new SettlementError(
    'payment_uncertain',
    `An earlier payment for this same call may still settle until block height ${lastValidBlockHeight} is final. Repeat the call after that, or pay anew by giving a new idempotencyKey.`,
    { details: { payerSignature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}

/**
 * Makes a purchase as the only one in this process under its idempotency key: two that start together would both find no earlier attempt.
 * Throws `payment_in_progress` where another call is making it.
 */
export async function underKey<T>({ wallet }: Core, idempotencyKey: string | undefined, work: () => Promise<T>): Promise<T> {
  if (idempotencyKey === undefined) return work();
  if (wallet.keys.has(idempotencyKey)) throw inProgress({});
  wallet.keys.add(idempotencyKey);
  try {
    return await work();
  } finally {
    wallet.keys.delete(idempotencyKey);
  }
}

function inProgress(details: ErrorDetails['payment_in_progress']): SettlementError {
  return new SettlementError('payment_in_progress', 'A call with this idempotencyKey is being paid right now. Wait for its answer.', {
    details,
    funds: 'uncertain',
  });
}
