import {
  isExactChangeError,
  type LocalTransport,
  type PaymentResult,
  type SigningIntent,
} from '../../src/index.js';
import { ask, read, urlOf, type Buy } from './caller.js';
import { textOf } from './keys.js';
import type { Machine } from './machine.js';
import { NETWORK, WALLET } from './places.js';
import { hostOf } from './plan.js';
import { addressOf, readWire, writeWire } from './wire.js';
import type { World } from './world.js';

/** Most steps of a purchase, waits for a swap included. */
const MOST_STEPS = 10;
const WAIT_MS = 2_000;

/**
 * Runs a caller that has only a wallet: the service in the process plans what to sign, and the
 * caller sends the payment to the seller. It buys an item a single time, with an idempotency key.
 */
export async function buyByService(world: World, machine: Machine, part: Buy): Promise<void> {
  const { clock, trace } = world;
  const kept: Kept = { signedPayment: undefined };
  await clock.wait(part.at);
  for (let count = 0; count < part.tries; count += 1) {
    let service = machine.service();
    while (service === undefined) {
      await clock.wait(1_000);
      service = machine.service();
    }
    const killed = machine.ended().then(() => 'the process ended');
    const tried = purchase(world, machine, service, part, kept).catch((error: unknown) => {
      world.shows(textOf(error));
      return isExactChangeError(error) ? error.message : String(error);
    });
    trace(`item ${part.item} by service: ${await Promise.race([tried, killed])}`);
    await clock.wait(part.gap);
  }
}

/** Signed transactions that a caller sends to the service. */
interface Signed {
  readonly signedSwap?: string;
  readonly signedPayment?: string;
}

interface Kept {
  signedPayment: string | undefined;
}

async function purchase(
  world: World,
  machine: Machine,
  service: LocalTransport,
  part: Buy,
  kept: Kept,
): Promise<string> {
  const unpaid = await ask(world, part, {});
  if (unpaid === undefined || unpaid.status !== 402) return 'no terms';
  const paymentRequired = {
    ...{
      url: urlOf(part),
      status: 402,
      headers: Object.fromEntries(unpaid.headers.entries()),
      body: await unpaid.text(),
    },
  };
  const common = { paymentRequired, wallet: WALLET, autoSwap: world.plan.autoSwap };
  let more: Signed = {};
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const post = (item: number, signed: Signed) =>
      world.work.during(
        Promise.race([
          service.autoPay({ ...common, idempotencyKey: `key-${item}`, ...signed }),
          machine.ended(),
        ]),
      );
    const answer = await post(part.item, more).catch((error: unknown) => {
      checkFunds(world, more, error);
      throw error;
    });
    if (answer === undefined) return 'the process ended';
    world.shows(JSON.stringify(answer));
    if (answer.state === 'settled') world.settled.push(answer.offer);
    if (more.signedSwap !== undefined)
      machine.swapsOf.set(ownSignature(more.signedSwap), purchaseOf(part));
    const next = await follow(world, machine, part, answer, more, kept);
    if (typeof next === 'string') return next;
    more = next;
    if (more.signedPayment === undefined) continue;
    for (const theft of world.plan.parts)
      if (theft.kind === 'theft' && theft.item === part.item)
        await post(theft.under, more).catch(() => undefined);
  }
  return 'too many steps';
}

/** Notes an error that says untouched of a signed transaction that has landed. */
function checkFunds(
  { ledger, lies }: World,
  { signedSwap, signedPayment }: Signed,
  error: unknown,
): void {
  if (!isExactChangeError(error) || error.funds !== 'untouched') return;
  for (const wire of [signedSwap, signedPayment]) {
    if (wire === undefined) continue;
    const own = ownSignature(wire);
    if (ledger.of(WALLET).some((tx) => tx.error === null && tx.signatures.includes(own)))
      lies.push(`a step said ${error.code} and untouched, and its transaction had landed`);
  }
}

/** Returns the wallet's signature: the wallet signs last. */
function ownSignature(wire: string): string {
  return readWire(Buffer.from(wire, 'base64')).signatures.map(addressOf).pop() ?? '';
}

const purchaseOf = ({ item, seller }: Buy) => ({ attempt: `item ${item}`, host: hostOf(seller) });

/** Follows an answer of the service. Returns the next signed bytes to send, or the final result. */
async function follow(
  world: World,
  machine: Machine,
  part: Buy,
  { state, swap, payment, offer, header }: PaymentResult,
  more: Signed,
  kept: Kept,
): Promise<Signed | string> {
  const about = purchaseOf(part);
  if (swap !== undefined) {
    const { inputMint, maxInAmount, outputMint, minOutAmount } = swap.quote;
    const intent = {
      kind: 'swap',
      network: NETWORK,
      inputMint,
      maxInAmount,
      outputMint,
      minOutAmount,
    } as const;
    return { signedSwap: sign(machine, swap.transaction, intent, about) };
  }
  if (payment !== undefined) {
    const { mint = '', amount = '', payTo = '' } = offer;
    const intent = {
      kind: 'payment',
      network: NETWORK,
      mint,
      amount,
      payTo,
      url: urlOf(part),
    } as const;
    kept.signedPayment = sign(machine, payment.transaction, intent, about);
    return { signedPayment: kept.signedPayment };
  }
  if (header !== undefined) {
    const paid = await ask(world, part, { [header.name]: header.value });
    if (paid === undefined) return 'the answer was lost';
    await read(world, paid, part.reader);
    return `status ${paid.status}`;
  }
  if (state === 'swap_submitted') {
    await world.clock.wait(WAIT_MS);
    return more;
  }
  const { signedPayment } = kept;
  return state === 'submitted' && more.signedPayment === undefined && signedPayment !== undefined
    ? { signedPayment }
    : state;
}

/** Signs a transaction as a wallet that fills only its own signature slot. */
function sign(
  machine: Machine,
  transaction: string,
  intent: SigningIntent,
  about: { attempt: string; host: string },
): string {
  const { signatures, message } = readWire(Buffer.from(transaction, 'base64'));
  const signature = machine.sign(message, intent, about);
  // The wallet is the only signer of a swap and the last signer of a payment.
  const slots = [...signatures.slice(0, -1), signature];
  return Buffer.from(writeWire(message, slots)).toString('base64');
}
