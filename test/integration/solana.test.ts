import { address } from '@solana/kit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startNode } from '../../adapters/sandbox/node/index.js';
import type { NodeOptions, SandboxNode } from '../../adapters/sandbox/node/index.js';
import { SANDBOX_MINTS } from '../../adapters/sandbox/mints.js';
import { SOLANA_MAINNET, TOKEN_2022_PROGRAM } from '../../src/network.js';
import { LOOKUP_TABLE_PROGRAM, SYSTEM_PROGRAM } from '../../src/solana/programs.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { associatedTokenAddress } from '../../src/solana/tokens/accounts.js';
import { decodeMint, decodeTokenAccount } from '../../src/solana/tokens/decode.js';
import { addressBytes, addressOf } from '../../src/solana/address.js';
import { landTransaction } from '../../src/solana/transactions/confirm.js';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  memo,
  transferChecked,
} from '../../src/solana/transactions/instructions.js';
import {
  closeTokenAccount,
  createAssociatedTokenAccount,
  dropCloseAuthority,
  revoke,
  syncNative,
  transferLamports,
} from '../../src/solana/transactions/swap-instructions.js';
import { createSeedSigner } from '../../src/solana/keys.js';
import type { LandedTransaction, Rpc } from '../../src/solana/rpc/rpc.js';
import { readTables } from '../../src/solana/transactions/tables.js';
import { compileMessage } from '../../src/solana/transactions/compile.js';
import {
  assembleTransaction,
  decodeTransaction,
  firstSignature,
} from '../../src/solana/transactions/transaction.js';
import { lookBackAt } from '../helpers/look-back.js';
import type { Instruction, LookupTable } from '../../src/solana/types.js';

const { USDC, SOL, PYUSD } = SANDBOX_MINTS;
const signer = createSeedSigner(new Uint8Array(32).fill(42));
const payee = createSeedSigner(new Uint8Array(32).fill(43)).address;
const usdcAccount = associatedTokenAddress(signer.address, USDC.address, USDC.tokenProgram);

let node: SandboxNode;
let rpc: Rpc;

async function start(options: NodeOptions): Promise<void> {
  node = await startNode(options);
  rpc = connectRpc({ urls: [node.url], wsUrl: node.wsUrl, timeoutMs: 5_000 });
  node.chain.fundSol(address(signer.address), 1_000_000_000n);
}

afterEach(async () => {
  rpc.close();
  await node.close();
});

async function sign(
  instructions: readonly Instruction[],
  lookupTables: readonly LookupTable[] = [],
) {
  const { blockhash, lastValidBlockHeight } = await rpc.latestBlockhash();
  const message = compileMessage({
    feePayer: signer.address,
    instructions,
    blockhash,
    lookupTables,
  });
  const intent = {
    kind: 'payment',
    network: SOLANA_MAINNET,
    mint: USDC.address,
    amount: '1',
    payTo: payee,
    url: 'u',
  } as const;
  const bytes = assembleTransaction(
    message,
    new Map([[signer.address, await signer.signMessage(message, intent)]]),
  );
  return { bytes, lastValidBlockHeight };
}

const pay = (lamports: bigint) => transferLamports({ from: signer.address, to: payee, lamports });
const land = (signed: { bytes: Uint8Array; lastValidBlockHeight: bigint }, signal?: AbortSignal) =>
  landTransaction({
    rpc,
    runtime: systemRuntime,
    resendMs: 100,
    lookBack: lookBackAt(rpc, signed.bytes),
    ...signed,
    signal,
  });
const landedAs = async (signature: string): Promise<LandedTransaction> => {
  const landed = await rpc.transaction(signature);
  if (landed === null || landed === 'newer') throw new Error(`${signature} is not there`);
  return landed;
};
const balance = () => node.chain.account(address(payee))?.lamports ?? 0n;

