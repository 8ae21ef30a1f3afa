import type { ClientOptions, MessageSigner, SigningIntent } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { failureOf, payerOn, recordingSigner } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { paidOf } from '../helpers/worth.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

/** Returns a client with a signer that never answers one kind of request, but signals it. */
async function forgotten(kind: SigningIntent['kind'], options: ClientOptions = {}) {
  // Less USDC than the routes cost, so a call that pays there swaps first.
  const { address, secretKey } = await sandbox.createWallet({
    SOL: '1',
    USDC: '0.0001',
    USDT: '1',
  });
  const { signer } = recordingSigner(address, secretKey);
  let note = (): void => undefined;
  const asked = new Promise<void>((resolve) => (note = resolve));
  const signMessage = (message: Uint8Array, intent: SigningIntent) => {
    if (intent.kind !== kind) return signer.signMessage(message, intent);
    note();
    return new Promise<Uint8Array>(() => undefined);
  };
  const payer = await payerOn(
    sandbox,
    {},
    { signer: { address, signMessage }, autoSwap: true, swapFrom: ['USDT'], ...options },
  );
  return {
    ...payer,
    address,
    asked,
    well: () => payer.again({ signer, autoSwap: true, swapFrom: ['USDT'] }),
  };
}

const usdc = () => `${sandbox.apiUrl}/usdc`;

describe('a signer that never answers', () => {
  it('fails a swap after timeouts.signer, with nothing moved and the wallet free', async () => {
    const payer = await forgotten('swap', { timeouts: { signer: 50 } });
    const error = await failureOf(payer.client.fetch(usdc()), 'signing_failed');
    expect(error).toMatchObject({
      funds: 'untouched',
      moved: [],
      details: { address: payer.address },
    });
    expect(String(error.cause)).toContain('timeouts.signer');
    expect((await payer.well().fetch(usdc())).status).toBe(200);
  });

  it('fails a payment after timeouts.signer, with the swap moved and the budget free', async () => {
    const payer = await forgotten('payment', { timeouts: { signer: 50 } });
    const error = await failureOf(payer.client.fetch(usdc()), 'signing_failed');
    expect(error).toMatchObject({ funds: 'swapped', moved: [{ kind: 'swap' }] });
    expect(await paidOf(payer.client)).toBe('0');
  });

  it.each(['swap', 'payment'] as const)(
    'ends the call when the client closes during a %s',
    async (kind) => {
      const payer = await forgotten(kind);
      const failure = failureOf(payer.client.fetch(usdc()), 'client_closed');
      await payer.asked;
      await payer.client.close();
      expect((await failure).funds).toBe(kind === 'swap' ? 'untouched' : 'swapped');
    },
  );

  it('delays other payments only until their own signal or client ends', async () => {
    const payer = await forgotten('swap');
    const stuck = failureOf(payer.client.fetch(usdc()), 'client_closed');
    await payer.asked;
    const [other, third] = [payer.well(), payer.well()];
    const waits = (client: typeof other) =>
      new Promise<void>((resolve) => void client.on('balance.checked', () => resolve()));
    const controller = new AbortController();
    const [waiting, closing] = [waits(other), waits(third)];
    const aborted = other
      .fetch(usdc(), { signal: controller.signal })
      .catch((error: unknown) => error);
    await waiting;
    controller.abort('had enough');
    expect(await aborted).toBe('had enough');
    const closed = failureOf(third.fetch(usdc()), 'client_closed');
    await closing;
    await third.close();
    expect(await closed).toMatchObject({ funds: 'untouched', moved: [] });
    await payer.client.close();
    await stuck;
    // Calls that left the queue delay no later call.
    expect((await other.fetch(usdc())).status).toBe(200);
  });

  it('ends the call with its caller, also if the swap only wraps SOL', async () => {
    const { asked, client } = await forgotten('swap', { swapFrom: ['SOL'] });
    const controller = new AbortController();
    const terms = {
      x402Version: 2,
      accepts: [
        {
          scheme: 'exact',
          network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
          amount: '10000',
          asset: sandbox.mints.SOL.address,
          payTo: sandbox.merchant,
          maxTimeoutSeconds: 60,
          extra: { feePayer: sandbox.feePayer },
        },
      ],
    } as const;
    const call = client
      .pay(terms, { url: sandbox.apiUrl, signal: controller.signal })
      .catch((error: unknown) => error);
    await asked;
    controller.abort('had enough');
    expect(await call).toBe('had enough');
  });
});

