import {
  address,
  createKeyPairSignerFromBytes,
  getBase58Encoder,
  type MessagePartialSigner,
  partiallySignTransaction,
  type TransactionModifyingSigner,
  type TransactionPartialSigner,
} from '@solana/kit';
import type { SigningIntent } from 'exact-change';
import type { SandboxWallet } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import {
  changingWallet,
  type Compiled,
  compile,
  decompile,
  guarded,
  guardOn,
  insert,
  LIGHTHOUSE,
} from '../helpers/changing-wallet.js';
import { deployLighthouse } from '../helpers/lighthouse.js';
import { rpc } from '../helpers/chain.js';
import { failureOf, payerOn, recordingSigner } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { paidOf } from '../helpers/worth.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
deployLighthouse(sandbox);

const usdc = () => `${sandbox.apiUrl}/usdc`;

type Change = (message: Compiled, intent: SigningIntent) => Compiled;

/** Returns a client with a wallet that changes what it signs. */
async function payerWith(
  change: (wallet: ReturnType<typeof address>) => Change,
  funds: Parameters<typeof sandbox.createWallet>[0] = { USDC: '1' },
) {
  const wallet = await sandbox.createWallet(funds);
  const { signer, messages } = recordingSigner(wallet.address, wallet.secretKey);
  const { client } = await payerOn(
    sandbox,
    {},
    {
      signer: changingWallet(signer, change(address(wallet.address))),
      autoSwap: true,
      swapFrom: ['SOL'],
    },
  );
  return { ...wallet, client, messages };
}

/** Returns the programs of a landed transaction, in order. */
async function programsOf(signature: string | undefined): Promise<string[]> {
  const found = await rpc<{
    transaction: {
      message: { accountKeys: string[]; instructions: { programIdIndex: number }[] };
    };
  }>(sandbox.rpcUrl, 'getTransaction', [
    signature,
    { maxSupportedTransactionVersion: 0, encoding: 'json', commitment: 'confirmed' },
  ]);
  const { accountKeys, instructions } = found.transaction.message;
  return instructions.map(({ programIdIndex }) => accountKeys[programIdIndex] ?? '');
}

/** Returns a wallet in the forms of kit: modifying, transaction and message signer. */
function kitForms(wallet: SandboxWallet) {
  const key = createKeyPairSignerFromBytes(getBase58Encoder().encode(wallet.secretKey));
  const owner = address(wallet.address);
  const modifyAndSignTransactions: TransactionModifyingSigner['modifyAndSignTransactions'] = async (
    transactions,
  ) => {
    const { keyPair } = await key;
    return Promise.all(
      transactions.map(async (transaction) => {
        const message = compile(guarded(decompile(transaction.messageBytes), owner, { after: 2 }));
        const unsigned = { ...transaction, messageBytes: message };
        // The signature is of this message, which fits into a packet.
        return partiallySignTransaction([keyPair], unsigned as never);
      }),
    );
  };
  const signTransactions: TransactionPartialSigner['signTransactions'] = async (transactions) =>
    (await key).signTransactions(transactions);
  const signMessages: MessagePartialSigner['signMessages'] = async (messages) =>
    (await key).signMessages(messages);
  return {
    'a modifying signer': { address: owner, modifyAndSignTransactions },
    'a transaction signer': { address: owner, signTransactions },
    'a message signer': { address: owner, signMessages },
  };
}

describe('signers of kit', () => {
  it.each(['a modifying signer', 'a transaction signer', 'a message signer'] as const)(
    'pay and swap with %s',
    async (form) => {
      const wallet = await sandbox.createWallet({ SOL: '1' });
      const { client } = await payerOn(
        sandbox,
        {},
        { signer: kitForms(wallet)[form], autoSwap: true },
      );
      expect((await client.fetch(usdc())).status).toBe(200);
    },
  );

  it('pay with a KeyPairSigner as it is', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(wallet.secretKey));
    const { client } = await payerOn(sandbox, {}, { signer });
    expect((await client.fetch(usdc())).status).toBe(200);
  });
});

