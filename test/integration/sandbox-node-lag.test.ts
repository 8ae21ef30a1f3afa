import { address } from '@solana/kit';
import {
  Connection,
  Keypair,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startNode, type SandboxNode } from '../../adapters/sandbox/node/index.js';

// Nodes that are honest but behind, and nodes with a wrong number.

let node: SandboxNode;

beforeEach(async () => {
  node = await startNode({ slotMs: 0, confirmationMs: 0 });
});
afterEach(() => node.close());

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

async function call(method: string, params: readonly unknown[] = [], caller = ''): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (await (
    await fetch(`${node.url}/?caller=${caller}`, { method: 'POST', body })
  ).json()) as Answer;
}

/** Sends a transfer that lands in the current slot. */
async function landed(): Promise<{
  readonly payer: string;
  readonly signature: string;
  readonly wire: string;
  readonly message: string;
}> {
  const connection = new Connection(node.url, 'confirmed');
  const payer = Keypair.generate();
  node.chain.fundSol(address(payer.publicKey.toBase58()), 1_000_000_000n);
  const { blockhash } = await connection.getLatestBlockhash();
  const instructions = [
    SystemProgram.transfer({
      fromPubkey: payer.publicKey,
      toPubkey: Keypair.generate().publicKey,
      lamports: 10_000_000,
    }),
  ];
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions,
  }).compileToV0Message();
  const transaction = new VersionedTransaction(message);
  transaction.sign([payer]);
  const signature = await connection.sendTransaction(transaction);
  const wire = Buffer.from(transaction.serialize()).toString('base64');
  return {
    payer: payer.publicKey.toBase58(),
    signature,
    wire,
    message: Buffer.from(message.serialize()).toString('base64'),
  };
}

const confirmed = { commitment: 'confirmed' };

describe('a minContextSlot above the slot of the node', () => {
  const key = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
  const program = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

  // Every method that takes minContextSlot on a real node, with the params before its options.
  const methods: readonly (readonly [string, readonly unknown[]])[] = [
    ['getAccountInfo', [key]],
    ['getBalance', [key]],
    ['getBlockHeight', []],
    ['getEpochInfo', []],
    ['getFeeForMessage', ['message']],
    ['getLatestBlockhash', []],
    ['getMultipleAccounts', [[key]]],
    ['getProgramAccounts', [program]],
    ['getSignaturesForAddress', [key]],
    ['getSlot', []],
    ['getTokenAccountsByOwner', [key, { programId: program }]],
    ['getTransactionCount', []],
    ['isBlockhashValid', [key]],
    ['sendTransaction', ['wire']],
    ['simulateTransaction', ['wire']],
  ];

  test.each(methods)(
    'is refused by %s, and a slot that the node has reached is accepted',
    async (method, before) => {
      const sent = await landed();
      const args = before.map((param) =>
        param === 'message' ? sent.message : param === 'wire' ? sent.wire : param,
      );
      const options = {
        ...confirmed,
        preflightCommitment: 'confirmed',
        encoding: 'base64',
        skipPreflight: true,
      };
      const slot = Number(node.chain.slot);
      expect(await call(method, [...args, { ...options, minContextSlot: slot + 1 }])).toMatchObject(
        {
          error: {
            code: -32016,
            message: 'Minimum context slot has not been reached',
            data: { contextSlot: slot },
          },
        },
      );
      expect(
        (await call(method, [...args, { ...options, minContextSlot: slot }])).error,
      ).toBeUndefined();
    },
  );
});

