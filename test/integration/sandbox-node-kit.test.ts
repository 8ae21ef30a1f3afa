import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  assertIsSendableTransaction,
  assertIsTransactionWithBlockhashLifetime,
  compressTransactionMessageUsingAddressLookupTables,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  fetchAddressesForLookupTables,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  isSolanaError,
  mainnet,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
} from '@solana/kit';
import type {
  Address,
  AddressesByLookupTableAddress,
  Instruction,
  KeyPairSigner,
  RpcMainnet,
  SolanaRpcApiMainnet,
} from '@solana/kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SANDBOX_MINTS } from '../../adapters/sandbox/mints.js';
import { startNode } from '../../adapters/sandbox/node/index.js';
import type { SandboxNode } from '../../adapters/sandbox/node/index.js';
import type { SandboxMint } from '../../adapters/sandbox/types.js';
import {
  configData,
  CONFIG_SIZE,
  MODE,
  POOL_AUTHORITY,
  routeV2,
  VENUE,
} from '../../adapters/sandbox/venue/venue.mjs';

const ATTACKER = address('AttackerAttackerAttackerAttackerAttacker111');
const { SOL, USDC, USDT, PYUSD, BONK } = SANDBOX_MINTS;

const aBigint: unknown = expect.any(BigInt);
const slippageLog: unknown = expect.stringContaining(
  'Error Code: SlippageToleranceExceeded. Error Number: 6001',
);

let node: SandboxNode;
let rpc: RpcMainnet<SolanaRpcApiMainnet>;
let user: KeyPairSigner;

beforeEach(async () => {
  node = await startNode({ slotMs: 50, confirmationMs: 20 });
  rpc = createSolanaRpc(mainnet(node.url));
  user = await generateKeyPairSigner();
  node.chain.fundSol(user.address, 1_000_000_000n);
});

afterEach(() => node.close());

async function sign(
  instructions: readonly Instruction[],
  tables: AddressesByLookupTableAddress = {},
) {
  const { value: lifetime } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (m) => setTransactionMessageFeePayerSigner(user, m),
    (m) => appendTransactionMessageInstructions(instructions, m),
    (m) => compressTransactionMessageUsingAddressLookupTables(m, tables),
    (m) => setTransactionMessageLifetimeUsingBlockhash(lifetime, m),
  );
  return signTransactionMessageWithSigners(message);
}

async function confirm(transaction: Awaited<ReturnType<typeof sign>>) {
  const rpcSubscriptions = createSolanaRpcSubscriptions(mainnet(node.wsUrl));
  assertIsSendableTransaction(transaction);
  assertIsTransactionWithBlockhashLifetime(transaction);
  await sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })(transaction, {
    commitment: 'confirmed',
  });
  return getSignatureFromTransaction(transaction);
}

/** Returns a swap on the venue: the user holds the input, and the pool holds the output. */
async function swapOf(
  input: SandboxMint,
  output: SandboxMint,
  inAmount: bigint,
  quotedOutAmount: bigint,
  config?: Address,
  extra?: Address[],
) {
  const { chain } = node;
  return routeV2({
    user: user.address,
    source: await chain.fundToken(user.address, input, inAmount),
    destination: await chain.fundToken(user.address, output, 0n),
    sourceMint: input.address,
    destinationMint: output.address,
    sourceProgram: input.tokenProgram,
    destinationProgram: output.tokenProgram,
    vaultIn: await chain.fundToken(POOL_AUTHORITY, input, 0n),
    vaultOut: await chain.fundToken(POOL_AUTHORITY, output, quotedOutAmount),
    inAmount,
    quotedOutAmount,
    config,
    extra,
  });
}