describe('a wallet that adds guards', () => {
  it.each([
    ['no guards', 0],
    ['one guard, as Phantom did', 1],
    ['two guards, as Solflare does', 2],
    ['three guards', 3],
  ])('pays with %s after the transfer, and pays nothing else', async (_, after) => {
    const payer = await payerWith((wallet) => (message) => guarded(message, wallet, { after }), {
      USDC: '1',
      SOL: '0.1',
    });
    const before = await sandbox.balance(sandbox.merchant, 'USDC');
    const response = await payer.client.fetch(usdc());
    expect(response.status).toBe(200);
    expect((await sandbox.balance(sandbox.merchant, 'USDC')) - before).toBe(10_000n);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(990_000n);
    expect(await sandbox.balance(payer.address, 'SOL')).toBe(100_000_000n);
    const served = sandbox.controls.api.served.at(-1);
    const header = JSON.parse(Buffer.from(served?.paymentHeader ?? '', 'base64').toString()) as {
      payload: { transaction: string };
    };
    const presented = Buffer.from(header.payload.transaction, 'base64').toString('hex');
    // The client presented the message that the wallet signed.
    expect(presented.endsWith(Buffer.from(payer.messages.at(-1) ?? []).toString('hex'))).toBe(true);
  });

  it('swaps with guards anywhere, and the client sends the bytes that it signed', async () => {
    const payer = await payerWith(
      (wallet) =>
        (message, { kind }) =>
          kind === 'swap' ? guarded(message, wallet, { before: 2, after: 2 }) : message,
      { SOL: '1' },
    );
    let swapped: string | undefined;
    payer.client.on('swap.signed', ({ signature }) => (swapped = signature));
    expect((await payer.client.fetch(usdc())).status).toBe(200);
    const programs = await programsOf(swapped);
    expect(programs.filter((program) => program === LIGHTHOUSE)).toHaveLength(4);
  });

  it.each([
    ['before the transfer, as Phantom does', { before: 3, after: 1 }],
    ['in a number that every facilitator refuses', { after: 4 }],
  ])('causes signing_failed before its payment is presented with guards %s', async (_, where) => {
    const payer = await payerWith((wallet) => (message) => guarded(message, wallet, where));
    const { length } = sandbox.controls.api.served;
    const error = await failureOf(payer.client.fetch(usdc()), 'signing_failed');
    expect(error).toMatchObject({
      funds: 'untouched',
      details: { address: payer.address, rule: 'wallet_form' },
    });
    expect(error.message).toContain('Nothing was presented.');
    expect(sandbox.controls.api.served).toHaveLength(length);
    expect(await paidOf(payer.client)).toBe('0');
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(1_000_000n);
  });

  it.each<[string, string, (wallet: ReturnType<typeof address>) => Change]>([
    [
      'writes to an account of the guards',
      'wallet_memory_write',
      (wallet) => (message) =>
        insert(message, message.instructions.length, guardOn(wallet, 'MemoryWrite')),
    ],
    [
      'adds a memo',
      'wallet_instructions',
      (wallet) => (message) =>
        insert(message, message.instructions.length, {
          program: address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'),
          accounts: [wallet],
          data: Uint8Array.of(0x61),
        }),
    ],
    [
      'takes a newer blockhash',
      'wallet_blockhash',
      () => (message) => ({ ...message, lifetimeToken: sandbox.merchant }),
    ],
  ])('is refused if it %s', async (_, rule, change) => {
    const payer = await payerWith(change);
    const error = await failureOf(payer.client.fetch(usdc()), 'signing_failed');
    expect(error).toMatchObject({ funds: 'untouched', details: { rule } });
    expect(error.message).toContain(`(rule ${rule})`);
    expect(await sandbox.balance(payer.address, 'USDC')).toBe(1_000_000n);
  });
});
