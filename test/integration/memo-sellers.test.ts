import { createClient, type Receipt } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { faremeterEntry, faremeterTakes } from '../fixtures/faremeter.js';
import { startLegacySeller } from '../fixtures/legacy/seller.js';
import { envelopeV1 } from '../fixtures/malformed-402.js';
import { landed, rpc } from '../helpers/chain.js';
import { decided, onSandbox } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';
import { isPaid, startSeller, type Seller } from '../helpers/seller.js';
import { answer, offerOf, paymentHeader, settle } from '../helpers/settling.js';

const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** A version 1 seller behind a facilitator with faremeter's rules. */
async function startFaremeter(extra: Record<string, unknown> = {}): Promise<Seller> {
  const { value } = await rpc<{ value: { blockhash: string } }>(
    sandbox.rpcUrl,
    'getLatestBlockhash',
    [],
  );
  const {
    payTo,
    extra: own,
    amount,
  } = offerOf(sandbox) as { payTo: string; extra: object; amount: string };
  const terms = faremeterEntry(value.blockhash, {
    payTo,
    maxAmountRequired: amount,
    extra: { ...own, ...extra },
  });
  return startSeller((request, response) => {
    void (async () => {
      if (!isPaid(request)) return answer(response, 402, envelopeV1([terms]));
      const { payload } = JSON.parse(Buffer.from(paymentHeader(request), 'base64').toString()) as {
        payload: { transaction: string };
      };
      if (!(await faremeterTakes(payload.transaction, terms)))
        return answer(response, 402, { ...envelopeV1([terms]), error: 'Invalid transaction' });
      // The official facilitator settles. It knows version 1 by the older name of the network.
      const headers = { ...request.headers, 'x-payment': named(paymentHeader(request)) };
      const settled = await settle(
        sandbox,
        { method: 'GET', url: '', headers },
        { ...terms, network: 'solana' },
      );
      const word = {
        'x-payment-response': Buffer.from(JSON.stringify(settled)).toString('base64'),
      };
      answer(response, settled.success ? 200 : 402, { ok: settled.success }, word);
    })();
  });
}

function named(header: string): string {
  const payment = JSON.parse(Buffer.from(header, 'base64').toString()) as object;
  return Buffer.from(JSON.stringify({ ...payment, network: 'solana' })).toString('base64');
}

/** Pays a seller twice at the same moment. Returns the receipts and the memos of both payments. */
async function payTwice(
  url: string,
): Promise<{ readonly receipts: readonly Receipt[]; readonly memos: readonly string[] }> {
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const client = createClient(onSandbox(sandbox, wallet));
  try {
    const responses = await Promise.all([client.fetch(url), client.fetch(url)]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const receipts = await Promise.all(responses.map(decided));
    const transactions = await Promise.all(
      receipts.map(({ payment }) => landed(sandbox.rpcUrl, String(payment.signature))),
    );
    const memos = transactions.flatMap(({ instructions }) =>
      instructions.filter(({ program }) => program === MEMO),
    );
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(980_000n);
    return { receipts, memos: memos.map(({ data }) => new TextDecoder().decode(data)) };
  } finally {
    await client.close();
  }
}

describe('a version 1 seller', () => {
  it("gets a different memo in each payment with faremeter's facilitator", async () => {
    const seller = await startFaremeter();
    const { receipts, memos } = await payTwice(seller.url);
    await seller.close();
    expect(receipts.map(({ state }) => state)).toEqual(['settled', 'settled']);
    expect(memos).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}$/),
      expect.stringMatching(/^[0-9a-f]{32}$/),
    ]);
    expect(memos[0]).not.toBe(memos[1]);
    expect(seller.paid).toHaveLength(2);
  });

  it("gets its own memo alone with faremeter's facilitator", async () => {
    const seller = await startFaremeter({ memo: 'invoice 7' });
    const { receipts, memos } = await payTwice(seller.url);
    await seller.close();
    expect(receipts.map(({ state }) => state)).toEqual(['settled', 'settled']);
    expect(memos).toEqual(['invoice 7', 'invoice 7']);
  });

  it.each(['legacy', 'current'] as const)(
    'gets no memo with the official %s facilitator',
    async (facilitator) => {
      const seller = await startLegacySeller(sandbox, { facilitator });
      const { receipts, memos } = await payTwice(`${seller.url}/usdc`);
      await seller.close();
      expect(receipts.map(({ state }) => state)).toEqual(['settled', 'settled']);
      expect(memos).toEqual([]);
    },
  );
});
