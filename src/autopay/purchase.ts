import { hex } from '@scure/base';
import { throwIfAborted, untilAborted } from '../deadline.js';
import { amendError, isExactChangeError, ProtocolError, TransportError, type Moved } from '../errors.js';
import type { Emit } from '../events.js';
import type { Attempt, SignedSwap } from '../journal/types.js';
import type { Hold } from '../journal/ledger.js';
import { announce } from '../journal/registry.js';
import { overBudget, rollingCaps } from '../policy/caps.js';
import { formatUsd } from '../policy/policy.js';
import type { Receipt } from '../receipt.js';
import type { Call } from '../request.js';
import type { PaymentRequired } from '../x402/types.js';
import { adopt, inProgress, underKey } from './adopt.js';
import { choose, type Choice } from './choose.js';
import type { Core } from './core.js';
import { fingerprintOf } from './fingerprint.js';
import type { Open } from './follow.js';
import { unwritten } from './journal-error.js';
import { CALL_LIMIT_MS } from './lease.js';
import { present } from './present.js';
import { secure } from './secure.js';
import { checkHeader, signPayment } from './sign-payment.js';
import type { Swapped } from './run-swap.js';

const ID_BYTES = 12;
const noop = (): void => undefined;

/** A new attempt's id. */
export function newId(core: Core): string {
  return hex.encode(core.config.runtime.randomBytes(ID_BYTES));
}