/** Returns the error of the library that another client threw: it was closed. */
async function errorOfAnotherClient() {
  const { client } = await payerOn(sandbox, {});
  await client.close();
  return client.balance('USDC').catch((error: unknown) => error);
}

/** Returns an object whose every look at it throws. */
function untouchable(): object {
  const refuse = () => {
    throw new Error('Do not look.');
  };
  return new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : refuse()), has: refuse });
}

describe('a signer that misbehaves', () => {
  const fail = (cause: unknown) => () => {
    throw cause;
  };

  type Act = (
    sign: () => Promise<Uint8Array>,
    message: Uint8Array,
    intent: SigningIntent,
  ) => unknown;

  /** Returns a client with USDC whose signer acts in place of signing. */
  async function payerWith(act: Act, options: ClientOptions = {}) {
    const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
    const { signer } = recordingSigner(address, secretKey);
    const signMessage = (message: Uint8Array, intent: SigningIntent) => {
      const kept = Uint8Array.from(message);
      return act(() => signer.signMessage(kept, intent), message, intent);
    };
    // A caller in JavaScript may give a signer that returns anything.
    const broken = { address, signMessage } as MessageSigner;
    return { ...(await payerOn(sandbox, {}, { signer: broken, ...options })), address };
  }

  it.each<[string, () => unknown]>([
    ['throws nothing', fail(undefined)],
    ['throws an object that cannot be read', fail(untouchable())],
    [
      'throws the error of another client',
      async () => Promise.reject(await errorOfAnotherClient()),
    ],
    ['answers with an object that cannot be read', untouchable],
    [
      'answers with a length and no bytes',
      () => ({ [Symbol.toStringTag]: 'Uint8Array', length: 2 ** 50 }),
    ],
    ['answers with text', () => 'signed'],
  ])('causes signing_failed at no cost if it %s', async (_, act) => {
    const payer = await payerWith(act);
    const error = await failureOf(payer.client.fetch(usdc()), 'signing_failed');
    expect(error).toMatchObject({ funds: 'untouched', moved: [] });
    expect(await paidOf(payer.client)).toBe('0');
  });

  it('changes nothing that is sent if it writes into what it was given', async () => {
    const payer = await payerWith(async (sign, message, intent) => {
      const signature = await sign();
      message.fill(0);
      for (const name of Object.keys(intent)) Reflect.set(intent, name, 'other');
      return signature;
    });
    expect((await payer.client.fetch(usdc())).status).toBe(200);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(990_000n);
  });

  it('pays once if it signs after timeouts.signer and the call is made again', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let answered: Promise<Uint8Array> | undefined;
    const act: Act = (sign) => (answered === undefined ? (answered = held.then(sign)) : sign());
    const payer = await payerWith(act, { timeouts: { signer: 50 } });
    expect((await failureOf(payer.client.fetch(usdc()), 'signing_failed')).funds).toBe('untouched');
    const again = payer.client.fetch(usdc());
    release();
    await answered;
    expect((await again).status).toBe(200);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(990_000n);
  });

  it('pays once under one key if it calls the client while it signs', async () => {
    const inner: unknown[] = [];
    const payer = await payerWith(async (sign) => {
      inner.push((await failureOf(pay(), 'payment_in_progress')).funds);
      return sign();
    });
    const pay = () => payer.client.fetch(usdc(), { idempotencyKey: 'order-1' });
    expect((await pay()).status).toBe(200);
    expect(inner).toEqual(['uncertain']);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(990_000n);
  });
});