describe('a node of the sandbox, through kit', () => {
  test.each([
    ['BONK to USDC', BONK, USDC],
    ['USDT to PYUSD', USDT, PYUSD],
    ['PYUSD to wrapped SOL', PYUSD, SOL],
  ])('swaps %s on the venue in a v0 transaction with a lookup table', async (_, input, output) => {
    const swap = await swapOf(input, output, 5_000_000n, 1_234_567n);
    const members = swap.accounts
      .filter(({ role, address: key }) => role !== AccountRole.READONLY_SIGNER && key !== VENUE)
      .map((meta) => meta.address);
    const table = node.chain.createLookupTable(members);
    const tables = await fetchAddressesForLookupTables([table], rpc);
    expect(tables[table]).toEqual(members);

    const transaction = await sign([swap], tables);
    const signature = await confirm(transaction);
    expect(await node.chain.tokenBalance(user.address, input)).toBe(0n);
    expect(await node.chain.tokenBalance(user.address, output)).toBe(1_234_567n);

    const landed = await rpc
      .getTransaction(signature, {
        commitment: 'confirmed',
        encoding: 'json',
        maxSupportedTransactionVersion: 0,
      })
      .send();
    expect(landed?.meta).toMatchObject({ err: null, fee: 5_000n });
    expect(Number(landed?.version)).toBe(0); // kit reads it as a bigint
    const loaded = landed?.meta?.loadedAddresses;
    expect(loaded?.writable).toHaveLength(4);
    const keys = [
      ...(landed?.transaction.message.accountKeys ?? []),
      ...(loaded?.writable ?? []),
      ...(loaded?.readonly ?? []),
    ];
    const changed = landed?.meta?.postTokenBalances?.filter(({ owner }) => owner === user.address);
    expect(changed?.map(({ mint, uiTokenAmount }) => [mint, uiTokenAmount.amount]).sort()).toEqual(
      [
        [input.address, '0'],
        [output.address, '1234567'],
      ].sort(),
    );
    for (const { accountIndex } of changed ?? [])
      expect(swap.accounts.map((meta) => meta.address)).toContain(keys[accountIndex]);
    expect(landed?.meta?.returnData?.programId).toBe(VENUE);
    const inner = landed?.meta?.innerInstructions?.[0]?.instructions ?? [];
    expect(inner.map(({ programIdIndex }) => keys[programIdIndex])).toEqual([
      input.tokenProgram,
      output.tokenProgram,
      VENUE,
    ]);
  });

  test('shows a hostile swap in a simulation', async () => {
    const config = ATTACKER;
    const data = configData({ modes: [MODE.approve], attacker: ATTACKER });
    node.chain.setAccount(config, {
      lamports: node.chain.rent(BigInt(CONFIG_SIZE)),
      data,
      owner: VENUE,
      executable: false,
    });
    const swap = await swapOf(BONK, USDC, 100n, 200n, config);
    const source = swap.accounts[1]?.address ?? ATTACKER;
    const transaction = await sign([swap]);
    const { value } = await rpc
      .simulateTransaction(getBase64EncodedWireTransaction(transaction), {
        encoding: 'base64',
        sigVerify: true,
        innerInstructions: true,
        accounts: { encoding: 'jsonParsed', addresses: [source] },
      })
      .send();
    expect(value.err).toBeNull();
    expect(value.innerInstructions[0]?.instructions).toHaveLength(4);
    expect(value.accounts[0]?.data).toMatchObject({
      parsed: { info: { delegate: ATTACKER, tokenAmount: { amount: '0' } } },
    });
    expect(
      (await rpc.getAccountInfo(source, { encoding: 'jsonParsed' }).send()).value?.data,
    ).not.toHaveProperty('parsed.info.delegate');
  });

  test('reports a refusal of the venue in the words of Jupiter', async () => {
    const swap = await swapOf(BONK, USDC, 100n, 200n);
    node.chain.setAccount(swap.accounts[11]?.address ?? ATTACKER, {
      ...accountOf(swap.accounts[11]?.address),
      data: emptied(swap.accounts[11]?.address),
    });
    const refused: unknown = await rpc
      .sendTransaction(getBase64EncodedWireTransaction(await sign([swap])), { encoding: 'base64' })
      .send()
      .catch((error: unknown) => error);
    expect(
      isSolanaError(
        refused,
        SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
      ),
    ).toBe(true);
    expect(refused).toMatchObject({
      context: { logs: expect.arrayContaining([slippageLog]) as unknown },
      cause: { context: { code: 6001, index: 0 } },
    });
  });

  test('returns a v0 transaction only to callers that can read it', async () => {
    const signature = await confirm(await sign([await swapOf(BONK, USDC, 100n, 200n)]));
    await expect(
      rpc.getTransaction(signature, { commitment: 'confirmed', encoding: 'json' }).send(),
    ).rejects.toMatchObject({
      context: { __code: -32015 },
    });
  });

  test('refuses a request for a slot that the node has not reached', async () => {
    const slot = await rpc.getSlot({ commitment: 'confirmed' }).send();
    await expect(
      rpc
        .getBalance(user.address, { commitment: 'confirmed', minContextSlot: slot + 1_000n })
        .send(),
    ).rejects.toMatchObject({
      context: { __code: -32016, contextSlot: aBigint },
    });
    expect(
      (await rpc.getBalance(user.address, { commitment: 'confirmed', minContextSlot: slot }).send())
        .value,
    ).toBe(1_000_000_000n);
    // A finalized block is 32 slots behind.
    await expect(
      rpc.getBalance(user.address, { commitment: 'finalized', minContextSlot: slot }).send(),
    ).rejects.toThrow();
  });

  test('filters the accounts of a program', async () => {
    const account = await node.chain.fundToken(user.address, USDC, 1n);
    const found = await rpc
      .getProgramAccounts(USDC.tokenProgram, {
        encoding: 'base64',
        dataSlice: { offset: 64, length: 8 },
        filters: [
          { dataSize: 165n },
          { memcmp: { offset: 32n, encoding: 'base58', bytes: user.address as never } },
        ],
      })
      .send();
    expect(found).toMatchObject([
      { pubkey: account, account: { data: ['AQAAAAAAAAA=', 'base64'], space: 165n } },
    ]);
  });
});

function accountOf(key: Address | undefined) {
  const account = key && node.chain.account(key);
  if (!account) throw new Error('The vault exists.');
  return account;
}

/** Returns the data of the account with an amount of zero. */
function emptied(key: Address | undefined): Uint8Array {
  return accountOf(key).data.map((byte, index) => (index >= 64 && index < 72 ? 0 : byte));
}
