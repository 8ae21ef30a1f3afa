import {
  memoryJournal,
  receiptOf,
  settled,
  type Journal,
  type Receipt,
  type ReceiptFilter,
} from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTaker } from '../helpers/bounds.js';
import { listOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { closePayers, payerOn, type Payer } from '../helpers/payer.js';
import type { Seller } from '../helpers/seller.js';
import { isObject } from '../../src/internal/record.js';

let sandbox: Sandbox;
let taker: Seller;
let payer: Payer;
let all: Receipt[];

/**
 * Two payments that settle, in two tokens; a payment that expires unsettled; and a payment that is
 * still open.
 */
beforeAll(async () => {
  sandbox = await createSandbox({ confirmationMs: 20 });
  taker = await startTaker(sandbox, [['USDC', '30000']]);
  payer = await payerOn(sandbox, { USDC: '1', USDT: '1' }, { journal: memoryJournal() });
  const states = async (...wanted: Receipt['state'][]) =>
    until(`receipts are ${wanted.join(', ')}`, async () => {
      const found = await listOf(payer.client.receipts());
      return found.map(({ state }) => state).join() === wanted.join() ? found : undefined;
    });
  await payer.client.fetch(`${sandbox.apiUrl}/usdc`);
  await payer.client.fetch(`${sandbox.apiUrl}/usdt`, { method: 'POST' });
  await states('settled', 'settled');
  await payer.client.fetch(taker.url);
  sandbox.controls.node.warp();
  await states('settled', 'settled', 'unsettled');
  const fresh = payer.again();
  await fresh.fetch(`${taker.url}/again`);
  all = await states('settled', 'settled', 'unsettled', 'pending');
});
afterAll(async () => {
  await closePayers();
  await taker.close();
  await sandbox.close();
});

describe('client.receipts', () => {
  const at = (index: number) => all[index]?.at ?? 0;
  const cases: readonly (readonly [
    name: string,
    filter: () => ReceiptFilter,
    found: readonly number[],
  ])[] = [
    ['no filter', () => ({}), [0, 1, 2, 3]],
    ['settled', () => ({ state: 'settled' }), [0, 1]],
    ['unsettled', () => ({ state: 'unsettled' }), [2]],
    ['pending', () => ({ state: 'pending' }), [3]],
    ['uncertain', () => ({ state: 'uncertain' }), []],
    ['the host with its port', () => ({ host: new URL(taker.url).host }), [2, 3]],
    ['the host without its port', () => ({ host: '127.0.0.1' }), []],
    ['the payee', () => ({ payTo: sandbox.merchant }), [0, 1, 2, 3]],
    ['another payee', () => ({ payTo: sandbox.feePayer }), []],
    ['a mint', () => ({ mint: sandbox.mints.USDT.address }), [1]],
    ['a mint by its symbol', () => ({ mint: 'USDT' }), [1]],
    ['another mint', () => ({ mint: sandbox.mints.BONK.address }), []],
    ['since the third', () => ({ since: at(2) }), [2, 3]],
    ['since after the last', () => ({ since: at(3) + 1 }), []],
    ['until the third', () => ({ until: at(2) }), [0, 1]],
    ['from the second until the fourth', () => ({ since: at(1), until: at(3) }), [1, 2]],
    [
      'several fields at once',
      () => ({ state: 'settled', mint: sandbox.mints.USDC.address, until: at(3) }),
      [0],
    ],
    [
      'fields that exclude each other',
      () => ({ state: 'unsettled', mint: sandbox.mints.USDT.address }),
      [],
    ],
    ['a filter without fields', () => JSON.parse('{}') as ReceiptFilter, [0, 1, 2, 3]],
  ];

  it.each(cases)('filters by %s', async (_, filter, found) => {
    const ids = (await listOf(payer.client.receipts(filter()))).map(({ id }) => id);
    expect(ids).toEqual(found.map((index) => all[index]?.id));
  });

  it('returns plain data in the order of the purchases', () => {
    expect(new Set(all.map((receipt) => receipt.at)).size).toBe(4);
    expect(JSON.parse(JSON.stringify(all))).toEqual(all);
    expect(all.map(({ method, payment }) => [method, payment.amount])).toEqual([
      ['GET', '10000'],
      ['POST', '20000'],
      ['GET', '30000'],
      ['GET', '30000'],
    ]);
    expect(all.map(({ payment }) => payment.signature !== undefined)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('rejects an unknown field in the filter, which would list all receipts', async () => {
    const filter = JSON.parse('{"payee":"x"}') as ReceiptFilter;
    await expect(listOf(payer.client.receipts(filter))).rejects.toMatchObject({
      code: 'invalid_option',
      details: { option: 'filter.payee' },
    });
  });

  it.each([
    ['state', '"setled"'],
    ['host', '"https://api.example.com"'],
    ['payTo', '"seller"'],
    ['mint', '"usdc"'],
    ['since', '"2026-07-01"'],
    ['until', 'null'],
  ])('rejects a %s that matches nothing by its form: %s', async (field, value) => {
    const filter = JSON.parse(`{"${field}":${value}}`) as ReceiptFilter;
    await expect(listOf(payer.client.receipts(filter))).rejects.toMatchObject({
      code: 'invalid_option',
      details: { option: `filter.${field}` },
    });
  });

  it('may be left half way', async () => {
    for await (const receipt of payer.client.receipts()) {
      expect(receipt.id).toBe(all[0]?.id);
      break;
    }
    expect((await listOf(payer.client.receipts())).length).toBe(4);
  });

  it('contains no receipt of another wallet', async () => {
    const journal = memoryJournal();
    const [buyer, other] = await Promise.all(
      [1, 2].map(() => payerOn(sandbox, { USDC: '1' }, { journal })),
    );
    expect((await buyer?.client.fetch(`${sandbox.apiUrl}/usdc`))?.status).toBe(200);
    expect((await listOf(buyer?.client.receipts() ?? emptyList())).length).toBe(1);
    expect((await listOf(other?.client.receipts() ?? emptyList())).length).toBe(0);
  });
});

describe('settled', () => {
  it('waits until the chain shows the payment', async () => {
    const { client } = await payerOn(sandbox, { USDC: '1' });
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    const receipts = await Promise.all([settled(response), settled(response)]);
    expect(receipts[0]).toMatchObject({
      state: 'settled',
      payment: { uiAmount: '0.01', symbol: 'USDC', signature: expect.any(String) },
    });
    expect(receipts).toEqual([receiptOf(response), receiptOf(response)]);
    expect(await settled(response.clone())).toEqual(receipts[0]);
  });

  it('returns unsettled when the payment can no longer land', async () => {
    const { client } = await payerOn(sandbox, { USDC: '1' });
    const response = await client.fetch(taker.url);
    expect(receiptOf(response)?.state).toBe('pending');
    const waiting = settled(response);
    sandbox.controls.node.warp();
    expect((await waiting)?.state).toBe('unsettled');
  });

  it('ends with its signal, or with the client', async () => {
    const { client } = await payerOn(sandbox, { USDC: '1' });
    const response = await client.fetch(taker.url);
    const controller = new AbortController();
    const given = settled(response, { signal: controller.signal });
    controller.abort('enough');
    await expect(given).rejects.toBe('enough');
    const waiting = settled(response);
    await client.close();
    const closed = { code: 'client_closed', funds: 'uncertain' };
    await expect(waiting).rejects.toMatchObject(closed);
    await expect(settled(response)).rejects.toMatchObject(closed);
    expect(receiptOf(response)?.state).toBe('pending');
  });

  it('returns undefined for an unpaid answer', async () => {
    expect(await settled(await fetch(`${sandbox.apiUrl}/free`))).toBeUndefined();
  });
});

async function* emptyList(): AsyncIterable<Receipt> {}

/** Deletes every field of an object, and of each object in it. */
function erase(value: unknown): void {
  if (!isObject(value)) return;
  for (const name of Reflect.ownKeys(value)) {
    erase(Reflect.get(value, name));
    Reflect.deleteProperty(value, name);
  }
}

/** Makes a journal that returns the objects that it was given last, and no copies. */
function liveJournal(): Journal {
  const journal = memoryJournal();
  const rows = new Map<string, Parameters<Journal['put']>[0]>();
  return {
    ...journal,
    async put(attempt, along) {
      await journal.put(attempt, along);
      rows.set(attempt.id, attempt);
    },
    async *attempts(...args) {
      for await (const attempt of journal.attempts(...args)) yield rows.get(attempt.id) ?? attempt;
    },
  };
}

describe('an application that erases each receipt that it gets', () => {
  it('changes neither its payments nor the journal', async () => {
    const { client } = await payerOn(sandbox, { USDC: '1' }, { journal: liveJournal() });
    for (const name of ['payment.answered', 'payment.settled'] as const)
      client.on(name, ({ receipt }) => erase(receipt));
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    erase(receiptOf(response));
    erase(await client.pay(await fetch(`${sandbox.apiUrl}/usdc`)));
    for await (const receipt of client.receipts()) erase(receipt);
    erase(await settled(response));
    expect(receiptOf(response)).toMatchObject({ state: 'settled', payment: { amount: '10000' } });
    expect((await listOf(client.receipts())).map(({ state }) => state)).toEqual([
      'settled',
      'pending',
    ]);
  });
});
