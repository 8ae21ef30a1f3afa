import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  compressTransactionMessageUsingAddressLookupTables,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64Decoder,
  getTransactionEncoder,
  mainnet,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import type {
  Address,
  AddressesByLookupTableAddress,
  Base64EncodedWireTransaction,
  Instruction,
  KeyPairSigner,
} from '@solana/kit';
import { Connection, VersionedTransaction } from '@solana/web3.js';
import type { ParsedInnerInstruction, PublicKey } from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { associatedTokenAccount } from '../../adapters/sandbox/chain/token.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  SANDBOX_MINTS,
  TOKEN_PROGRAM,
} from '../../adapters/sandbox/mints.js';
import { startNode } from '../../adapters/sandbox/node/index.js';
import type { SandboxNode } from '../../adapters/sandbox/node/index.js';
import {
  configData,
  CONFIG_SIZE,
  MODE,
  POOL_AUTHORITY,
  routeV2,
  TARGET,
  VENUE,
} from '../../adapters/sandbox/venue/venue.mjs';

const ATTACKER = address('AttackerAttackerAttackerAttackerAttacker111');
const CONFIG = address('ConfigConfigConfigConfigConfigConfigConfig11');
const SYSTEM = address('11111111111111111111111111111111');
const COMPUTE_BUDGET = address('ComputeBudget111111111111111111111111111111');
const { USDC, PYUSD, BONK } = SANDBOX_MINTS;

let node: SandboxNode;
let connection: Connection;
let user: KeyPairSigner;
let source: Address;
let destination: Address;
let vaultIn: Address;
let vaultOut: Address;

beforeEach(async () => {
  node = await startNode({ slotMs: 0, confirmationMs: 0 });
  connection = new Connection(node.url, { commitment: 'confirmed', disableRetryOnRateLimit: true });
  user = await generateKeyPairSigner();
  node.chain.fundSol(user.address, 1_000_000_000n);
  node.chain.fundSol(ATTACKER, 1_000_000_000n);
  source = await node.chain.fundToken(user.address, BONK, 100n);
  destination = await node.chain.fundToken(user.address, USDC, 0n);
  vaultIn = await node.chain.fundToken(POOL_AUTHORITY, BONK, 0n);
  vaultOut = await node.chain.fundToken(POOL_AUTHORITY, USDC, 200n);
});

afterEach(() => node.close());

/** Swaps 100 units of BONK for 200 of USDC, on a venue that also does what `modes` say. */
function swap(
  modes: readonly number[] = [],
  settings: { target?: number; amount?: bigint } = {},
): Instruction {
  const data = configData({ modes: [...modes], attacker: ATTACKER, ...settings });
  node.chain.setAccount(CONFIG, {
    lamports: node.chain.rent(BigInt(CONFIG_SIZE)),
    data,
    owner: VENUE,
    executable: false,
  });
  const tokenProgram = BONK.tokenProgram;
  return routeV2({
    ...{
      user: user.address,
      source,
      destination,
      sourceMint: BONK.address,
      destinationMint: USDC.address,
    },
    ...{
      sourceProgram: tokenProgram,
      destinationProgram: tokenProgram,
      vaultIn,
      vaultOut,
      inAmount: 100n,
      quotedOutAmount: 200n,
    },
    ...{ config: CONFIG, extra: [ATTACKER, { address: SYSTEM, role: AccountRole.READONLY }] },
  });
}

/** Creates a token account of a payee through the associated token program. */
function creationFor(payee: Address, created: Address): Instruction {
  return {
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    accounts: [
      { address: user.address, role: AccountRole.WRITABLE_SIGNER },
      { address: created, role: AccountRole.WRITABLE },
      ...[payee, PYUSD.address, SYSTEM, PYUSD.tokenProgram].map((key) => ({
        address: key,
        role: AccountRole.READONLY,
      })),
    ],
    data: Uint8Array.of(1),
  };
}

