import {
  parsePaymentRequired,
  type ClientEvent,
  type PaymentRequired,
  type SigningIntent,
} from 'exact-change';
import { describe, expect, it } from 'vitest';
import { failureOf, payerOn, recordingSigner } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

const PLACE = 'https://seller.example/premium';

/** Terms as a body holds them, unread. */
const body = (more: object = {}) => ({
  x402Version: 2,
  accepts: [
    {
      scheme: 'exact',
      network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      amount: '10000',
      asset: sandbox.mints.USDC.address,
      payTo: sandbox.merchant,
      maxTimeoutSeconds: 60,
      extra: { feePayer: sandbox.feePayer },
    },
  ],
  ...more,
});

/** A caller in JavaScript may pass any value. */
const unread = (value: unknown) => value as PaymentRequired;

describe('client.pay(), when it fails after its swap landed', () => {
  it('reports the funds as swapped, the swap in moved, and an event', async () => {
    const { address, secretKey } = await sandbox.createWallet({ SOL: '1' });
    const { signer } = recordingSigner(address, secretKey);
    const signMessage = (message: Uint8Array, intent: SigningIntent) =>
      intent.kind === 'payment'
        ? Promise.reject(new Error('denied on the device'))
        : signer.signMessage(message, intent);
    const payer = await payerOn(sandbox, {}, { signer: { address, signMessage }, autoSwap: true });
    const error = await failureOf(
      payer.client.pay(unread(body()), { url: PLACE }),
      'signing_failed',
    );
    const swap = payer.events.find(
      (event): event is ClientEvent<'swap.confirmed'> => event.type === 'swap.confirmed',
    );
    expect(error.funds).toBe('swapped');
    expect(error.moved).toEqual([
      {
        kind: 'swap',
        signature: swap?.signature,
        inputMint: swap?.inputMint,
        inAmount: swap?.inAmount,
        outputMint: sandbox.mints.USDC.address,
        outAmount: swap?.outAmount,
      },
    ]);
    expect(payer.events.find(({ type }) => type === 'payment.failed')).toMatchObject({
      code: 'signing_failed',
      funds: 'swapped',
    });
  });
});

describe('terms that client.pay() gets as an object', () => {
  it('are not trusted for their address: caps of another host would count', async () => {
    const policy = { maxPerHost: { 'seller.example': '0.001' } };
    const payer = await payerOn(sandbox, { USDC: '1' }, { policy });
    const lie = unread(body({ url: 'https://cheap.example/' }));
    const error = await failureOf(payer.client.pay(lie), 'invalid_option');
    expect(error.details).toEqual({ option: 'url' });
    expect(payer.signed).toEqual([]);
  });

  it('keep their address if this library read them there', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const terms = parsePaymentRequired({
      url: PLACE,
      body: body({ url: 'https://other.example/' }),
    });
    const { receipt } = await payer.client.pay(unread(terms));
    expect(receipt.url).toBe(PLACE);
    // Any party may have made a copy.
    expect(
      (await failureOf(payer.client.pay(unread({ ...terms })), 'invalid_option')).details,
    ).toEqual({ option: 'url' });
  });

  it('are read like a body: no prototype, getter or additional field gets through', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const pay = (given: unknown) => payer.client.pay(unread(given), { url: PLACE });
    let reads = 0;
    const [entry] = body().accepts;
    const twoFaced = { ...entry, extra: { feePayer: sandbox.feePayer } };
    Object.defineProperty(twoFaced, 'amount', {
      enumerable: true,
      get: () => ((reads += 1), reads > 1 ? '999999' : '10000'),
    });
    const outcome = await pay({ x402Version: 2, accepts: [twoFaced] }).then(
      ({ receipt }) => receipt.payment.amount,
      (error: unknown) => error,
    );
    if (outcome !== '10000') expect(outcome).toMatchObject({ code: 'malformed_payment_required' });
    expect(reads).toBeLessThanOrEqual(1);
    const many = { x402Version: 2, accepts: Array.from({ length: 1_000 }, () => entry) };
    await failureOf(pay(many), 'malformed_payment_required');
    await failureOf(pay({ hello: 'world' }), 'malformed_payment_required');
    // Fields named status and headers in a parsed body do not make it a response.
    await failureOf(
      pay({ ...body(), status: 402, headers: {}, url: PLACE, accepts: [] }),
      'malformed_payment_required',
    );
  });
});
