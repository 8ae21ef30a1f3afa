import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryJournal, SOLANA_MAINNET, type Attempt, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { createSandbox, type Sandbox, type SandboxWallet } from 'exact-change/sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type Postgres } from '../helpers/postgres.js';
import { buyerOf, startService, untilState, type AutoPayService } from '../helpers/auto-pay.js';
import { landed, tokenAmount } from '../helpers/chain.js';

/** A journal that a service may be started over more than once. */
interface Kept {
  readonly journal: Journal;
  close(): Promise<void>;
}

let sandbox: Sandbox;
let postgres: Postgres;
const directory = mkdtempSync(join(tmpdir(), 'auto-pay-'));
let files = 0;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  sandbox = await createSandbox({ confirmationMs: 20 });
  postgres = await startPostgres();
});
afterAll(async () => {
  await sandbox.close();
  await postgres.stop();
  rmSync(directory, { recursive: true });
});
afterEach(async () => {
  sandbox.controls.node.clearFaults();
  for (const one of opened.splice(0).reverse()) await one.close();
});

const nextFile = () => join(directory, `${(files += 1)}.jsonl`);
const KINDS: readonly [string, () => Promise<() => Kept>][] = [
  [
    'memory',
    async () => {
      const journal = memoryJournal();
      return () => ({ journal, close: () => Promise.resolve() });
    },
  ],
  [
    'a file',
    async () => {
      const path = nextFile();
      return () => keep(fileJournal(path));
    },
  ],
  [
    'Postgres',
    async () => {
      const connectionString = await postgres.createDatabase();
      return () => keep(postgresJournal({ connectionString }));
    },
  ],
];

function keep(journal: Journal & { close(): Promise<void> }): Kept {
  return { journal, close: () => journal.close() };
}

async function serve(journal: Journal, options?: Parameters<typeof startService>[2]): Promise<AutoPayService> {
  const service = await startService(sandbox, journal, options);
  opened.push(service);
  return service;
}

async function attemptsOf(journal: Journal, { address }: SandboxWallet): Promise<Attempt[]> {
  const all: Attempt[] = [];
  for await (const attempt of journal.attempts({ wallet: address, network: SOLANA_MAINNET })) all.push(attempt);
  return all;
}

const usdcOf = (owner: string) => tokenAmount(sandbox.rpcUrl, owner, sandbox.mints.USDC);

describe.each(KINDS)('auto-pay over a journal in %s', (_, make) => {
  it('leads from the 402 to what became of the payment, over HTTP alone', async () => {
    const { journal, close } = (await make())();
    opened.push({ close });
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const before = await usdcOf(sandbox.merchant);

    const planned = await buyer.post(service);
    expect(planned).toMatchObject({ status: 200, body: { state: 'swap_required' } });
    expect(await attemptsOf(journal, wallet)).toEqual([]);

    const signedSwap = await buyer.sign(planned.body.swap?.transaction);
    const swapped = await untilState('ready_to_sign', () => buyer.post(service, { signedSwap }));
    const [reserved, ...others] = await attemptsOf(journal, wallet);
    expect(others).toEqual([]);
    expect(reserved).toMatchObject({
      id: swapped.body.id,
      state: 'reserved',
      url: `${sandbox.apiUrl}/usdc`,
      mint: sandbox.mints.USDC.address,
      amount: '10000',
      swap: { transaction: signedSwap, outputMint: sandbox.mints.USDC.address, outcome: { state: 'confirmed' } },
    });
    expect(await landed(sandbox.rpcUrl, reserved?.swap?.signature ?? '')).toMatchObject({ error: null });
    expect(BigInt(reserved?.swap?.outcome?.state === 'confirmed' ? reserved.swap.outcome.outAmount : 0)).toBe(await usdcOf(wallet.address));

    const signedPayment = await buyer.sign(swapped.body.payment?.transaction);
    const ready = await buyer.post(service, { signedPayment });
    expect(ready.body).toMatchObject({ state: 'ready_to_present', id: reserved?.id, header: { name: 'PAYMENT-SIGNATURE' } });
    expect(await attemptsOf(journal, wallet)).toMatchObject([
      { id: reserved?.id, state: 'signed', payment: { header: ready.body.header, payerSignature: ready.body.payerSignature } },
    ]);

    const again = await buyer.post(service, { signedPayment });
    expect(again.body).toMatchObject({ ...ready.body, state: 'submitted' });
    expect((await buyer.present(again)).status).toBe(200);
    const settled = await untilState('settled', () => buyer.post(service, { signedPayment }));
    expect((await landed(sandbox.rpcUrl, settled.body.signature ?? '')).signatures).toContain(settled.body.payerSignature);
    expect(settled.body.header).toBeUndefined();
    expect(await attemptsOf(journal, wallet)).toMatchObject([
      { state: 'settled', receipt: { payment: { signature: settled.body.signature } } },
    ]);
    expect((await usdcOf(sandbox.merchant)) - before).toBe(10_000n);
  });
});