async function compile(
  instructions: readonly Instruction[],
  tables: AddressesByLookupTableAddress = {},
): Promise<Uint8Array> {
  const { value: lifetime } = await createSolanaRpc(mainnet(node.url))
    .getLatestBlockhash({ commitment: 'confirmed' })
    .send();
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (m) => setTransactionMessageFeePayerSigner(user, m),
    (m) => appendTransactionMessageInstructions(instructions, m),
    (m) => compressTransactionMessageUsingAddressLookupTables(m, tables),
    (m) => setTransactionMessageLifetimeUsingBlockhash(lifetime, m),
  );
  return new Uint8Array(
    getTransactionEncoder().encode(await signTransactionMessageWithSigners(message)),
  );
}

/** Returns the inner instructions that both clients read, after a check that they are equal. */
async function inner(bytes: Uint8Array): Promise<readonly ParsedInnerInstruction[]> {
  const { value } = await connection.simulateTransaction(VersionedTransaction.deserialize(bytes), {
    innerInstructions: true,
  });
  expect(value.err).toBeNull();
  const rpc = createSolanaRpc(mainnet(node.url));
  const wire = getBase64Decoder().decode(bytes) as Base64EncodedWireTransaction;
  const { value: kit } = await rpc
    .simulateTransaction(wire, { encoding: 'base64', innerInstructions: true })
    .send();
  const plain = (shown: unknown): unknown =>
    JSON.parse(
      JSON.stringify(shown, (_, value: unknown) =>
        typeof value === 'bigint' ? Number(value) : value,
      ),
    );
  expect(plain(kit.innerInstructions)).toEqual(plain(value.innerInstructions));
  return value.innerInstructions ?? [];
}

const program = (key: PublicKey | undefined) => key?.toBase58();

