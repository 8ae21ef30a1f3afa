import { memoryJournal, type ClientOptions, type Journal } from 'exact-change';
import { expect, it, onTestFinished } from 'vitest';
import { createCoordination, withCoordination } from '../../src/journal/registry.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { storedOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { moveClock } from '../helpers/move-clock.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest, type Seller } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { microUsd } from '../helpers/worth.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const topUp = { token: 'USDC', below: '0.05', to: '0.20' };

/** Sells for one cent of USDT. */
const sellerOfUsdt = () =>
  sellerOfTest((request, response) => {
    const offer = offerOf(sandbox, { asset: sandbox.mints.USDT.address });
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offer]));
    void settle(sandbox, request).then((settled) =>
      answer(response, 200, {}, settlementHeader({ ...settled })),
    );
  });

/** Returns a journal, and the number of calls that have asked for a lock of it so far. */
function askedJournal(): { journal: Journal; askedFor: (name: string) => number } {
  const { locks, ...others } = createCoordination();
  const asked: string[] = [];
  const hold: typeof locks.hold = (names, work, signals) => {
    asked.push(...names);
    return locks.hold(names, work, signals);
  };
  const shared = { ...others, locks: { hold } };
  const journal = {
    ...withCoordination(memoryJournal(), shared),
    coordination: () => shared,
  };
  return { journal, askedFor: (name) => asked.filter((each) => each === name).length };
}

/**
 * Starts a top-up that counts all USDC of the wallet, and lands only when `land` is called. `within`
 * makes a client of the wallet whose day has room for so many dollars beside the top-up.
 */
async function duringTopUp() {
  const { journal, askedFor } = askedJournal();
  const common: ClientOptions = {
    ...{ journal, autoSwap: true, rpcUrl: `${sandbox.rpcUrl}/?caller=client` },
    policy: { topUp, minSwap: '0.01' },
  };
  const payer = await payerOn(sandbox, { SOL: '1', USDC: '0.05', USDT: '0.001' }, common);
  const land = sandbox.controls.node.fault('sendTransaction', { kind: 'neverLands' }, 'client');
  onTestFinished(land);
  expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  await until('the top-up is signed', () =>
    payer.events.find(({ type }) => type === 'swap.signed'),
  );
  const [day] = await payer.client.spent();
  const within = (room: bigint) => {
    const maxPerDay = `0.${String(microUsd(day?.used ?? '0') + room).padStart(6, '0')}`;
    return payer.again({ ...common, policy: { ...common.policy, maxPerDay } });
  };
  const lock = `swap ${sandbox.mints.USDC.address}`;
  const before = askedFor(lock);
  const waits = () =>
    until('the call waits for the top-up', () => askedFor(lock) > before || undefined);
  return { within, waits, land };
}

type Within = Awaited<ReturnType<typeof duringTopUp>>['within'];
type Client = ReturnType<Within>;

const order = { inputMint: 'SOL', outputMint: 'USDT', uiAmount: '0.001' };

it.each<[string, bigint, (client: Client, seller: Seller) => Promise<unknown>]>([
  ['a payment without room', 5_000n, ({ fetch }, { url }) => fetch(url)],
  ['a payment with room for its price alone', 10_500n, ({ fetch }, { url }) => fetch(url)],
  ['a counted swap', 200n, ({ swap }) => swap(order, { counted: true })],
  ['a plan', 5_000n, ({ plan }, { url }) => plan(url)],
  ['a plan with room for its price alone', 10_500n, ({ plan }, { url }) => plan(url)],
])('waits for a top-up that counts against its caps: %s', async (_, room, call) => {
  const seller = await sellerOfUsdt();
  const { within, waits, land } = await duringTopUp();
  const calling = call(within(room), seller);
  // A call that does not wait fails here.
  await Promise.race([waits(), calling]);
  land();
  expect(await calling).toBeDefined();
});

it('asks policy.approve once for each size of a swap without room if no top-up counts', async () => {
  const { url } = await sellerOfUsdt();
  const sizes: unknown[] = [];
  const { client } = await payerOn(
    sandbox,
    { SOL: '1', USDC: '1', USDT: '0.001' },
    {
      autoSwap: true,
      policy: {
        topUp,
        maxPerDay: '0.0105',
        minSwap: '0.01',
        approve: ({ swap }) => sizes.push(swap?.minOutAmount) > 0,
      },
    },
  );
  await failureOf(client.fetch(url), 'budget_exhausted');
  expect(sizes).toHaveLength(new Set(sizes).size);
});

/** Makes a top-up beside USDC of the wallet. No node gives its transaction until `give` is called. */
async function unshownTopUp() {
  const journal = memoryJournal();
  const payer = await payerOn(
    sandbox,
    { SOL: '1', USDC: '0.05' },
    {
      ...{ journal, autoSwap: true, rpcUrl: `${sandbox.rpcUrl}/?caller=client` },
      policy: { topUp, minSwap: '0.01' },
    },
  );
  const { client, events } = payer;
  const fault = { kind: 'status', status: 500 } as const;
  const give = sandbox.controls.node.fault('getTransaction', fault, 'client');
  onTestFinished(give);
  expect((await client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  await until('the top-up is confirmed', () =>
    events.find(({ type }) => type === 'swap.confirmed'),
  );
  const isDecided = async () => {
    const attempts = await storedOf(journal, payer);
    return (
      attempts.some(({ method, state }) => method === 'SWAP' && state === 'unpaid') || undefined
    );
  };
  return {
    give,
    used: async () => microUsd((await client.spent())[0]?.used ?? '0'),
    end: () => until('the top-up is decided', isDecided),
  };
}

// All USDC of the wallet may be missing.
const isWholeBound = (used: bigint) => used > 50_000n;

it('counts a top-up at its cost once a node gives its transaction', async () => {
  const { give, used, end } = await unshownTopUp();
  expect(await used()).toSatisfy(isWholeBound);
  give();
  await end();
  expect(await used()).toBeLessThan(20_000n);
});

it('counts a top-up at its bound if no node gives its transaction for ten minutes', async () => {
  const { used, end } = await unshownTopUp();
  moveClock(600_000);
  await end();
  expect(await used()).toSatisfy(isWholeBound);
});
