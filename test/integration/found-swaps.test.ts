import { memoryJournal, type ClientOptions, type Journal, type Plan } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { createCoordination, withCoordination } from '../../src/journal/registry.js';
import { storedOf } from '../helpers/attempts.js';
import { takerUrl } from '../helpers/bounds.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = (path: string) => sandbox.apiUrl + path;
const swapping = { autoSwap: true, swapFrom: ['USDT'] } as const;
describe('a swap of a process that died after another process had read the journal', () => {
  it('is sent again by the other process, which signs no second swap', async () => {
    const journal = memoryJournal();
    let isKilled = false;
    // A killed process cannot record that it ends its swap.
    const killed: Journal = {
      ...journal,
      put: (attempt) => (isKilled ? Promise.reject(new Error('killed')) : journal.put(attempt)),
    };
    const options: ClientOptions = { ...swapping, journal: killed };
    const payer = await payerOn(sandbox, { SOL: '0.5', USDT: '5', USDC: '0.01' }, options);
    const other = payer.again({ ...swapping, journal });
    expect((await other.fetch(url('/usdc'))).status).toBe(200);
    const { node } = sandbox.controls;
    node.fault('sendTransaction', { kind: 'neverLands' });
    const before = node.calls({ method: 'sendTransaction' });
    const call = failureOf(payer.client.fetch(url('/usdc?2')), 'swap_uncertain');
    await until('the swap was sent', () =>
      node.calls({ method: 'sendTransaction' }) > before ? true : undefined,
    );
    isKilled = true;
    await payer.client.close();
    await call;
    expect((await storedOf(journal, payer)).map(({ state }) => state)).toEqual([
      'settled',
      'reserved',
    ]);
    node.clearFaults();
    expect((await other.fetch(url('/usdc?2'))).status).toBe(200);
    expect([signedOf(payer, 'swap'), await timesSpent(sandbox, payer, 'USDT')]).toEqual([1, 1]);
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([2, 2]);
    expect(
      (await storedOf(journal, payer)).map(({ payment, state }) =>
        payment === undefined ? state : 'paid',
      ),
    ).toEqual(['paid', 'unpaid', 'paid']);
  });
});

describe('a signed swap that the journal fails to record', () => {
  it.each(['is not there', 'is there, though its answer was lost'])(
    'is never sent, and leaves no attempt, when its record %s',
    async (how) => {
      const inner = memoryJournal();
      let failures = 0;
      const journal: Journal = {
        ...inner,
        put: async (attempt) => {
          const fails =
            attempt.state === 'reserved' && attempt.swap !== undefined && (failures += 1) === 1;
          if (!fails || how !== 'is not there') await inner.put(attempt);
          if (fails) throw new Error('The disk is full.');
        },
      };
      const options: ClientOptions = { ...swapping, journal };
      const payer = await payerOn(sandbox, { SOL: '0.5', USDT: '5' }, options);
      const before = sandbox.controls.node.calls({ method: 'sendTransaction' });
      const error = await failureOf(payer.client.fetch(url('/usdc')), 'journal_unavailable');
      expect(error).toMatchObject({ funds: 'untouched', moved: [] });
      expect(await storedOf(journal, payer)).toEqual([]);
      const plans: Plan[] = [];
      const other = payer.again({
        ...options,
        policy: { approve: (plan) => plans.push(plan) < 0 },
      });
      const refused = await failureOf(other.fetch(url('/usdc')), 'approval_refused');
      expect(refused).toMatchObject({ funds: 'untouched', moved: [] });
      // The plan has a new swap, because the first swap must not land later.
      expect(plans).toMatchObject([{ swap: { inputMint: sandbox.mints.USDT.address } }]);
      expect([signedOf(payer, 'swap'), await timesSpent(sandbox, payer, 'USDT')]).toEqual([1, 0]);
      expect(sandbox.controls.node.calls({ method: 'sendTransaction' })).toBe(before);
    },
  );
});

