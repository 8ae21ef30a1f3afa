import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAccount,
  getAssociatedTokenAddressSync,
  getMint,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  AddressLookupTableProgram,
  ComputeBudgetProgram,
  Connection,
  Keypair,
  PublicKey,
  SendTransactionError,
  SYSVAR_SLOT_HASHES_PUBKEY,
  SystemProgram,
  Transaction,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import type { TokenBalance } from '@solana/web3.js';
import { address } from '@solana/kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SANDBOX_MINTS } from '../../adapters/sandbox/mints.js';
import { endSocket } from '../helpers/web3-socket.js';
import { startNode } from '../../adapters/sandbox/node/index.js';
import type { SandboxNode } from '../../adapters/sandbox/node/index.js';

const MEMO = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const USDC = new PublicKey(SANDBOX_MINTS.USDC.address);
const PYUSD = new PublicKey(SANDBOX_MINTS.PYUSD.address);
const SOL = 1_000_000_000;

/** Fields that web3.js leaves untyped. */
interface ParsedToken {
  readonly mint: string;
  readonly tokenAmount: { readonly uiAmountString: string };
}

let node: SandboxNode;
let connection: Connection;
let payer: Keypair;
let payee: PublicKey;

const addressOf = (key: PublicKey) => address(key.toBase58());

async function signed(...instructions: TransactionInstruction[]): Promise<VersionedTransaction> {
  const { blockhash } = await connection.getLatestBlockhash('confirmed');
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer]);
  return transaction;
}

const transfer = (lamports: number) =>
  SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: payee, lamports });
const memo = (text: string) =>
  new TransactionInstruction({ programId: MEMO, keys: [], data: Buffer.from(text) });

beforeEach(async () => {
  // The clock stands still, and transactions are confirmed as they are sent, unless a test
  // changes that.
  node = await startNode({ slotMs: 0, confirmationMs: 0 });
  connection = new Connection(node.url, { commitment: 'confirmed', disableRetryOnRateLimit: true });
  payer = Keypair.generate();
  payee = Keypair.generate().publicKey;
  node.chain.fundSol(addressOf(payer.publicKey), BigInt(SOL));
});

afterEach(async () => {
  endSocket(connection);
  await node.close();
});