describe('connectRpc on a real chain', () => {
  beforeEach(() => start({ slotMs: 20, confirmationMs: 0 }));

  it('reads mints, token accounts and the network', async () => {
    await node.chain.fundToken(address(signer.address), USDC, 5_000_000n);
    await node.chain.fundToken(address(signer.address), PYUSD, 7n);
    const { accounts } = await rpc.accounts([USDC.address, PYUSD.address, usdcAccount, payee]);
    expect(accounts[3]).toBeNull();
    expect(accounts[0] && decodeMint(accounts[0])).toMatchObject({
      decimals: 6,
      tokenProgram: USDC.tokenProgram,
      transferFeeBps: 0,
    });
    expect(accounts[1] && decodeMint(accounts[1])).toMatchObject({
      decimals: 6,
      tokenProgram: TOKEN_2022_PROGRAM,
    });
    expect(accounts[2] && decodeTokenAccount(accounts[2])).toMatchObject({
      mint: USDC.address,
      owner: signer.address,
      amount: 5_000_000n,
    });
    const held = await rpc.tokenAccounts(signer.address);
    expect(held.accounts.map(({ account }) => decodeTokenAccount(account)?.amount).sort()).toEqual([
      5_000_000n,
      7n,
    ]);
    expect(`solana:${(await rpc.genesisHash()).slice(0, 32)}`).toBe(SOLANA_MAINNET);
    expect(await rpc.rent(165)).toBeGreaterThan(0n);
    const [final, newest] = [await rpc.tip('finalized'), await rpc.tip('confirmed')];
    expect(newest.slot - final.slot).toBeGreaterThanOrEqual(32);
    expect(newest.height - final.height).toBeGreaterThanOrEqual(32n);
    expect(await rpc.firstSlot()).toBeLessThan(final.slot);
    const { blockhash } = await rpc.latestBlockhash();
    expect(await rpc.isBlockhashValid(blockhash)).toMatchObject({ valid: true });
    expect(await rpc.isBlockhashValid(payee)).toMatchObject({ valid: false });
    expect(await rpc.priorityFees([usdcAccount])).toBeInstanceOf(Array);
  });

  it('simulates without signatures, and returns the accounts after it', async () => {
    const message = compileMessage({
      feePayer: signer.address,
      instructions: [pay(10_000_000n)],
      blockhash: addressOf(new Uint8Array(32).fill(9)),
    });
    const done = await rpc.simulate(assembleTransaction(message, new Map()), [payee]);
    expect(done).toMatchObject({ error: null, accounts: [{ lamports: 10_000_000n }], inner: [] });
    expect(done.unitsConsumed).toBeGreaterThan(0n);
    const tooMuch = compileMessage({
      feePayer: signer.address,
      instructions: [pay(10n ** 15n)],
      blockhash: addressOf(new Uint8Array(32).fill(9)),
    });
    expect((await rpc.simulate(assembleTransaction(tooMuch, new Map()), [payee])).error).toContain(
      'InstructionError',
    );
    expect(balance()).toBe(0n);
  });

  it('returns the inner instructions of a simulated transaction', async () => {
    const { address: mint, tokenProgram } = USDC;
    const created = associatedTokenAddress(payee, mint, tokenProgram);
    const message = compileMessage({
      feePayer: signer.address,
      instructions: [
        pay(10_000_000n),
        createAssociatedTokenAccount({
          payer: signer.address,
          account: created,
          owner: payee,
          mint,
          tokenProgram,
        }),
      ],
      blockhash: addressOf(new Uint8Array(32).fill(9)),
    });
    const { inner = [] } = await rpc.simulate(assembleTransaction(message, new Map()), []);
    expect(inner.map(({ outer, program, name }) => [outer, program, name])).toEqual([
      [1, tokenProgram, 'getAccountDataSize'],
      [1, SYSTEM_PROGRAM, 'createAccount'],
      [1, tokenProgram, 'initializeImmutableOwner'],
      [1, tokenProgram, 'initializeAccount3'],
    ]);
    expect(inner[1]).toMatchObject({
      addresses: [signer.address, created, tokenProgram],
      creates: created,
    });
    expect(inner[3]?.addresses).toEqual([created, mint, payee]);
  });

  it('lands every instruction that the library makes, and reads its effects back', async () => {
    await node.chain.fundToken(address(signer.address), USDC, 5_000_000n);
    const authority = { authority: signer.address, tokenProgram: USDC.tokenProgram };
    const destination = associatedTokenAddress(payee, USDC.address, USDC.tokenProgram);
    const wrapped = associatedTokenAddress(signer.address, SOL.address, SOL.tokenProgram);
    const signed = await sign([
      computeUnitLimit(200_000),
      computeUnitPrice(1_000n),
      createAssociatedTokenAccount({
        payer: signer.address,
        account: destination,
        owner: payee,
        mint: USDC.address,
        tokenProgram: USDC.tokenProgram,
      }),
      transferChecked({
        source: usdcAccount,
        mint: USDC.address,
        destination,
        amount: 1_250_000n,
        decimals: 6,
        ...authority,
      }),
      createAssociatedTokenAccount({
        payer: signer.address,
        account: wrapped,
        owner: signer.address,
        mint: SOL.address,
        tokenProgram: SOL.tokenProgram,
      }),
      transferLamports({ from: signer.address, to: wrapped, lamports: 5_000n }),
      syncNative({ account: wrapped }),
      closeTokenAccount({ account: wrapped, destination: signer.address, ...authority }),
      revoke({ account: usdcAccount, ...authority }),
      dropCloseAuthority({ account: usdcAccount, ...authority }),
      memo('hello'),
    ]);
    const landing = await land(signed);
    expect(landing.outcome).toBe('confirmed');
    const signature = firstSignature(signed.bytes);
    const landed = await landedAs(signature);
    expect(landed).toMatchObject({ error: null, feeLamports: 5_200n, signatures: [signature] });
    expect(landed.tokenChanges).toEqual(
      expect.arrayContaining([
        {
          account: usdcAccount,
          mint: USDC.address,
          before: 5_000_000n,
          after: 3_750_000n,
        },
        { account: destination, mint: USDC.address, before: 0n, after: 1_250_000n },
      ]),
    );
    expect(landed.lamports.get(signer.address)?.before).toBe(1_000_000_000n);
    expect(await rpc.signaturesFor(usdcAccount, { limit: 1 })).toMatchObject([
      { signature, error: null, memo: '[5] hello' },
    ]);
    expect(await rpc.transaction(firstSignature((await sign([pay(2n)])).bytes))).toBeNull();
  });

  it('lands a transaction that reads from a lookup table', async () => {
    const table = addressOf(new Uint8Array(32).fill(77));
    const data = new Uint8Array(56 + 32);
    new DataView(data.buffer).setUint32(0, 1, true);
    new DataView(data.buffer).setBigUint64(4, 2n ** 64n - 1n, true);
    data[21] = 0;
    data.set(addressBytes(payee), 56);
    node.chain.setAccount(address(table), {
      owner: address(LOOKUP_TABLE_PROGRAM),
      lamports: 10_000_000n,
      data,
      executable: false,
    });
    const signed = await sign([pay(10_000_000n)], await readTables(rpc, [table]));
    expect(decodeTransaction(signed.bytes)?.lookups).toEqual([
      { table, writable: [0], readonly: [] },
    ]);
    expect((await land(signed)).outcome).toBe('confirmed');
    expect((await landedAs(firstSignature(signed.bytes))).lamports.get(payee)).toEqual({
      before: 0n,
      after: 10_000_000n,
    });
  });
});