/**
 * Returns a journal that fails after the first swap: at the write of the new balance, and then until
 * so many writes have failed.
 */
function failingAfterSwap(times: number): { readonly journal: Journal; left(): number } {
  const { ledger, ...others } = createCoordination();
  let left = times;
  const write = (isFailing: boolean, change: () => Promise<void>) => {
    if (!isFailing || left === 0) return change();
    left -= 1;
    return Promise.reject(new Error('EIO'));
  };
  const see: typeof ledger.see = (account, known, moved) =>
    // Only after a swap is it known what came in.
    write(moved !== undefined, () => ledger.see(account, known, moved));
  const forget: typeof ledger.forget = (account) =>
    write(left < times, () => ledger.forget(account));
  const shared = { ...others, ledger: { ...ledger, see, forget } };
  const journal = { ...withCoordination(memoryJournal(), shared), coordination: () => shared };
  return { journal, left: () => left };
}

it.each([
  ['once', 1],
  ['until the old balances are forgotten', 3],
])('makes no second swap when the writes after the first fail %s', async (_, times) => {
  const { journal, left } = failingAfterSwap(times);
  const payer = await payerOn(sandbox, { SOL: '0.5', USDT: '5' }, { ...swapping, journal });
  expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
  expect([left(), signedOf(payer, 'swap'), signedOf(payer, 'payment')]).toEqual([0, 1, 1]);
  expect(await timesSpent(sandbox, payer, 'USDT')).toBe(1);
});

it('makes no second swap when a swap of the caller lands and its writes fail', async () => {
  const { journal, left } = failingAfterSwap(3);
  const funds = { SOL: '0.5', USDT: '5', USDC: '0.01' };
  const payer = await payerOn(sandbox, funds, { ...swapping, journal });
  // The journal now knows a balance that is too little for another call.
  expect((await payer.client.fetch(url('/usdc?1'))).status).toBe(200);
  const { USDT, USDC } = sandbox.mints;
  const order = { inputMint: USDT.address, outputMint: USDC.address, amount: 100_000n };
  await payer.client.swap({ ...order, swapMode: 'ExactOut' });
  expect((await payer.client.fetch(url('/usdc?2'))).status).toBe(200);
  expect([left(), signedOf(payer, 'swap'), signedOf(payer, 'payment')]).toEqual([0, 1, 2]);
});

it('wraps SOL for each payment even if no lamport is left for a priority fee', async () => {
  // Each payment needs all that was wrapped for it, so the wraps have equal instructions.
  const policy = { maxPerPayment: '50', maxPerDay: '500', maxFeeLamports: 5_000n };
  const payer = await payerOn(sandbox, { SOL: '1' }, { autoSwap: true, policy });
  const seller = await takerUrl(sandbox, [['SOL', '20000000']]);
  for (const call of [1, 2, 3])
    expect((await payer.client.fetch(`${seller}/${call}`)).status).toBe(200);
  const wraps = payer.events.flatMap((event) =>
    event.type === 'swap.confirmed' ? [event.signature] : [],
  );
  expect(new Set(wraps).size).toBe(3);
});

it('does not say that a swap was sent if the client closed right after its signature', async () => {
  const { client } = await payerOn(sandbox, { SOL: '1', USDT: '1' });
  const { node } = sandbox.controls;
  const before = node.calls({ method: 'sendTransaction' });
  client.on('swap.signed', () => void client.close());
  const order = {
    ...{ inputMint: sandbox.mints.USDT.address, outputMint: sandbox.mints.USDC.address },
    amount: 10_000n,
    swapMode: 'ExactOut',
  } as const;
  const error = await failureOf(client.swap(order), 'swap_uncertain');
  expect([error.funds, error.message]).toEqual(['uncertain', expect.not.stringContaining('sent')]);
  expect(node.calls({ method: 'sendTransaction' })).toBe(before);
});
