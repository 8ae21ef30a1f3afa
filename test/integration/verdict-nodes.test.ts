import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientOptions, EventName } from 'exact-change';
import { afterEach, describe, expect, it } from 'vitest';
import { rpc, tokenAmount, until } from '../helpers/chain.js';
import { closePayers, failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

// Each test has a payment that settled while its answer was lost, and nodes that hide this. The
// client must never pay again.

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

const servers: { close(): void; closeAllConnections(): void }[] = [];
afterEach(async () => {
  await closePayers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Starts a node in front of the sandbox that answers as told, or with a 503 for undefined. */
async function node(
  answer: (
    method: string,
    params: readonly unknown[],
    real: () => Promise<Reply>,
  ) => Promise<Reply | undefined>,
) {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const {
        id,
        method,
        params = [],
      } = JSON.parse(body) as { id: string; method: string; params?: unknown[] };
      const real = async () => {
        const answered = await fetch(sandbox.rpcUrl, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        });
        return (await answered.json()) as Reply;
      };
      void answer(method, params, real).then((reply) =>
        reply === undefined
          ? response.writeHead(503).end()
          : response.end(JSON.stringify({ jsonrpc: '2.0', ...reply, id })),
      );
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a bound TCP server is never the name of a pipe or null.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

const told = ({ events }: Payer, type: EventName) => events.some((event) => event.type === type);
const verdict = (payer: Payer) =>
  until('the chain decides', () =>
    told(payer, 'payment.settled')
      ? 'settled'
      : told(payer, 'payment.unsettled')
        ? 'unsettled'
        : undefined,
  );

/** Returns a payer with a settled payment and a lost answer, long ago by the chain. */
async function paidInVain(
  options: ClientOptions,
  onSent: () => unknown = () => undefined,
): Promise<Payer> {
  const payer = await payerOn(sandbox, { USDC: '1' }, options);
  const stop = payer.client.on('payment.sent', () => {
    stop();
    onSent();
    sandbox.controls.api.fault('/usdc', { kind: 'dropAfter', times: 1 });
  });
  await failureOf(payer.client.fetch(`${sandbox.apiUrl}/usdc`), 'payment_uncertain');
  sandbox.controls.node.warp();
  return payer;
}

async function expectPaidOnce(payer: Payer): Promise<void> {
  expect(await verdict(payer)).toBe('settled');
  await failureOf(payer.client.fetch(`${sandbox.apiUrl}/usdc`), 'already_spent');
  expect(await tokenAmount(sandbox.rpcUrl, payer.address, sandbox.mints.USDC)).toBe(990_000n);
}

describe('a settled payment with a lost answer', () => {
  it('is found if the node returns no memos', async () => {
    const rpcUrl = await node(async (method, _, real) => {
      const reply = await real();
      if (method !== 'getSignaturesForAddress' || !Array.isArray(reply.result)) return reply;
      return { result: reply.result.map((entry: object) => ({ ...entry, memo: null })) };
    });
    await expectPaidOnce(await paidInVain({ rpcUrl }));
  });

  it('is found if the first node gives heights only, and the second is behind', async () => {
    let behind = true;
    let asked = 0;
    const first = await node((method, _, real) =>
      method === 'getSignaturesForAddress' && behind ? Promise.resolve(undefined) : real(),
    );
    const second = await node(async (method, params, real) => {
      if (!behind) return real();
      if (method !== 'getSignaturesForAddress') return real();
      asked += 1;
      const { minContextSlot } = (params[1] ?? {}) as { minContextSlot?: number };
      // This is the answer of a node that stopped before the payment.
      return minContextSlot === undefined
        ? { result: [] }
        : { error: { code: -32016, message: 'Minimum context slot has not been reached' } };
    });
    const payer = await paidInVain({ rpcUrl: [first, second] });
    await until('the second node is asked twice', () => (asked > 1 ? true : undefined));
    expect(told(payer, 'payment.unsettled')).toBe(false);
    behind = false;
    await expectPaidOnce(payer);
  });

  it('is found if the node lists it and does not return it', async () => {
    let gives = false;
    let asked = 0;
    const rpcUrl = await node((method, _, real) => {
      if (method !== 'getTransaction' || gives) return real();
      asked += 1;
      return Promise.resolve({ result: null });
    });
    const payer = await paidInVain({ rpcUrl });
    await until('the transaction is asked for twice', () => (asked > 1 ? true : undefined));
    expect(told(payer, 'payment.unsettled')).toBe(false);
    gives = true;
    await expectPaidOnce(payer);
  });

  it('is found behind a thousand newer transactions of its account', async () => {
    const rpcUrl = await node(async (method, params, real) => {
      if (method !== 'getSignaturesForAddress') return real();
      const [account, { before }] = params as [string, { before?: string }];
      const listed = await rpc<{ slot: number }[]>(sandbox.rpcUrl, method, [
        account,
        { commitment: 'confirmed' },
      ]);
      const slot = (listed[0]?.slot ?? 0) + 5;
      const dust = (index: number) => ({
        signature: `${'5'.repeat(80)}${index}`,
        slot,
        err: null,
        memo: '[4] dust',
      });
      return {
        result:
          before === undefined ? Array.from({ length: 1_000 }, (_, index) => dust(index)) : listed,
      };
    });
    await expectPaidOnce(await paidInVain({ rpcUrl }));
  });

  it('is found if the second node is of another network, and the first is down', async () => {
    let dead = false;
    let asked = 0;
    const first = await node((_, __, real) => {
      if (!dead) return real();
      asked += 1;
      return Promise.resolve(undefined);
    });
    const foreign: Readonly<Record<string, unknown>> = {
      getGenesisHash: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
      getEpochInfo: {
        epoch: 1,
        slotIndex: 1,
        slotsInEpoch: 2,
        absoluteSlot: 900_000_000,
        blockHeight: 900_000_000,
        transactionCount: 1,
      },
      getSignaturesForAddress: [],
      getFirstAvailableBlock: 0,
      getTransaction: null,
    };
    const second = await node((method) => Promise.resolve({ result: foreign[method] ?? null }));
    const payer = await paidInVain({ rpcUrl: [first, second] }, () => (dead = true));
    // Each look asks the first node twice, and then the second.
    await until('the first node is asked in vain three times', () =>
      asked > 5 ? true : undefined,
    );
    expect(told(payer, 'payment.unsettled')).toBe(false);
    dead = false;
    await expectPaidOnce(payer);
  });

  it('is found if one of two nodes has a gap in its index', async () => {
    let gap = false;
    const first = await node((method, _, real) =>
      method === 'getSignaturesForAddress' && gap ? Promise.resolve({ result: [] }) : real(),
    );
    await expectPaidOnce(await paidInVain({ rpcUrl: [first, sandbox.rpcUrl] }, () => (gap = true)));
  });

  it('is found if a node returns another transaction for it, and is behind', async () => {
    let wrong = false;
    const first = await node(async (method, _, real) => {
      const reply = await real();
      if (!wrong || typeof reply.result !== 'object' || reply.result === null) return reply;
      if (method === 'getEpochInfo') return { result: { ...reply.result, blockHeight: 1 } };
      if (method !== 'getTransaction' || !('transaction' in reply.result)) return reply;
      const { transaction } = reply.result as { transaction: { signatures: string[] } };
      const signatures = transaction.signatures.map(() => '5'.repeat(88));
      return { result: { ...reply.result, transaction: { ...transaction, signatures } } };
    });
    await expectPaidOnce(
      await paidInVain({ rpcUrl: [first, sandbox.rpcUrl] }, () => (wrong = true)),
    );
  });
});
