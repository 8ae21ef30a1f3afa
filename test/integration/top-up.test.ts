import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { memoryJournal, type ClientEvent, type ClientOptions, type Plan } from 'exact-change';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { signaturesOf, landed, tokenAccount, until } from '../helpers/chain.js';
import { journalFiles } from '../helpers/journal-files.js';
import { payerOn, type Payer } from '../helpers/payer.js';
import { programOf } from '../helpers/program.js';
import { useSandbox } from '../helpers/sandbox.js';
import { microUsd } from '../helpers/worth.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const program = programOf(fileURLToPath(new URL('./top-up.child.ts', import.meta.url)));
let path = '';
const { journalOf } = journalFiles((place) => (path = place.path));

const CENT = 10_000n;
const BELOW = 5n * CENT;
const TO = 20n * CENT;
const topUp = { token: 'USDC', below: '0.05', to: '0.20' };
const rpcUrl = `${sandbox.rpcUrl}/?caller=client`;
const usdc = () => `${sandbox.apiUrl}/usdc`;

/** Returns a payer with SOL, some cents and a float of USDC. */
const payerWith = (cents: number, policy: ClientOptions['policy'] = {}, more: ClientOptions = {}) =>
  payerOn(
    sandbox,
    { SOL: '1', USDC: `${cents / 100}` },
    {
      rpcUrl,
      autoSwap: true,
      policy: { topUp, ...policy },
      ...more,
    },
  );

const ofType = <N extends ClientEvent['type']>({ events }: Pick<Payer, 'events'>, type: N) =>
  events.filter((event): event is Extract<ClientEvent, { type: N }> => event.type === type);

async function pay({ client }: Pick<Payer, 'client'>, times = 1): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const response = await client.fetch(usdc());
    expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
  }
}

const confirmed = (payer: Payer, times = 1) =>
  until('the top-up is there', () => ofType(payer, 'swap.confirmed')[times - 1]);

/** Returns the change of the wallet's USDC by each successful transaction. */
async function movesOf({ address }: Payer): Promise<bigint[]> {
  const account = await tokenAccount(address, sandbox.mints.USDC);
  const found = await Promise.all(
    (await signaturesOf(sandbox.rpcUrl, account)).map((signature) =>
      landed(sandbox.rpcUrl, signature),
    ),
  );
  return found
    .filter(({ error }) => error === null)
    .map(({ tokens }) => tokens.find((entry) => entry.account === account)?.change ?? 0n);
}

/** Returns the ids of the calls that a swap was made for. */
function swappedCalls(payer: Payer): string[] {
  const calls = new Set(ofType(payer, 'payment.required').map(({ id }) => id));
  return ofType(payer, 'swap.quoted').flatMap(({ id }) => (calls.has(id) ? [id] : []));
}