describe('a lagging method', () => {
  test('omits transactions that its index has not seen, without an error', async () => {
    const { payer, signature } = await landed();
    node.controls.warp(249);
    node.controls.lag({ getSignaturesForAddress: 250 });
    const minContextSlot = Number(node.chain.slot);
    const list = () => call('getSignaturesForAddress', [payer, { ...confirmed, minContextSlot }]);
    expect(await list()).toMatchObject({ result: [] });
    // Methods without a lag are at the tip.
    expect(
      await call('getTransaction', [
        signature,
        { ...confirmed, maxSupportedTransactionVersion: 0 },
      ]),
    ).toMatchObject({ result: {} });
    expect(await call('getSignatureStatuses', [[signature]])).toMatchObject({
      result: { value: [{ confirmationStatus: 'finalized' }] },
    });
    node.controls.warp(1);
    expect(await list()).toMatchObject({ result: [{ signature }] });
  });

  test.each(['getTransaction', 'getSignatureStatuses'] as const)(
    'omits a new transaction from %s too',
    async (method) => {
      const { signature } = await landed();
      node.controls.lag({ [method]: 3 });
      const ask = async () => {
        const { result } = await call(
          method,
          method === 'getTransaction'
            ? [signature, { ...confirmed, maxSupportedTransactionVersion: 0 }]
            : [[signature]],
        );
        return (
          JSON.stringify(result).includes('"slot":') &&
          !JSON.stringify(result).includes('"value":[null]')
        );
      };
      expect(await ask()).toBe(false);
      node.controls.warp(3);
      expect(await ask()).toBe(true);
    },
  );

  test('answers with the blocks of its lagging slot, and refuses later slots', async () => {
    const { result } = await call('getLatestBlockhash', [confirmed]);
    const then = result as {
      context: { slot: number };
      value: { blockhash: string; lastValidBlockHeight: number };
    };
    node.controls.warp(40);
    const now = (await call('getLatestBlockhash', [confirmed])).result as typeof then;
    node.controls.lag({
      getSlot: 40,
      getBlockHeight: 40,
      getEpochInfo: 40,
      getLatestBlockhash: 40,
      isBlockhashValid: 40,
    });
    expect((await call('getLatestBlockhash', [confirmed])).result).toEqual(then);
    expect((await call('getSlot', [confirmed])).result).toBe(then.context.slot);
    expect((await call('getBlockHeight', [confirmed])).result).toBe(
      then.value.lastValidBlockHeight - 150,
    );
    expect((await call('getEpochInfo', [confirmed])).result).toMatchObject({
      absoluteSlot: then.context.slot,
    });
    expect((await call('getSlot', [])).result).toBe(then.context.slot - 32);
    const isValid = async (hash: string) =>
      (await call('isBlockhashValid', [hash, confirmed])).result;
    expect(await isValid(then.value.blockhash)).toMatchObject({
      context: { slot: then.context.slot },
      value: true,
    });
    expect(await isValid(now.value.blockhash)).toMatchObject({ value: false });
    const ahead = { ...confirmed, minContextSlot: then.context.slot + 1 };
    expect(await call('getLatestBlockhash', [ahead])).toMatchObject({
      error: { code: -32016, data: { contextSlot: then.context.slot } },
    });
    node.controls.clearFaults();
    expect((await call('getLatestBlockhash', [confirmed])).result).toEqual(now);
  });

  test('lags for one caller alone if ordered so', async () => {
    const slot = Number(node.chain.slot);
    node.controls.lag({ getSlot: 5 }, 'second');
    expect((await call('getSlot', [confirmed], 'first')).result).toBe(slot);
    expect((await call('getSlot', [confirmed], 'second')).result).toBe(slot - 5);
    node.controls.lag({}, 'second');
    expect((await call('getSlot', [confirmed], 'second')).result).toBe(slot);
  });
});

describe('a wrong number in an answer', () => {
  test('is off by the ordered amount, as often as ordered, for its caller alone', async () => {
    const right = (await call('getLatestBlockhash', [confirmed])).result as {
      value: { blockhash: string; lastValidBlockHeight: number };
    };
    const { blockhash, lastValidBlockHeight } = right.value;
    node.controls.fault(
      'getLatestBlockhash',
      { kind: 'offBy', at: 'value.lastValidBlockHeight', by: -400, times: 1 },
      'first',
    );
    expect((await call('getLatestBlockhash', [confirmed], 'second')).result).toEqual(right);
    expect((await call('getLatestBlockhash', [confirmed], 'first')).result).toEqual({
      ...right,
      value: { blockhash, lastValidBlockHeight: lastValidBlockHeight - 400 },
    });
    expect((await call('getLatestBlockhash', [confirmed], 'first')).result).toEqual(right);
    node.controls.fault('getBlockHeight', { kind: 'offBy', at: '', by: 7 });
    expect((await call('getBlockHeight', [confirmed])).result).toBe(lastValidBlockHeight - 150 + 7);
  });

  test('causes an error of the test if it is not in the answer', async () => {
    node.controls.fault('getHealth', { kind: 'offBy', at: 'value.height', by: 1 });
    expect(await call('getHealth')).toMatchObject({ error: { code: -32603 } });
  });
});