/** Pays for a call that was answered with terms, and returns the answer to the paid request. */
export async function purchase(
  core: Core,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired,
  idempotencyKey: string | undefined,
): Promise<Response> {
  const startedAt = core.config.runtime.now();
  const id = newId(core);
  const emit = core.events.emitter(id);
  const moved: Moved[] = [];
  try {
    // Where a redirect led, the terms are that place's, and so is the paid request.
    const url = unpaid.url === '' ? call.url : unpaid.url;
    checkPlace(call, unpaid, url);
    emit('payment.required', { url, method: call.method, offers: terms.accepts.length });
    const fingerprint = fingerprintOf(call, await call.replayable());
    const response = await underKey(core, idempotencyKey, async () => {
      // Before the terms are looked at: what this 402 asks for must not decide whether an earlier one was paid.
      const adopted = await adopt(core, { fingerprint, idempotencyKey, call, emit, startedAt });
      if (adopted !== undefined) return adopted;
      const place = { url, method: call.method, fingerprint, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
      const open = await chooseAndPrepare(core, terms, { id, place, signal: call.signal, emit, moved, startedAt });
      return present(core, call, url, open, moved, emit, startedAt);
    });
    // Nobody will read the first answer now; unread, it would keep its connection.
    unpaid.body?.cancel().catch(() => undefined);
    return response;
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    const amended = amendError(error, { moved, response: unpaid });
    if (amended.name !== 'SettlementError') emit('payment.failed', { code: amended.code, funds: amended.funds, message: amended.message });
    throw amended;
  }
}

/** One round trip when cold: the node's network is checked, and the blockhash of the payment fetched, beside what choosing reads. */
async function chooseOnce(core: Core, terms: PaymentRequired, signal: AbortSignal | undefined): Promise<Choice> {
  core.blockhashes.fresh({ signal }).catch(() => undefined);
  const ready = untilAborted(core.ready(), signal);
  const [network, choice] = await Promise.allSettled([ready, choose(core, terms, { signal, quote: false })]);
  throwIfAborted(signal);
  // What a node of another network says about an offer means nothing.
  if (network.status === 'rejected') throw network.reason;
  if (choice.status === 'rejected') throw choice.reason;
  return choice.value;
}

async function chooseAndPrepare(core: Core, terms: PaymentRequired, task: Omit<Preparation, 'choice' | 'onCounted'>): Promise<Open> {
  const onCounted = announce(core.wallet);
  try {
    const choice = await chooseOnce(core, terms, task.signal);
    return await prepare(core, { ...task, choice, onCounted });
  } finally {
    onCounted();
  }
}

interface Preparation {
  readonly id: string;
  readonly place: Pick<Attempt, 'url' | 'method' | 'fingerprint' | 'idempotencyKey'>;
  readonly choice: Choice;
  readonly signal: AbortSignal | undefined;
  readonly emit: Emit;
  /** Grows by what lands on the way, also where this fails. */
  readonly moved: Moved[];
  readonly startedAt: number;
  /** Called once it is known what the payment needs of the wallet. */
  readonly onCounted?: () => void;
}

/** Reserves the budget, gets the tokens, signs, and writes the signed payment to the journal. Nothing has left when it returns, or it has failed. */
export async function prepare(
  core: Core,
  { id, place, choice, signal, emit, moved, startedAt, onCounted = noop }: Preparation,
): Promise<Open> {
  const { runtime, network, signer } = core.config;
  const { offer, facts, microUsd } = choice;
  const [mint, amount] = [offer.mint, offer.amount.toString()];
  checkHeader(core, choice);
  emit('payment.chosen', { url: place.url, network, mint, amount, decimals: facts.decimals, payTo: offer.payTo, refused: choice.refused });
  const reserved: Attempt = {
    id,
    wallet: signer.address,
    network,
    state: 'reserved',
    delivered: false,
    ...place,
    host: new URL(place.url).host,
    at: startedAt,
    mint,
    amount,
    ...(microUsd === undefined ? {} : { microUsd: microUsd.toString() }),
  };
  // Until its answer is there, nobody takes it for a lost one.
  core.wallet.active.add(id);
  let attempt = reserved;
  let hold: Hold | undefined;
  let reservation = false;
  try {
    await reserve(core, reserved);
    reservation = true;
    const onSwapSigned = (swap: SignedSwap) => write(core, (attempt = { ...attempt, swap }), 'swap');
    const secured = await secure(core, choice, { emit, signal, moved, onSwapSigned, onCounted });
    hold = secured.hold;
    const funded = runtime.now();
    throwIfAborted(signal);
    const payment = await signPayment(core, choice, place.url, signal);
    throwIfAborted(signal);
    const receipt = firstReceipt(core, reserved, choice, payment.payerSignature, secured.swap, {
      funded: funded - startedAt,
      signed: runtime.now() - startedAt,
    });
    // Another process may have freed the budget and the key by now.
    if (runtime.now() - startedAt >= CALL_LIMIT_MS) throw tooLate();
    const open = { ...attempt, state: 'signed' as const, payment, receipt };
    await write(core, open, 'payment');
    emit('payment.signed', { payerSignature: payment.payerSignature, lastValidBlockHeight: payment.lastValidBlockHeight });
    return { attempt: open, hold, seen: new Set() };
  } catch (error) {
    core.wallet.active.delete(id);
    hold?.release();
    // What could not be written now is freed when it expires; the reason of the failure says more.
    if (reservation) await giveUp(core, attempt, moved, error).catch(() => undefined);
    throw error;
  }
}

/** Frees the budget. A swap that may still land stays on record, for `resume()` to decide. */
function giveUp(core: Core, attempt: Attempt, moved: readonly Moved[], error: unknown): Promise<void> {
  // No payment was signed under the key, so it is free.
  const { swap, idempotencyKey: _key, ...rest } = attempt;
  const decided = isExactChangeError(error, 'swap_failed') || isExactChangeError(error, 'swap_expired');
  if (swap === undefined || decided || moved.some(({ signature }) => signature === swap.signature)) return core.journal.release(attempt.id);
  return core.journal.put({ ...rest, swap, microUsd: '0' });
}

/** Writes what must be on record before it may leave. */
async function write(core: Core, attempt: Attempt, step: string): Promise<void> {
  await core.journal.put(attempt).catch((cause: unknown) => {
    throw unwritten(step, cause);
  });
}

/** Where a payment header may go at all. The origin may be a redirecting seller's, so it is in no message. */
export function checkOrigin(url: string): void {
  const { protocol, hostname, origin } = new URL(url);
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(hostname);
  if (protocol === 'https:' || loopback) return;
  throw new ProtocolError(
    'insecure_origin',
    "The place that asks for payment is not https, so a payment sent there could be stolen. Use the seller's https address; details.origin is the one that asked.",
    { details: { origin } },
  );
}

function checkPlace(call: Call, unpaid: Response, url: string): void {
  checkOrigin(url);
  if (unpaid.redirected && call.method !== 'GET' && call.method !== 'HEAD') {
    throw new ProtocolError(
      'unsupported_offer',
      `The ${call.method} was redirected before it was answered with 402, and its method may have changed on the way. Send it to its final address directly.`,
      { details: { reason: 'redirected with a body' } },
    );
  }
}

async function reserve(core: Core, attempt: Attempt): Promise<void> {
  const caps = rollingCaps(core.config.policy);
  const refused = await core.journal.reserve(attempt, attempt.microUsd === undefined ? [] : caps).catch((cause: unknown) => {
    throw unwritten('reserve', cause);
  });
  if (refused === undefined) return;
  if ('taken' in refused) throw inProgress({});
  throw overBudget(refused.cap, refused.used, BigInt(attempt.microUsd ?? 0));
}

function tooLate(): TransportError {
  return new TransportError('timeout', `The payment took longer than ${CALL_LIMIT_MS} ms to be signed, so it was not sent. Try again.`, {
    details: { step: 'payment', timeoutMs: CALL_LIMIT_MS },
  });
}

function firstReceipt(
  core: Core,
  attempt: Attempt,
  { offer, facts, microUsd }: Choice,
  payerSignature: string,
  swap: Swapped | undefined,
  timings: Readonly<Record<string, number>>,
): Receipt {
  const { id, url, method, at, network, mint, amount } = attempt;
  return {
    id,
    url,
    method,
    at,
    state: 'uncertain',
    payment: { network, mint, amount, decimals: facts.decimals, payTo: offer.payTo, payer: core.config.signer.address, payerSignature },
    ...(swap === undefined ? {} : { swap: swap.record }),
    cost: { ...(microUsd === undefined ? {} : { usd: formatUsd(microUsd) }), networkFeeLamports: (swap?.feeLamports ?? 0n).toString() },
    timings,
  };
}
