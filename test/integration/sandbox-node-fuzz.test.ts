import { generateKeyPairSigner, getBase58Decoder, getBase64Decoder } from '@solana/kit';
import {
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startNode } from '../../adapters/sandbox/node/index.js';
import type { SandboxNode } from '../../adapters/sandbox/node/index.js';
import { inTurn, share } from '../helpers/sampled.js';

// The runtime aborts the whole process on bytes that it cannot decode. The main assertion is that
// this file ends at all.
let node: SandboxNode;
let template: Uint8Array;
let unsigned: Uint8Array;

beforeAll(async () => {
  node = await startNode({ slotMs: 0, confirmationMs: 0 });
  const payer = Keypair.generate();
  const { address } = await generateKeyPairSigner();
  const table = node.chain.createLookupTable([address]);
  node.chain.airdrop(address, 1_000_000_000n);
  const instructions = [
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: payer.publicKey, lamports: 1 }),
  ];
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: node.chain.blocks.tip.hash,
    instructions,
  }).compileToV0Message();
  message.addressTableLookups.push({
    accountKey: new PublicKey(table),
    writableIndexes: [0],
    readonlyIndexes: [],
  });
  const transaction = new VersionedTransaction(message);
  unsigned = transaction.serialize();
  transaction.sign([payer]);
  template = transaction.serialize();
});

afterAll(() => node.close());

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

async function batch(
  ...calls: readonly (readonly [method: string, params: unknown])[]
): Promise<Answer[]> {
  const body = calls.map(([method, params]) => ({ jsonrpc: '2.0', id: 1, method, params }));
  const response = await fetch(node.url, { method: 'POST', body: JSON.stringify(body) });
  return (await response.json()) as Answer[];
}

async function survives(bytes: Uint8Array): Promise<void> {
  const text = getBase64Decoder().decode(bytes);
  const config = { encoding: 'base64' };
  const answers = await batch(
    [
      'simulateTransaction',
      [text, { ...config, replaceRecentBlockhash: true, innerInstructions: true }],
    ],
    ['simulateTransaction', [text, { ...config, sigVerify: true }]],
    ['sendTransaction', [text, { ...config, skipPreflight: true }]],
    ['sendTransaction', [text, config]],
    ['getFeeForMessage', [text]],
  );
  expect(answers).toHaveLength(5);
  for (const { result, error } of answers) {
    if (error === undefined) expect(result).toBeDefined();
    else expect([-32602, -32002, -32003]).toContain(error.code);
  }
}

test('the node survives any bytes', () =>
  fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 1_400 }), survives), { numRuns: 150 }));

const VALUES = [0, 1, 0x7f, 0x80, 0xff];

test('the node survives every single changed byte of a transaction', async () => {
  for (const bytes of [template, unsigned]) {
    for (let index = 0; index < bytes.length; index += 1) {
      // Within a signature or a key every byte has the same role.
      if (index > 4 && index < 60) continue;
      for (const value of share(VALUES, inTurn(VALUES, index))) {
        const changed = bytes.slice();
        changed[index] = value;
        await survives(changed);
      }
    }
  }
});

test('the node survives transactions that are cut short, extended or spliced', () =>
  fc.assert(
    fc.asyncProperty(
      fc
        .nat(2_000)
        .chain((seed) => fc.tuple(fc.constant(seed), fc.uint8Array({ maxLength: 40 }), fc.nat(40))),
      async ([seed, insert, remove]) => {
        const at = seed % template.length;
        await survives(
          Uint8Array.from([...template.slice(0, at), ...insert, ...template.slice(at + remove)]),
        );
      },
    ),
    { numRuns: 200 },
  ));

test('the node survives any arguments to any method', () => {
  const methods = [
    ...[
      'getAccountInfo',
      'getMultipleAccounts',
      'getProgramAccounts',
      'getTokenAccountsByOwner',
      'getTransaction',
      'getSignatureStatuses',
    ],
    ...[
      'getSignaturesForAddress',
      'simulateTransaction',
      'requestAirdrop',
      'getFeeForMessage',
      'getRecentPrioritizationFees',
      'isBlockhashValid',
    ],
    ...[
      'getMinimumBalanceForRentExemption',
      'getTokenSupply',
      'getLatestBlockhash',
      'sendTransaction',
    ],
  ];
  const key = fc
    .uint8Array({ minLength: 30, maxLength: 34 })
    .map((bytes) => getBase58Decoder().decode(bytes));
  const argument = fc.oneof(
    fc.jsonValue(),
    key,
    fc.array(key, { maxLength: 3 }),
    fc.record({ mint: key }),
    fc.record({ programId: key }),
  );
  return fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...methods),
      fc.array(argument, { maxLength: 3 }),
      async (method, params) => {
        const [answer] = await batch([method, params]);
        if (answer?.error) expect([-32600, -32602, -32016]).toContain(answer.error.code);
        else expect(answer).toHaveProperty('result');
      },
    ),
    { numRuns: 400 },
  );
});

test('the node still works after all these inputs', async () => {
  const { address } = await generateKeyPairSigner();
  node.chain.airdrop(address, 1_000_000_000n);
  expect(await batch(['getBalance', [address]])).toMatchObject([
    { result: { value: 1_000_000_000 } },
  ]);
});