describe('a node of the sandbox, through web3.js', () => {
  test('lands a transfer, confirms it over the WebSocket, and returns its details', async () => {
    node.controls.slotMs = 50;
    node.controls.confirmationMs = 100;
    const lifetime = await connection.getLatestBlockhash();
    const transaction = new Transaction({ feePayer: payer.publicKey, ...lifetime }).add(
      transfer(SOL / 10),
      memo('hello'),
      memo('é'),
    );
    transaction.sign(payer);
    const signature = await connection.sendRawTransaction(transaction.serialize());
    expect((await connection.confirmTransaction({ signature, ...lifetime })).value).toEqual({
      err: null,
    });
    expect(node.controls.calls({ method: 'signatureSubscribe' })).toBe(1);
    expect(await connection.getBalance(payee)).toBe(SOL / 10);

    const landed = await connection.getTransaction(signature, {
      maxSupportedTransactionVersion: 0,
    });
    expect(landed?.version).toBe('legacy');
    expect(landed?.meta).toMatchObject({
      err: null,
      fee: 5_000,
      preBalances: [SOL, 0, 1, expect.any(Number)],
    });
    expect(landed?.meta?.postBalances.slice(0, 2)).toEqual([SOL - SOL / 10 - 5_000, SOL / 10]);
    expect(landed?.meta?.logMessages).toContain('Program log: hello');

    const [entry, ...older] = await connection.getSignaturesForAddress(payee);
    expect(older).toEqual([]);
    expect(entry).toMatchObject({
      signature,
      err: null,
      memo: '[5] hello; [2] é',
      confirmationStatus: 'confirmed',
      slot: landed?.slot,
    });
  });

  test('creates a lookup table of a recent slot, and shows the recent slots', async () => {
    node.controls.warp(3);
    const recentSlot = (await connection.getSlot()) - 1;
    const of = { authority: payer.publicKey, payer: payer.publicKey };
    const [create, table] = AddressLookupTableProgram.createLookupTable({ ...of, recentSlot });
    await connection.sendTransaction(await signed(create));
    expect((await connection.getAddressLookupTable(table)).value?.state.authority).toEqual(
      payer.publicKey,
    );

    node.controls.warp(1);
    const hashes = await connection.getAccountInfo(SYSVAR_SLOT_HASHES_PUBKEY);
    // The slot of the newest entry stands after the number of entries.
    expect(hashes?.data.readBigUInt64LE(8)).toBe(BigInt(recentSlot + 1));
    const found = await connection.getProgramAccounts(hashes?.owner ?? PublicKey.default);
    expect(
      found.find(({ pubkey }) => pubkey.equals(SYSVAR_SLOT_HASHES_PUBKEY))?.account.data,
    ).toEqual(hashes?.data);
  });

  test('answers sendTransaction before the transaction lands', async () => {
    node.controls.confirmationMs = 1_000_000;
    const signature = await connection.sendTransaction(await signed(transfer(SOL / 10)));
    expect((await connection.getSignatureStatus(signature)).value).toBeNull();
    expect(await connection.getBalance(payee)).toBe(0);
  });

  test('shows a transaction as processed, confirmed and finalized', async () => {
    node.controls.confirmationMs = 40;
    const levels: string[] = [];
    node.chain.listen((event) => event.kind === 'transaction' && levels.push(event.level));
    const signature = await connection.sendTransaction(await signed(transfer(SOL / 10)));
    await expect
      .poll(() => connection.getSignatureStatus(signature))
      .toMatchObject({ value: { confirmationStatus: 'confirmed' } });
    expect(levels).toEqual(['processed', 'confirmed']);
    expect(
      await connection.getTransaction(signature, {
        commitment: 'finalized',
        maxSupportedTransactionVersion: 0,
      }),
    ).toBeNull();
    node.controls.warp(31);
    expect((await connection.getSignatureStatus(signature)).value).toMatchObject({
      confirmations: 31,
      confirmationStatus: 'confirmed',
    });
    node.controls.warp(1);
    expect((await connection.getSignatureStatus(signature)).value).toMatchObject({
      confirmations: null,
      confirmationStatus: 'finalized',
    });
    expect(
      await connection.getTransaction(signature, {
        commitment: 'finalized',
        maxSupportedTransactionVersion: 0,
      }),
    ).not.toBeNull();
  });

  test('simulates unsigned bytes with a replaced blockhash, and returns accounts', async () => {
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: Keypair.generate().publicKey.toBase58(),
      instructions: [transfer(SOL / 10)],
    }).compileToV0Message();
    const unsigned = new VersionedTransaction(message);
    const accounts = {
      encoding: 'base64' as const,
      addresses: [payee.toBase58(), Keypair.generate().publicKey.toBase58()],
    };

    const good = await connection.simulateTransaction(unsigned, {
      replaceRecentBlockhash: true,
      sigVerify: false,
      accounts,
    });
    expect(good.value.err).toBeNull();
    expect(good.value.unitsConsumed).toBe(150);
    expect(good.value.accounts?.map((account) => account?.lamports)).toEqual([SOL / 10, undefined]);
    expect(await connection.getBalance(payee)).toBe(0);

    const stale = await connection.simulateTransaction(unsigned, { sigVerify: false });
    expect(stale.value).toMatchObject({ err: 'BlockhashNotFound', logs: [], unitsConsumed: 0 });
    await expect(
      connection.simulateTransaction(await signed(transfer(1)), {
        sigVerify: true,
        replaceRecentBlockhash: true,
      }),
    ).rejects.toThrow('sigVerify may not be used with replaceRecentBlockhash');
  });

  test('lists the token accounts of an owner in both programs, readable by spl-token', async () => {
    await node.chain.fundToken(addressOf(payer.publicKey), SANDBOX_MINTS.USDC, 2_500_000n);
    await node.chain.fundToken(addressOf(payer.publicKey), SANDBOX_MINTS.BONK, 7n);
    const pyusd = new PublicKey(
      await node.chain.fundToken(addressOf(payer.publicKey), SANDBOX_MINTS.PYUSD, 9n),
    );
    const wrapped = new PublicKey(
      await node.chain.fundToken(addressOf(payer.publicKey), SANDBOX_MINTS.SOL, 11n),
    );

    const classic = await connection.getParsedTokenAccountsByOwner(payer.publicKey, {
      programId: TOKEN_PROGRAM_ID,
    });
    const balances = classic.value.map(
      ({ account: { data } }) => (data as { parsed: { info: ParsedToken } }).parsed.info,
    );
    expect(
      Object.fromEntries(
        balances.map(({ mint, tokenAmount }) => [mint, tokenAmount.uiAmountString]),
      ),
    ).toEqual({
      [SANDBOX_MINTS.USDC.address]: '2.5',
      [SANDBOX_MINTS.BONK.address]: '0.00007',
      [SANDBOX_MINTS.SOL.address]: '0.000000011',
    });
    const modern = await connection.getTokenAccountsByOwner(payer.publicKey, {
      programId: TOKEN_2022_PROGRAM_ID,
    });
    expect(
      modern.value.map(({ pubkey, account }) => [pubkey.toBase58(), account.data.length]),
    ).toEqual([[pyusd.toBase58(), 187]]);
    const ofMint = await connection.getTokenAccountsByOwner(payer.publicKey, { mint: USDC });
    expect(ofMint.value.map(({ pubkey }) => pubkey)).toEqual([
      getAssociatedTokenAddressSync(USDC, payer.publicKey),
    ]);

    expect((await getAccount(connection, pyusd, 'confirmed', TOKEN_2022_PROGRAM_ID)).amount).toBe(
      9n,
    );
    const native = await getAccount(connection, wrapped);
    expect([native.isNative, native.amount, native.rentExemptReserve]).toEqual([
      true,
      11n,
      2_039_280n,
    ]);
    expect(await connection.getBalance(wrapped)).toBe(2_039_280 + 11);
    expect(await getMint(connection, PYUSD, 'confirmed', TOKEN_2022_PROGRAM_ID)).toMatchObject({
      decimals: 6,
      supply: 9n,
    });
    expect((await connection.getTokenSupply(USDC)).value.amount).toBe('2500000');
    expect((await connection.getTokenAccountBalance(pyusd)).value).toMatchObject({
      amount: '9',
      decimals: 6,
      uiAmountString: '0.000009',
    });
    await expect(
      connection.getTokenAccountsByOwner(payer.publicKey, { mint: payee }),
    ).rejects.toThrow('could not find mint');
  });

  test.each([
    ['Token', SANDBOX_MINTS.USDC, TOKEN_PROGRAM_ID, 165],
    ['Token-2022', SANDBOX_MINTS.PYUSD, TOKEN_2022_PROGRAM_ID, 187],
  ])(
    'creates an account of %s and transfers into it, with balances before and after',
    async (_, mint, program, size) => {
      const mintKey = new PublicKey(mint.address);
      const source = new PublicKey(
        await node.chain.fundToken(addressOf(payer.publicKey), mint, 1_000_000n),
      );
      const target = getAssociatedTokenAddressSync(mintKey, payee, false, program);
      const signature = await connection.sendTransaction(
        await signed(
          createAssociatedTokenAccountIdempotentInstruction(
            payer.publicKey,
            target,
            payee,
            mintKey,
            program,
          ),
          createTransferCheckedInstruction(
            source,
            mintKey,
            target,
            payer.publicKey,
            400_000n,
            6,
            [],
            program,
          ),
        ),
      );
      const landed = await connection.getTransaction(signature, {
        maxSupportedTransactionVersion: 0,
      });
      expect(landed?.meta?.err).toBeNull();
      const keys = landed?.transaction.message.staticAccountKeys.map((key) => key.toBase58()) ?? [];
      const amounts = (balances: readonly TokenBalance[] | null | undefined) =>
        Object.fromEntries(
          (balances ?? []).map(({ accountIndex, uiTokenAmount }) => [
            keys[accountIndex] ?? '',
            uiTokenAmount.amount,
          ]),
        );
      expect(amounts(landed?.meta?.preTokenBalances)).toEqual({ [source.toBase58()]: '1000000' });
      expect(amounts(landed?.meta?.postTokenBalances)).toEqual({
        [source.toBase58()]: '600000',
        [target.toBase58()]: '400000',
      });
      expect(landed?.meta?.postTokenBalances?.[0]).toMatchObject({
        mint: mint.address,
        programId: mint.tokenProgram,
      });
      expect(landed?.meta?.innerInstructions?.[0]?.instructions.length).toBeGreaterThan(0);
      expect((await connection.getAccountInfo(target))?.data.length).toBe(size);
      expect(await node.chain.tokenBalance(addressOf(payee), mint)).toBe(400_000n);
    },
  );

  test('refuses a failing transaction in preflight, and charges it without', async () => {
    const failing = await signed(transfer(2 * SOL));
    const refused: unknown = await connection
      .sendTransaction(failing)
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(SendTransactionError);
    expect(refused).toMatchObject({
      transactionError: {
        message:
          'Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1',
      },
      logs: expect.arrayContaining([
        'Program 11111111111111111111111111111111 failed: custom program error: 0x1',
      ]) as unknown,
    });
    const stingy = SystemProgram.transfer({
      fromPubkey: payer.publicKey,
      toPubkey: payee,
      lamports: 1,
    });
    await expect(connection.sendTransaction(await signed(stingy))).rejects.toThrow(
      'Transaction results in an account (1) with insufficient funds for rent',
    );
    const signature = await connection.sendTransaction(failing, { skipPreflight: true });
    expect((await connection.getSignatureStatus(signature)).value?.err).toEqual({
      InstructionError: [0, { Custom: 1 }],
    });
    expect(await connection.getBalance(payer.publicKey)).toBe(SOL - 5_000);
  });

  test('lands a transaction once, however often it is sent', async () => {
    const transaction = await signed(transfer(SOL / 10));
    const signature = await connection.sendTransaction(transaction);
    await expect(connection.sendTransaction(transaction)).rejects.toThrow(
      'This transaction has already been processed',
    );
    expect(await connection.sendTransaction(transaction, { skipPreflight: true })).toBe(signature);
    expect(await connection.getBalance(payee)).toBe(SOL / 10);
    expect(await connection.getSignaturesForAddress(payee)).toHaveLength(1);
  });

  test('never lands an expired transaction or one with a wrong signature', async () => {
    const late = await signed(transfer(SOL / 10));
    const { lastValidBlockHeight } = await connection.getLatestBlockhash();
    expect((await connection.isBlockhashValid(late.message.recentBlockhash)).value).toBe(true);
    node.controls.warp(150);
    expect(await connection.getBlockHeight()).toBe(lastValidBlockHeight);
    expect((await connection.isBlockhashValid(late.message.recentBlockhash)).value).toBe(true);
    node.controls.warp(1);
    expect((await connection.isBlockhashValid(late.message.recentBlockhash)).value).toBe(false);
    await expect(connection.sendTransaction(late)).rejects.toThrow('Blockhash not found');
    await connection.sendTransaction(late, { skipPreflight: true });

    const forged = await signed(transfer(SOL / 10));
    forged.signatures[0]?.set([1, 2, 3]);
    await expect(connection.sendTransaction(forged)).rejects.toThrow(
      'Transaction signature verification failure',
    );
    await connection.sendTransaction(forged, { skipPreflight: true });
    expect(await connection.getBalance(payee)).toBe(0);
  });

  test('accepts the same bytes again once their fees can be paid', async () => {
    const pauper = Keypair.generate();
    const { blockhash } = await connection.getLatestBlockhash('confirmed');
    const instructions = [
      SystemProgram.transfer({ fromPubkey: pauper.publicKey, toPubkey: payee, lamports: SOL / 10 }),
    ];
    const transaction = new VersionedTransaction(
      new TransactionMessage({
        payerKey: pauper.publicKey,
        recentBlockhash: blockhash,
        instructions,
      }).compileToV0Message(),
    );
    transaction.sign([pauper]);
    await expect(connection.sendTransaction(transaction)).rejects.toThrow(
      'found no record of a prior credit',
    );
    const signature = await connection.sendTransaction(transaction, { skipPreflight: true });
    expect((await connection.getSignatureStatus(signature)).value).toBeNull();
    node.chain.fundSol(addressOf(pauper.publicKey), BigInt(SOL));
    expect(await connection.sendTransaction(transaction)).toBe(signature);
    expect(await connection.getBalance(payee)).toBe(SOL / 10);
  });

  test('drops a transaction that expires on its way', async () => {
    node.controls.confirmationMs = 40;
    node.controls.intercept = (method, _, next) => {
      const answer = next();
      if (method === 'sendTransaction') node.controls.warp();
      return answer;
    };
    const lifetime = await connection.getLatestBlockhash('confirmed');
    const signature = await connection.sendTransaction(await signed(transfer(SOL / 10)));
    await expect(connection.confirmTransaction({ signature, ...lifetime })).rejects.toThrow(
      'block height exceeded',
    );
    expect((await connection.getSignatureStatus(signature)).value).toBeNull();
  });

  test('charges the compute unit price, and predicts and remembers the fee', async () => {
    const message = (
      await signed(
        ComputeBudgetProgram.setComputeUnitLimit({ units: 10_000 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 50_001 }),
        transfer(SOL / 10),
      )
    ).message;
    expect((await connection.getFeeForMessage(message)).value).toBe(5_501);
    const transaction = new VersionedTransaction(message);
    transaction.sign([payer]);
    await connection.sendTransaction(transaction);
    expect(await connection.getBalance(payer.publicKey)).toBe(SOL - SOL / 10 - 5_501);
    const fees = await connection.getRecentPrioritizationFees({ lockedWritableAccounts: [payee] });
    expect(fees).toHaveLength(150);
    expect(fees.filter(({ prioritizationFee }) => prioritizationFee > 0)).toEqual([
      { slot: Number(node.chain.slot), prioritizationFee: 50_001 },
    ]);
  });

  test('gives each airdrop a transaction of its own, also equal airdrops', async () => {
    const signatures = await Promise.all([
      connection.requestAirdrop(payee, SOL),
      connection.requestAirdrop(payee, SOL),
    ]);
    expect(new Set(signatures).size).toBe(2);
    expect(await connection.getBalance(payee)).toBe(2 * SOL);
    expect(
      (await connection.getParsedTransaction(signatures[0]))?.transaction.message.accountKeys[1],
    ).toMatchObject({
      pubkey: payee,
      signer: false,
      writable: true,
    });
  });

  test('notifies of changed accounts and new slots', async () => {
    const changed = new Promise<number>((resolve) => {
      connection.onAccountChange(payee, ({ lamports }) => resolve(lamports), {
        commitment: 'confirmed',
      });
    });
    const slot = new Promise<number>((resolve) => {
      connection.onSlotChange((info) => resolve(info.slot - info.parent));
    });
    // web3.js does not acknowledge subscriptions, so the test reads the count of the node.
    await expect
      .poll(
        () =>
          node.controls.calls({ method: 'accountSubscribe' }) +
          node.controls.calls({ method: 'slotSubscribe' }),
      )
      .toBe(2);
    node.controls.warp(1);
    await connection.sendTransaction(await signed(transfer(SOL / 10)));
    expect(await changed).toBe(SOL / 10);
    expect(await slot).toBe(1);
  });

  test('has the identity and the rents of mainnet', async () => {
    expect(await connection.getGenesisHash()).toBe('5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d');
    expect(await connection.getMinimumBalanceForRentExemption(165)).toBe(2_039_280);
    const info = await connection.getEpochInfo('processed');
    expect(info.absoluteSlot).toBe(info.epoch * info.slotsInEpoch + info.slotIndex);
    expect(info.blockHeight).toBeLessThan(info.absoluteSlot);
    expect((await connection.getVersion())['solana-core']).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