describe('a wallet with a float', () => {
  it('pays twenty calls in a row without waiting for a swap', async () => {
    const payer = await payerWith(7);
    const held = () => sandbox.balance(payer.address, 'USDC');
    const isTopped = async () => ((await held()) >= BELOW ? true : undefined);
    for (let n = 0; n < 20; n += 1) {
      await pay(payer);
      // The next call waits for the float, which is enough for five calls.
      if ((await held()) <= 2n * CENT) await until('the float is there', isTopped);
    }
    await until('the float is there', isTopped);
    await confirmed(payer, ofType(payer, 'swap.signed').length);
    await payer.client.close();
    expect(swappedCalls(payer)).toEqual([]);
    expect(ofType(payer, 'balance.checked').map(({ missing }) => missing)).toEqual(
      Array.from({ length: 20 }, () => '0'),
    );
    const moves = await movesOf(payer);
    const brought = moves.filter((move) => move > 5n * CENT);
    const sum = (list: readonly bigint[]) => list.reduce((a, b) => a + b, 0n);
    expect(moves.filter((move) => move === -CENT)).toHaveLength(20);
    expect(7n * CENT - 20n * CENT + sum(brought)).toBe(await held());
    // Each top-up brings the tokens that are missing to `to` at the time of its check.
    for (const amount of brought) {
      expect(amount).toBeGreaterThan(TO - BELOW);
      expect(amount).toBeLessThanOrEqual(TO);
    }
    expect(brought.length).toBe(ofType(payer, 'swap.confirmed').length);
    expect(brought.length).toBeLessThanOrEqual(Number((20n * CENT) / (TO - BELOW)) + 1);
    expect(ofType(payer, 'swap.failed')).toEqual([]);
    expect(ofType(payer, 'warning')).toEqual([]);
  });

  it('pays from the remaining tokens while the swap lands', async () => {
    const payer = await payerWith(5);
    const { node } = sandbox.controls;
    const callOff = node.fault('sendTransaction', { kind: 'neverLands' }, 'client');
    await pay(payer);
    await until('the top-up is signed', () => ofType(payer, 'swap.signed')[0]);
    await pay(payer, 3);
    expect(ofType(payer, 'swap.confirmed')).toEqual([]);
    callOff();
    const { inAmount, outAmount } = await confirmed(payer);
    expect(BigInt(inAmount)).toBeGreaterThan(0n);
    expect(BigInt(outAmount)).toBeGreaterThanOrEqual(TO - 4n * CENT);
    await pay(payer);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(BigInt(outAmount));
    expect(ofType(payer, 'swap.failed')).toEqual([]);
  });

  it('lets a payment without tokens wait for the top-up, and makes one swap for both', async () => {
    const payer = await payerWith(2);
    const { node } = sandbox.controls;
    const callOff = node.fault('sendTransaction', { kind: 'neverLands' }, 'client');
    await payer.client.warm();
    await until('the top-up is signed', () => ofType(payer, 'swap.signed')[0]);
    await pay(payer, 2);
    const last = pay(payer);
    await until('it lacks the token', () =>
      ofType(payer, 'balance.checked').find(({ missing }) => missing !== '0'),
    );
    callOff();
    await last;
    expect(ofType(payer, 'swap.signed')).toHaveLength(1);
  });

  it('reads no balance for a warm call', async () => {
    const payer = await payerWith(100);
    await payer.client.warm();
    await pay(payer);
    const { node } = sandbox.controls;
    const reads = () =>
      ['getMultipleAccounts', 'getTokenAccountsByOwner'].map((method) =>
        node.calls({ method, caller: 'client' }),
      );
    const before = reads();
    await pay(payer, 3);
    await until('all are settled', () => ofType(payer, 'payment.settled')[3]);
    expect(before).not.toContain(0);
    expect(reads()).toEqual(before);
    expect(payer.signed.filter(({ kind }) => kind === 'swap')).toEqual([]);
  });
});

describe('caps, with a top-up', () => {
  const most = async (payer: Payer) => {
    const rows = await payer.client.spent();
    for (const { cap, used, limit, unit } of rows) {
      const [is, may] =
        unit === 'USD' ? [microUsd(used), microUsd(limit)] : [used, limit].map(BigInt);
      expect([cap, (is ?? 0n) <= (may ?? 0n)]).toEqual([cap, true]);
    }
    return rows;
  };

  it('make payments wait for the top-up if both do not fit', async () => {
    // There is room for the payments and the swap, but not for the tokens at hand too.
    const payer = await payerWith(5, { maxPerDay: '0.045' });
    await pay(payer);
    await confirmed(payer);
    await pay(payer, 2);
    expect((await most(payer)).find(({ cap }) => cap === 'maxPerDay')).toMatchObject({
      parts: { payments: '0.03' },
    });
  });

  it('reduce a top-up, and then make payments wait for it', async () => {
    const sold = sandbox.mints.SOL.address;
    // A third of the SOL that twenty cents cost.
    const limit = (TO * 1_000_000n) / sandbox.mints.SOL.picoUsd / 3n;
    const payer = await payerWith(5, { limits: [{ amount: limit, mint: sold, per: 'day' }] });
    await pay(payer);
    const { outAmount } = await confirmed(payer);
    expect(BigInt(outAmount)).toBeLessThan(TO - 4n * CENT);
    await most(payer);
    await pay(payer, 2);
  });

  it('do not count a top-up as a payment', async () => {
    const payer = await payerWith(5, { limits: [{ payments: 1, per: 'minute' }] });
    await pay(payer);
    await confirmed(payer);
    const uses = await payer.client.spent();
    expect(uses.find(({ unit }) => unit === 'payments')).toMatchObject({ used: '1' });
  });

  it('prevent a top-up without room, and payments continue', async () => {
    const payer = await payerWith(5, { limits: [{ swaps: 0, per: 'day' }] });
    await pay(payer, 5);
    const [warning, ...more] = await until('it is told', () => {
      const told = ofType(payer, 'warning');
      return told.length > 0 ? told : undefined;
    });
    expect(warning?.message).toMatch(/^The top-up of USDC failed with budget_exhausted, and none/);
    expect(more).toEqual([]);
    expect(payer.signed.filter(({ kind }) => kind === 'swap')).toEqual([]);
  });

  it('refuse no payment for a top-up that counts only while it is under way', async () => {
    const { node } = sandbox.controls;
    const callOff = node.fault('sendTransaction', { kind: 'neverLands' }, 'client');
    const payer = await payerWith(5, { maxPerDay: '0.06' });
    await pay(payer);
    await until('the top-up is signed', () => ofType(payer, 'swap.signed')[0]);
    const next = pay(payer);
    await until('it is chosen', () => ofType(payer, 'payment.chosen')[1]);
    callOff();
    await next;
    await most(payer);
  });

  it('refuse a payment without room at once, even if a top-up waits for approval', async () => {
    let isAsked = false;
    const approve = ({ payment }: Plan) => {
      isAsked ||= payment === undefined;
      return payment !== undefined || new Promise<boolean>(() => undefined);
    };
    const payer = await payerWith(5, { maxPerDay: '0.015', approve });
    await pay(payer);
    await until('it is asked', () => (isAsked ? true : undefined));
    await expect(payer.client.fetch(usdc())).rejects.toMatchObject({ code: 'budget_exhausted' });
  });
});

