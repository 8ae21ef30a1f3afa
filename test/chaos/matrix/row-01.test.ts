import { expect } from 'vitest';
import { until } from '../../helpers/chain.js';
import { receiptOf } from 'exact-change';
import { killed } from './killed.js';
import { row } from './row.js';
import { bought } from './told.js';
import { attemptsOf, worldsOfFile, type Buyer } from './world.js';
import { answer } from './front.js';

const untouched = ({ signed }: Buyer) => expect(signed).toEqual([]);

row(worldsOfFile(), '1', {
  'kill -9': async (world) => {
    const front = await world.front(() => 'hang');
    const buyer = await killed(world, 'a', {
      base: front.url,
      at: () => front.exchanges.length > 0,
    });
    expect([await attemptsOf(buyer), await buyer.client.resume()]).toEqual([[], []]);
    await bought(world.buy(buyer, 'a'));
  },
  timeout: async (world) => {
    const buyer = await world.buyer();
    const front = await world.front((exchange) =>
      exchange.before === 0 ? 'hang' : exchange.pass(),
    );
    const stop = new AbortController();
    const call = world.buy(buyer, 'a', { base: front.url, signal: stop.signal });
    const reason = new DOMException('late', 'TimeoutError');
    await until('the request is there', () => front.exchanges[0]);
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
    untouched(buyer);
  },
  '429': async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(() => answer(429, 'slow down', { 'retry-after': '7' }));
    const response = await world.buy(buyer, 'a', { base: front.url });
    expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([
      429,
      '7',
      'slow down',
    ]);
    expect(receiptOf(response)).toBeUndefined();
    untouched(buyer);
  },
  '5xx': async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(() => answer(503, 'gone'));
    const response = await world.buy(buyer, 'a', { base: front.url });
    // Nothing was paid yet, so a GET is sent again.
    expect([response.status, await response.text(), front.exchanges.length]).toEqual([
      503,
      'gone',
      3,
    ]);
    untouched(buyer);
  },
  malformed: async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(() =>
      answer(402, '<html>pay by card</html>', { 'content-type': 'text/html' }),
    );
    const response = await world.buy(buyer, 'a', { base: front.url });
    expect([response.status, await response.text()]).toEqual([402, '<html>pay by card</html>']);
    const broken = await world.seller(
      (request) => void request.socket.end('HTTP/9.9 what\r\n\r\n'),
    );
    await expect(world.buy(buyer, 'b', { base: broken.url })).rejects.toBeInstanceOf(TypeError);
    untouched(buyer);
  },
  'lost response': async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(async (exchange) => {
      await exchange.pass();
      return 'cut' as const;
    });
    await expect(world.buy(buyer, 'a', { base: front.url })).rejects.toBeInstanceOf(TypeError);
    untouched(buyer);
  },
  concurrent: async (world) => {
    const buyer = await world.buyer();
    const front = await world.front((exchange) =>
      exchange.path.includes('=bad') ? 'cut' : exchange.pass(),
    );
    const calls = ['a', 'bad', 'b', 'c'].map((purchase) =>
      world.buy(buyer, purchase, { base: front.url }),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(buyer.signed.length).toBe(3);
  },
});
