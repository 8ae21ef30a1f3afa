import type { IncomingMessage, ServerResponse } from 'node:http';
import { receiptOf, type ClientOptions } from 'exact-change';
import { describe, expect, it, vi } from 'vitest';
import { envelopeV1, envelopeV2 } from '../fixtures/malformed-402.js';
import { landed, until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import {
  answer,
  offerOf,
  offerV1Of,
  paymentHeader,
  settle,
  settlementHeader,
  type Settled,
} from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** Long enough for an answer of a seller on a busy machine, in milliseconds. */
const SOON_MS = 3_000;

type Version = 1 | 2;
const versions: readonly Version[] = [2, 1];
const words = ['settlement_pending', 'duplicate_settlement'] as const;
const cells = versions.flatMap((version) => words.map((word) => [version, word] as const));

/** Each version and each word once. */
const inTurn = [
  [2, 'settlement_pending'],
  [1, 'duplicate_settlement'],
] as const;

const holder = (options: ClientOptions = {}) => payerOn(sandbox, { USDC: '1' }, options);
const payments = (payer: Payer) => signedOf(payer, 'payment');

const settledOf = (payer: Payer) => timesSpent(sandbox, payer, 'USDC');

/** A presented payment, and the function that settles it. */
interface Shown {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  settle(): Promise<Settled>;
}

/**
 * Starts a seller of one version. It answers each paid request by the next of these answers, and
 * then by the last.
 */
async function selling(
  version: Version,
  answers: readonly ((shown: Shown) => unknown)[],
  extensions = {},
): Promise<Seller> {
  let count = 0;
  const v1 = offerV1Of(sandbox);
  return sellerOfTest((request, response) => {
    if (!isPaid(request)) {
      if (version === 2)
        return answerTerms(response, envelopeV2([offerOf(sandbox)], { extensions }));
      return answer(response, 402, envelopeV1([v1]));
    }
    const give = answers[Math.min(count, answers.length - 1)];
    count += 1;
    void give?.({
      request,
      response,
      settle: () => settle(sandbox, request, version === 1 ? v1 : undefined),
    });
  });
}

/** Answers with the word in the way of this version: in a header, or in the body. */
function say(version: Version, response: ServerResponse, word: string, transaction = ''): void {
  if (version === 1)
    return answer(response, 402, envelopeV1([offerV1Of(sandbox)], { error: word }));
  answer(response, 402, {}, settlementHeader({ success: false, errorReason: word, transaction }));
}

const serve = ({ response }: Shown) => answer(response, 200, { ok: true });
/** Settles the payment, and answers with the word all the same. */
const settledButSaid = (version: Version, word: string) => async (shown: Shown) => {
  const { transaction } = await shown.settle();
  say(version, shown.response, word, transaction);
};

describe.each(cells)('a client at a seller of version %i that answers %s', (version, word) => {
  it('presents a settled payment once more for a GET, and returns the answer', async () => {
    const payer = await holder();
    const seller = await selling(version, [settledButSaid(version, word), serve]);
    const response = await payer.client.fetch(seller.url);
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
    const [first, second, ...more] = seller.paid.map(paymentHeader);
    expect([second, more]).toEqual([first, []]);
    expect(receiptOf(response)).toMatchObject({
      state: 'settled',
      payment: { signature: expect.any(String) },
    });
    expect([payments(payer), await settledOf(payer)]).toEqual([1, 1]);
    // The answer is delivered, so the next call is a purchase of its own.
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect(payments(payer)).toBe(2);
  });

  it('rejects with spent funds when the seller repeats it for a settled payment', async () => {
    const payer = await holder();
    const seller = await selling(version, [
      settledButSaid(version, word),
      ({ response }) => say(version, response, 'duplicate_settlement'),
    ]);
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject({
      funds: 'spent',
      retry: 'never',
      moved: [{ kind: 'payment', inAmount: '10000' }],
    });
    const signature = error.moved[0]?.signature ?? '';
    expect((await landed(sandbox.rpcUrl, signature)).signatures).toContain(
      error.details.payerSignature,
    );
    expect(error.untrusted?.['reason']).toContain('duplicate_settlement');
    expect(seller.paid.length).toBe(2);
    const spent = await failureOf(payer.client.fetch(seller.url), 'already_spent');
    expect(spent.details).toEqual({ payerSignature: error.details.payerSignature, signature });
    expect([payments(payer), seller.paid.length, await settledOf(payer)]).toEqual([1, 2, 1]);
  });
});

describe.each(inTurn)('a client at such a seller: version %i, %s', (version, word) => {
  it('does not present a settled payment again for a POST', async () => {
    const payer = await holder();
    const seller = await selling(version, [settledButSaid(version, word), serve]);
    const error = await failureOf(
      payer.client.fetch(seller.url, { method: 'POST', body: '{}' }),
      'payment_rejected',
    );
    expect(error).toMatchObject({ funds: 'spent', retry: 'never' });
    expect([seller.paid.length, payments(payer), await settledOf(payer)]).toEqual([1, 1, 1]);
  });

  it('presents a settled payment again for a repeatable POST', async () => {
    const payer = await holder();
    const seller = await selling(version, [settledButSaid(version, word), serve]);
    const response = await payer.client.fetch(seller.url, {
      method: 'POST',
      body: '{}',
      repeatable: true,
    });
    expect(response.status).toBe(200);
    expect(new Set(seller.paid.map(paymentHeader)).size).toBe(1);
    expect([seller.paid.length, payments(payer), await settledOf(payer)]).toEqual([2, 1, 1]);
  });

  it('presents the payment again when it lands while the client asks the chain', async () => {
    const payer = await holder();
    const late = async (shown: Shown) => {
      say(version, shown.response, word);
      await shown.settle();
    };
    const seller = await selling(version, [late, serve]);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect([seller.paid.length, payments(payer), await settledOf(payer)]).toEqual([2, 1, 1]);
  });

  it('rejects with untouched funds once the payment is proved not to land', async () => {
    const payer = await holder();
    const seller = await selling(version, [
      ({ response }) => {
        say(version, response, word);
        sandbox.controls.node.warp();
      },
    ]);
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject({
      funds: 'untouched',
      moved: [],
      retry: 'fresh',
      details: { status: 402 },
    });
    expect((await payer.client.spent())[0]?.used).toBe('0');
    expect([seller.paid.length, payments(payer), await settledOf(payer)]).toEqual([1, 1, 0]);
  });

  it('rejects with uncertain funds when the payment is not decided in time', async () => {
    const payer = await holder({ timeouts: { payment: SOON_MS } });
    const seller = await selling(version, [({ response }) => say(version, response, word)]);
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject({ funds: 'uncertain', moved: [], retry: 'same' });
    expect((await payer.client.spent())[0]?.used).toBe('0.01');
    expect([seller.paid.length, payments(payer)]).toEqual([1, 1]);
  });
});

describe('a pending settlement', () => {
  it('is not trusted if it names another transaction', async () => {
    const other = await holder();
    const bought = await other.client.fetch(`${sandbox.apiUrl}/usdc`);
    const lie = receiptOf(bought)?.settlement?.transaction ?? '';
    expect(lie).not.toBe('');
    const payer = await holder({ timeouts: { payment: SOON_MS } });
    const seller = await selling(2, [
      ({ response }) => say(2, response, 'settlement_pending', lie),
    ]);
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject({ funds: 'uncertain', moved: [] });
  });

  it('is found on chain if it names another transaction but the payment landed', async () => {
    const other = await holder();
    const lie =
      receiptOf(await other.client.fetch(`${sandbox.apiUrl}/usdc`))?.settlement?.transaction ?? '';
    const payer = await holder();
    const seller = await selling(2, [
      async (shown) => {
        await shown.settle();
        say(2, shown.response, 'settlement_pending', lie);
      },
      serve,
    ]);
    const response = await payer.client.fetch(seller.url);
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.payment.signature).not.toBe(lie);
    expect(payments(payer)).toBe(1);
  });

  it.each(words)(
    'is read from %s beside new terms, whatever error the terms name',
    async (word) => {
      const payer = await holder();
      const seller = await selling(2, [
        async (shown) => {
          const { transaction } = await shown.settle();
          const terms = envelopeV2([offerOf(sandbox)], { error: 'Payment required' });
          answer(
            shown.response,
            402,
            {},
            {
              ...settlementHeader({ success: false, errorReason: word, transaction }),
              'payment-required': Buffer.from(JSON.stringify(terms)).toString('base64'),
            },
          );
        },
        serve,
      ]);
      expect((await payer.client.fetch(seller.url)).status).toBe(200);
      expect([seller.paid.length, payments(payer)]).toEqual([2, 1]);
    },
  );

  it('is called spent, not uncertain, when its answer is lost after it settled', async () => {
    const payer = await holder();
    const seller = await selling(2, [
      async ({ response, settle: settleIt }) => {
        await settleIt();
        say(2, response, 'settlement_pending');
      },
      ({ request }) => request.destroy(),
    ]);
    const lost = await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    expect(lost).toMatchObject({ funds: 'spent', moved: [{ kind: 'payment', inAmount: '10000' }] });
    expect((await landed(sandbox.rpcUrl, lost.moved[0]?.signature ?? '')).signatures).toContain(
      lost.details.payerSignature,
    );
    const told = payer.events.map(({ type }) => type);
    expect(told).toContain('payment.settled');
    expect(told).not.toContain('payment.uncertain');
  });

  it('keeps no caller waiting that aborts', async () => {
    const payer = await holder();
    const controller = new AbortController();
    const seller = await selling(2, [({ response }) => say(2, response, 'settlement_pending')]);
    const call = payer.client.fetch(seller.url, { signal: controller.signal });
    await until('the seller has said so', () => (seller.paid.length > 0 ? true : undefined));
    controller.abort('enough');
    await expect(call).rejects.toBe('enough');
    // The payment is free: the next equal call uses the same payment.
    const impatient = payer.again({ timeouts: { payment: SOON_MS } });
    await failureOf(impatient.fetch(seller.url), 'payment_rejected');
    expect(new Set(seller.paid.map(paymentHeader)).size).toBe(1);
    expect(payments(payer)).toBe(1);
  });

  it('ends the call as uncertain when the client closes', async () => {
    const payer = await holder();
    const seller = await selling(2, [({ response }) => say(2, response, 'settlement_pending')]);
    const call = failureOf(payer.client.fetch(seller.url));
    await until('the payment is uncertain', () =>
      payer.events.some(({ type }) => type === 'payment.sent') && seller.paid.length > 0
        ? true
        : undefined,
    );
    await payer.client.close();
    expect(await call).toMatchObject({ funds: 'uncertain' });
  });

  it('is followed through another node if the first does not answer', async () => {
    const payer = await holder({
      rpcUrl: ['http://127.0.0.1:9', sandbox.rpcUrl],
      wsUrl: sandbox.wsUrl,
    });
    const seller = await selling(2, [settledButSaid(2, 'settlement_pending'), serve]);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect([seller.paid.length, payments(payer)]).toEqual([2, 1]);
  });
});