describe('a venue that brings less to a top-up', () => {
  const underpaid = { modes: [MODE.underpay], amount: 3n * CENT };

  it('is refused, though payments may take as much while the swap lands', async () => {
    const payer = await payerWith(5);
    sandbox.controls.aggregator.setVenue(underpaid);
    await pay(payer);
    const { message } = await until('it is told', () => ofType(payer, 'warning')[0]);
    expect(message).toMatch(/failed with unsafe_swap/);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(4n * CENT);
  });

  /** Returns a payer with a signed top-up, which is about to land at a venue that underpays. */
  const deceived = async (policy: ClientOptions['policy'] = {}) => {
    const payer = await payerWith(5, policy);
    const { node } = sandbox.controls;
    const callOff = node.fault('sendTransaction', { kind: 'neverLands' }, 'client');
    await pay(payer);
    await until('the top-up is signed', () => ofType(payer, 'swap.signed')[0]);
    sandbox.controls.aggregator.setVenue(underpaid);
    callOff();
    return payer;
  };

  it('takes no more than the counted amount if it pretends until the swap lands', async () => {
    const payer = await deceived();
    const { outAmount, cost } = await confirmed(payer);
    expect(BigInt(outAmount)).toBeGreaterThanOrEqual(TO - 4n * CENT - 3n * CENT);
    expect(microUsd(cost?.usd ?? '0')).toBeGreaterThanOrEqual(3n * CENT);
  });

  it('takes nothing after policy.approve, though it pretends until the swap lands', async () => {
    const payer = await deceived({ approve: () => true });
    await until('the swap fails', () => ofType(payer, 'swap.failed')[0]);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(4n * CENT);
  });
});