describe('simulateTransaction', () => {
  test('parses the transfers of a swap, and leaves unknown calls as bytes', async () => {
    const [only, ...further] = await inner(await compile([swap()]));
    expect(further).toEqual([]);
    expect(only?.index).toBe(0);
    const [payIn, payOut, event] = only?.instructions ?? [];
    expect(payIn).toMatchObject({
      ...{ program: 'spl-token', stackHeight: 2 },
      parsed: {
        type: 'transferChecked',
        info: {
          source,
          mint: BONK.address,
          destination: vaultIn,
          authority: user.address,
          tokenAmount: { amount: '100', decimals: 5 },
        },
      },
    });
    expect(program(payIn?.programId)).toBe(TOKEN_PROGRAM);
    expect(payOut).toMatchObject({
      parsed: {
        type: 'transferChecked',
        info: { source: vaultOut, destination, authority: POOL_AUTHORITY },
      },
    });
    expect(program(event?.programId)).toBe(VENUE);
    expect(event).toMatchObject({ data: expect.any(String), stackHeight: 2 });
    expect((event as { accounts: PublicKey[] }).accounts.map(program)).toEqual([
      'D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf',
    ]);
  });

  test.each<[string, number, { target?: number; amount?: bigint }, () => object]>([
    [
      'an approval',
      MODE.approve,
      {},
      () => ({ type: 'approve', info: { source, delegate: ATTACKER, owner: user.address } }),
    ],
    [
      'a change of owner',
      MODE.setOwner,
      { target: TARGET.source },
      () => ({
        type: 'setAuthority',
        info: {
          account: source,
          authorityType: 'accountOwner',
          newAuthority: ATTACKER,
          authority: user.address,
        },
      }),
    ],
    [
      'a change of close authority',
      MODE.setCloseAuthority,
      {},
      () => ({
        type: 'setAuthority',
        info: { account: destination, authorityType: 'closeAccount', newAuthority: ATTACKER },
      }),
    ],
    [
      'the closing of an account',
      MODE.closeAccount,
      {},
      () => ({
        type: 'closeAccount',
        info: { account: source, destination: ATTACKER, owner: user.address },
      }),
    ],
    [
      'an assignment of the wallet',
      MODE.assignWallet,
      {},
      () => ({ type: 'assign', info: { account: user.address, owner: ATTACKER } }),
    ],
    [
      'a transfer of SOL',
      MODE.takeSol,
      { amount: 123_456n },
      () => ({
        type: 'transfer',
        info: { source: user.address, destination: ATTACKER, lamports: 123_456 },
      }),
    ],
  ])('shows %s in its parsed form', async (_, mode, settings, expected) => {
    const [shown] = await inner(await compile([swap([mode], settings)]));
    const parsed = shown?.instructions.flatMap((call) =>
      'parsed' in call ? [call.parsed as unknown] : [],
    );
    expect(parsed).toHaveLength(3);
    expect(parsed?.[2]).toMatchObject(expected());
  });

  test('names the accounts that come from lookup tables', async () => {
    const instruction = swap([MODE.approve]);
    const members = (instruction.accounts ?? [])
      .filter(({ role, address: key }) => role !== AccountRole.READONLY_SIGNER && key !== VENUE)
      .map((meta) => meta.address);
    const table = node.chain.createLookupTable(members);
    const [shown] = await inner(await compile([instruction], { [table]: members }));
    const flat = await inner(await compile([instruction]));
    expect(shown).toEqual(flat[0]);
    expect(shown?.instructions).toHaveLength(4);
  });

  test('numbers top-level instructions, and omits those without inner calls', async () => {
    const payee = (await generateKeyPairSigner()).address;
    const created = await associatedTokenAccount(payee, PYUSD.address, PYUSD.tokenProgram);
    const unitLimit = { programAddress: COMPUTE_BUDGET, data: Uint8Array.of(2, 64, 13, 3, 0) };
    const create = creationFor(payee, created);
    const [creation, swapped, ...further] = await inner(await compile([unitLimit, create, swap()]));
    expect(further).toEqual([]);
    expect([creation?.index, swapped?.index]).toEqual([1, 2]);
    const parsed = creation?.instructions.flatMap((call) =>
      'parsed' in call ? [call.parsed as unknown] : [],
    );
    expect(parsed).toEqual([
      {
        type: 'createAccount',
        info: {
          source: user.address,
          newAccount: created,
          lamports: expect.any(Number),
          space: 187,
          owner: PYUSD.tokenProgram,
        },
      },
      { type: 'initializeImmutableOwner', info: { account: created } },
      { type: 'initializeAccount3', info: { account: created, mint: PYUSD.address, owner: payee } },
    ]);
  });

  test('shows inner instructions as bytes if the control parsesCalls is off', async () => {
    node.controls.parsesCalls = false;
    const [only] = await inner(await compile([swap([MODE.approve])]));
    expect(only?.instructions).toHaveLength(4);
    for (const call of only?.instructions ?? [])
      expect(call).toMatchObject({ data: expect.any(String), accounts: expect.any(Array) });
  });

  test('omits inner instructions unless the request asks for them', async () => {
    const bytes = await compile([swap()]);
    const { value } = await connection.simulateTransaction(VersionedTransaction.deserialize(bytes));
    expect(value.innerInstructions).toBeNull();
  });
});

test('getTransaction parses memos and the creation of accounts too', async () => {
  const payee = (await generateKeyPairSigner()).address;
  const created = await associatedTokenAccount(payee, PYUSD.address, PYUSD.tokenProgram);
  const memo = (data: Uint8Array) => ({
    programAddress: address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'),
    data,
  });
  const bytes = await compile([
    creationFor(payee, created),
    memo(new TextEncoder().encode('order 7')),
  ]);
  const signature = await connection.sendRawTransaction(bytes);
  const landed = await connection.getParsedTransaction(signature, {
    commitment: 'confirmed',
    maxSupportedTransactionVersion: 0,
  });
  expect(landed?.transaction.message.instructions).toMatchObject([
    {
      program: 'spl-associated-token-account',
      parsed: {
        type: 'createIdempotent',
        info: { source: user.address, account: created, wallet: payee, mint: PYUSD.address },
      },
    },
    { program: 'spl-memo', parsed: 'order 7' },
  ]);
});