describe('a refusal of a settled payment', () => {
  it('keeps no connection when the payment is presented once more', async () => {
    const payer = await holder();
    const closed = vi.fn();
    const seller = await selling(2, [
      async (shown) => {
        const { transaction } = await shown.settle();
        const said = { success: false, errorReason: 'settlement_pending', transaction };
        shown.response.once('close', closed).writeHead(402, settlementHeader(said)).write('<p>');
      },
      serve,
    ]);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    await expect.poll(() => closed).toHaveBeenCalled();
  });
});

describe('a POST to a seller that identifies payments', () => {
  it('is presented again once it is settled', async () => {
    const payer = await holder();
    const seller = await selling(2, [settledButSaid(2, 'settlement_pending'), serve], {
      'payment-identifier': { info: { required: false } },
    });
    const response = await payer.client.fetch(seller.url, { method: 'POST', body: '{}' });
    expect(response.status).toBe(200);
    expect(new Set(seller.paid.map(paymentHeader)).size).toBe(1);
    expect([seller.paid.length, payments(payer), await settledOf(payer)]).toEqual([2, 1, 1]);
  });
});

describe('a refused payment after a swap', () => {
  it.each([true, false])(
    'reports the swap and the payment in the failure (settled: %s)',
    async (settles) => {
      const payer = await payerOn(
        sandbox,
        { SOL: '0.1', USDT: '5' },
        {
          autoSwap: true,
          swapFrom: ['USDT'],
          ...(settles ? {} : { timeouts: { payment: SOON_MS } }),
        },
      );
      const seller = await selling(2, [
        async (shown) => {
          if (settles) await shown.settle();
          say(2, shown.response, 'duplicate_settlement');
        },
      ]);
      const error = await failureOf(
        payer.client.fetch(seller.url, { method: 'POST' }),
        'payment_rejected',
      );
      expect(error.funds).toBe(settles ? 'spent' : 'uncertain');
      expect(error.moved.map(({ kind }) => kind)).toEqual(settles ? ['swap', 'payment'] : ['swap']);
    },
  );
});