describe('landTransaction on a real chain', () => {
  beforeEach(() => start({ slotMs: 20, confirmationMs: 150 }));

  it('sends the bytes again until they land, and confirms once, over the WebSocket', async () => {
    const signed = await sign([pay(10_000_000n)]);
    let sends = 0;
    node.controls.intercept = (method, _, next) => {
      if (method !== 'sendTransaction') return next();
      sends += 1;
      // The node accepts the first send, and forgets it.
      return sends === 1 ? firstSignature(signed.bytes) : next();
    };
    expect(await land(signed)).toMatchObject({ outcome: 'confirmed' });
    expect(balance()).toBe(10_000_000n);
    expect(node.controls.calls({ method: 'signatureSubscribe' })).toBe(1);
    expect(sends).toBeGreaterThan(1);
  });

  it.each(['silent', 'off'] as const)('confirms without the WebSocket: %s', async (mode) => {
    node.controls.webSocket = mode;
    expect(await land(await sign([pay(10_000_000n)]))).toMatchObject({ outcome: 'confirmed' });
    expect(balance()).toBe(10_000_000n);
  });

  it('confirms a transaction that the node took, though the answer was lost', async () => {
    const signed = await sign([pay(10_000_000n)]);
    node.controls.fault('sendTransaction', { kind: 'dropAfter' });
    expect(await land(signed)).toMatchObject({ outcome: 'confirmed' });
    expect(balance()).toBe(10_000_000n);
  });

  it('reports the reason of the chain for a failed transaction', async () => {
    const landing = await land(await sign([pay(10n ** 15n)]));
    expect(landing).toMatchObject({
      outcome: 'failed',
      error: '{"InstructionError":[0,{"Custom":1}]}',
    });
    expect(balance()).toBe(0n);
  });

  it('reports a transaction as expired once no block can take it', async () => {
    const signed = await sign([pay(10_000_000n)]);
    node.controls.fault('sendTransaction', { kind: 'neverLands' });
    const landing = land(signed);
    node.controls.warp();
    expect(await landing).toEqual({ outcome: 'expired' });
    node.controls.clearFaults();
    // The transaction does not land later either.
    await rpc.send(signed.bytes).catch(() => undefined);
    expect(await rpc.statuses([firstSignature(signed.bytes)], { history: true })).toEqual([null]);
    expect(balance()).toBe(0n);
  });

  it('finds in the history a transaction that landed while the node hid it', async () => {
    const signed = await sign([pay(10_000_000n)]);
    node.controls.webSocket = 'off';
    const callOff = node.controls.fault('getSignatureStatuses', {
      kind: 'error',
      code: -32602,
      message: 'no',
    });
    const landing = land(signed);
    await expect.poll(balance, { interval: 20 }).toBe(10_000_000n);
    node.controls.warp();
    await expect
      .poll(() => node.controls.calls({ method: 'getEpochInfo' }), { interval: 20 })
      .toBeGreaterThan(0);
    const asked = node.controls.calls({ method: 'getSignatureStatuses' });
    await expect
      .poll(() => node.controls.calls({ method: 'getSignatureStatuses' }), { interval: 20 })
      .toBeGreaterThan(asked + 1);
    callOff();
    expect(await landing).toMatchObject({ outcome: 'confirmed' });
  });

  it('stops when its signal aborts', async () => {
    node.controls.fault('sendTransaction', { kind: 'neverLands' });
    const controller = new AbortController();
    const landing = land(await sign([pay(1n)]), controller.signal);
    await expect
      .poll(() => node.controls.calls({ method: 'sendTransaction' }), { interval: 20 })
      .toBeGreaterThan(1);
    controller.abort();
    expect(await landing).toEqual({ outcome: 'unknown' });
  });
});