describe('a top-up', () => {
  it('asks policy.approve with its swap and without a payment', async () => {
    const plans: Plan[] = [];
    const payer = await payerWith(5, { approve: (plan) => plans.push(plan) > 0 });
    await pay(payer);
    await confirmed(payer);
    const { address: mint } = sandbox.mints.USDC;
    expect(plans[1]).toMatchObject({
      ...{ url: `top-up:${mint}`, method: 'SWAP', status: 0, swap: { outputMint: mint } },
      cost: { usd: expect.stringMatching(/^0\.0/) as string },
    });
    expect(plans[1]?.payment).toBeUndefined();
  });

  it.each<[string, ClientOptions['policy'], () => void, string]>([
    [
      'policy.approve says no',
      { approve: ({ payment }) => payment !== undefined },
      () => undefined,
      'approval_refused',
    ],
    [
      'Jupiter is away',
      {},
      () => sandbox.controls.aggregator.fault('*', { kind: 'status', status: 503 }),
      'jupiter_unavailable',
    ],
    [
      'there is no market',
      {},
      () => sandbox.controls.aggregator.noRoute('SOL', 'USDC'),
      'no_route',
    ],
  ])(
    'fails no payment, and is not tried again for a while, when %s',
    async (_, policy, set, code) => {
      const payer = await payerWith(5, policy);
      await pay(payer);
      await payer.client.close();
      const again = { ...payer, client: payer.again() };
      set();
      await pay(again, 1);
      await until('it is told', () => ofType(payer, 'warning')[0]);
      await pay(again, 2);
      expect(ofType(payer, 'warning').map(({ message }) => message)).toEqual([
        expect.stringMatching(new RegExp(`failed with ${code}, and none is tried for 60 s`)),
      ]);
      expect(payer.signed.filter(({ kind }) => kind === 'swap')).toEqual([]);
    },
  );

  it('delays the next top-up only for its pause, even if the clock was ahead', async () => {
    const payer = await payerWith(5);
    sandbox.controls.aggregator.noRoute('SOL', 'USDC');
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 30 * 86_400_000);
    onTestFinished(() => clock.mockRestore());
    await pay(payer, 1);
    await until('it is told', () => ofType(payer, 'warning')[0]);
    clock.mockRestore();
    sandbox.controls.aggregator.restore();
    await pay(payer, 1);
    await confirmed(payer);
  });

  it('is left by a closed client to the next client, and is made once', async () => {
    const journal = memoryJournal();
    const payer = await payerWith(5, {}, { journal });
    const { node } = sandbox.controls;
    const callOff = node.fault('sendTransaction', { kind: 'neverLands' }, 'client');
    await pay(payer);
    await until('the top-up is signed', () => ofType(payer, 'swap.signed')[0]);
    await payer.client.close();
    callOff();
    const next = { ...payer, client: payer.again() };
    await next.client.resume();
    await pay(next, 2);
    // No event says which of the two clients sent the swap.
    await until('the top-up is there', async () =>
      (await movesOf(payer)).some((move) => move > 0n) ? true : undefined,
    );
    await pay(next, 2);
    expect(ofType(payer, 'swap.signed')).toHaveLength(1);
    expect((await movesOf(payer)).filter((move) => move > 0n)).toHaveLength(1);
  });
});

describe('processes with the same journal', () => {
  const start = ({ secretKey }: Payer, times: number, dies = false) => {
    const options = {
      ...{ walletSecretKey: secretKey, jupiterUrl: sandbox.jupiterUrl, rpcUrl, autoSwap: true },
      policy: { topUp },
    };
    const task = { options, url: usdc(), times, journal: path, dies };
    const child = spawn(process.execPath, [program.path, JSON.stringify(task)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return once(child, 'exit');
  };

  it('make one top-up at a time, and only if there is too little', async () => {
    const payer = await payerWith(5);
    const ends = await Promise.all([1, 2].map(() => start(payer, 8)));
    expect(ends).toEqual(ends.map(() => [0, null]));
    const moves = await movesOf(payer);
    const brought = moves.filter((move) => move > 0n);
    expect(moves.filter((move) => move === -CENT)).toHaveLength(16);
    // A top-up beside another top-up would have brought as much again.
    expect(brought.length).toBeLessThanOrEqual(Number((16n * CENT) / (TO - BELOW)) + 1);
    expect(await sandbox.balance(payer.address, 'USDC')).toBeLessThanOrEqual(TO);
  });

  it('complete the top-up of a killed process, and make no second', async () => {
    const payer = await payerWith(5);
    const callOff = sandbox.controls.node.fault(
      'sendTransaction',
      { kind: 'neverLands' },
      'client',
    );
    expect(await start(payer, 1, true)).toEqual([null, 'SIGKILL']);
    callOff();
    const client = payer.again({ rpcUrl, autoSwap: true, policy: { topUp }, journal: journalOf() });
    await client.resume();
    await pay({ client }, 2);
    await confirmed(payer);
    await pay({ client }, 2);
    expect(payer.signed.filter(({ kind }) => kind === 'swap')).toEqual([]);
    const brought = (await movesOf(payer)).filter((move) => move > 0n);
    expect(brought).toHaveLength(1);
    await client.close();
  });
});
