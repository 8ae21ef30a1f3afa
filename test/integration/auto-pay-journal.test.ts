import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { address, getAddressEncoder, type Address } from '@solana/kit';
import { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { memoryJournal, remote, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { nodeDisk } from '../../adapters/journals/file/disk.js';
import { journalAt } from '../../adapters/journals/file/journal.js';
import { nodeProcesses } from '../../adapters/journals/file/processes.js';
import { createOperations } from '../../adapters/local/operations.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { attemptOf, listOf, storedOf } from '../helpers/attempts.js';
import { failureOf } from '../helpers/payer.js';
import {
  buyerOf,
  startService,
  untilState,
  type Answer,
  type AutoPayService,
} from '../helpers/auto-pay.js';
import { landed, tokenAmount, until } from '../helpers/chain.js';
import { createDatabase } from '../helpers/database.js';
import { useSandbox } from '../helpers/sandbox.js';

const CHILD = fileURLToPath(new URL('../helpers/auto-pay.child.ts', import.meta.url));
const EXITING = fileURLToPath(new URL('../helpers/auto-pay-exit.child.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A journal that several services open in turn. */
interface OpenJournal {
  readonly journal: Journal;
  close(): Promise<void>;
}

const sandbox = await useSandbox({ confirmationMs: 20 });
const directory = mkdtempSync(join(tmpdir(), 'auto-pay-'));
let files = 0;
const opened: { close(): Promise<void> }[] = [];

afterAll(() => rmSync(directory, { recursive: true }));
afterEach(async () => {
  for (const resource of opened.splice(0).reverse()) await resource.close();
});

const nextFile = () => join(directory, `${(files += 1)}.jsonl`);
const KINDS: readonly [string, () => Promise<() => OpenJournal>][] = [
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
      const connectionString = await createDatabase();
      return () => keep(postgresJournal({ connectionString }));
    },
  ],
];

function keep(journal: Journal & { close(): Promise<void> }): OpenJournal {
  return { journal, close: () => journal.close() };
}

async function serve(
  journal: Journal,
  options?: Parameters<typeof startService>[2],
): Promise<AutoPayService> {
  const service = await startService(sandbox, journal, options);
  opened.push(service);
  return service;
}

/** Something that a test waits for until it is given. */
function signal() {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give };
}

const usdcOf = (owner: string) => tokenAmount(sandbox.rpcUrl, owner, sandbox.mints.USDC);

describe.each(KINDS)('auto-pay over a journal in %s', (_, make) => {
  it('leads from the 402 to the settled payment over HTTP alone', async () => {
    const { journal, close } = (await make())();
    opened.push({ close });
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const before = await usdcOf(sandbox.merchant);

    const planned = await buyer.post(service);
    expect(planned).toMatchObject({ status: 200, body: { state: 'swap_required' } });
    expect(await storedOf(journal, wallet)).toEqual([]);

    const signedSwap = await buyer.sign(planned.body.swap?.transaction);
    const swapped = await untilState('ready_to_sign', () => buyer.post(service, { signedSwap }));
    const [reserved, ...others] = await storedOf(journal, wallet);
    expect(others).toEqual([]);
    expect(reserved).toMatchObject({
      id: swapped.body.id,
      state: 'reserved',
      url: `${sandbox.apiUrl}/usdc`,
      mint: sandbox.mints.USDC.address,
      amount: '10000',
      swap: {
        transaction: signedSwap,
        outputMint: sandbox.mints.USDC.address,
        outcome: { state: 'confirmed' },
      },
    });
    expect(await landed(sandbox.rpcUrl, reserved?.swap?.signature ?? '')).toMatchObject({
      error: null,
    });
    expect(
      BigInt(reserved?.swap?.outcome?.state === 'confirmed' ? reserved.swap.outcome.outAmount : 0),
    ).toBe(await usdcOf(wallet.address));

    const signedPayment = await buyer.sign(swapped.body.payment?.transaction);
    const ready = await buyer.post(service, { signedPayment });
    expect(ready.body).toMatchObject({
      state: 'ready_to_present',
      id: reserved?.id,
      header: { name: 'PAYMENT-SIGNATURE' },
    });
    expect(await storedOf(journal, wallet)).toMatchObject([
      {
        id: reserved?.id,
        state: 'signed',
        payment: { header: ready.body.header, payerSignature: ready.body.payerSignature },
      },
    ]);

    const again = await buyer.post(service, { signedPayment });
    expect(again.body).toMatchObject({ ...ready.body, state: 'submitted' });
    expect((await buyer.present(again)).status).toBe(200);
    const settled = await untilState('settled', () => buyer.post(service, { signedPayment }));
    expect((await landed(sandbox.rpcUrl, settled.body.signature ?? '')).signatures).toContain(
      settled.body.payerSignature,
    );
    expect(settled.body.header).toBeUndefined();
    expect(await storedOf(journal, wallet)).toMatchObject([
      { state: 'settled', receipt: { payment: { signature: settled.body.signature } } },
    ]);
    expect((await usdcOf(sandbox.merchant)) - before).toBe(10_000n);
  });
});

describe('a service that restarts', () => {
  it('settles one payment when it restarts between every two steps', async () => {
    const path = nextFile();
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`, { idempotencyKey: 'order-1' });
    const before = await usdcOf(sandbox.merchant);
    /** Runs one step at a service that starts before the step and closes after it. */
    const atNewService = async <T>(step: (service: AutoPayService) => Promise<T>): Promise<T> => {
      const journal = fileJournal(path);
      const service = await startService(sandbox, journal);
      try {
        return await step(service);
      } finally {
        await service.close();
        await journal.close();
      }
    };

    const planned = await atNewService((service) => buyer.post(service));
    const signedSwap = await buyer.sign(planned.body.swap?.transaction);
    const swapped = await atNewService((service) =>
      untilState('ready_to_sign', () => buyer.post(service, { signedSwap })),
    );
    const replanned = await atNewService((service) => buyer.post(service));
    expect(replanned.body).toMatchObject({ state: 'ready_to_sign', id: swapped.body.id });
    const signedPayment = await buyer.sign(replanned.body.payment?.transaction);
    const ready = await atNewService((service) => buyer.post(service, { signedPayment }));
    expect(ready.body).toMatchObject({ state: 'ready_to_present', id: swapped.body.id });
    const again = await atNewService((service) => buyer.post(service, { signedPayment }));
    expect(again.body).toMatchObject({ state: 'submitted', header: ready.body.header });
    expect((await buyer.present(again)).status).toBe(200);
    const settled = await atNewService((service) =>
      untilState('settled', () => buyer.post(service)),
    );
    expect(settled.body).toMatchObject({
      id: swapped.body.id,
      payerSignature: ready.body.payerSignature,
    });

    const journal = fileJournal(path);
    opened.push(journal);
    expect(await storedOf(journal, wallet)).toMatchObject([
      { state: 'settled', idempotencyKey: 'order-1' },
    ]);
    expect((await usdcOf(sandbox.merchant)) - before).toBe(10_000n);
  });
});

describe('a signed swap or payment that a buyer posts to the service', () => {
  it('is sent by the next service when the first is killed before its answer', async () => {
    const path = nextFile();
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', CHILD, path, sandbox.rpcUrl, sandbox.jupiterUrl],
      {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const ended = once(child, 'exit');
    let signedSwap: string;
    try {
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const service = { url: line.toString().trim() };
      const planned = await buyer.post(service);
      signedSwap = await buyer.sign(planned.body.swap?.transaction);
      // The node accepts no transaction, so the service tries until it is killed.
      sandbox.controls.node.fault('sendTransaction', { kind: 'dropBefore' });
      const answer = buyer.post(service, { signedSwap });
      await Promise.all([
        expect(answer).rejects.toThrow(),
        until('the swap is on record', () =>
          readFileSync(path, 'utf8').includes(signedSwap) ? true : undefined,
        ).then(() => child.kill('SIGKILL')),
      ]);
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
    const swapsBefore = await usdcOf(wallet.address);
    sandbox.controls.node.clearFaults();

    const journal = fileJournal(path);
    opened.push(journal);
    const [known] = await storedOf(journal, wallet);
    expect(known).toMatchObject({ state: 'reserved', swap: { transaction: signedSwap } });
    const service = await serve(journal);
    await service.transport.resume();
    await until('the swap has landed', async () =>
      (await usdcOf(wallet.address)) > swapsBefore ? true : undefined,
    );
    const swapped = await untilState('ready_to_sign', () => buyer.post(service, { signedSwap }));
    expect(swapped.body.id).toBe(known?.id);
    expect(await storedOf(journal, wallet)).toMatchObject([
      { id: known?.id, swap: { outcome: { state: 'confirmed' } } },
    ]);
  });

  it('is reported as failed, and frees its budget, when it can no longer land', async () => {
    const journal = memoryJournal();
    const service = await serve(journal, { policy: { maxPerDay: '0.01' } });
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
    const ready = await buyer.post(service, { signedPayment });
    expect(ready.body.state).toBe('ready_to_present');
    expect(await buyer.post(service)).toMatchObject({
      status: 403,
      body: { code: 'budget_exhausted' },
    });
    sandbox.controls.node.warp();
    const failed = await untilState('failed', () => buyer.post(service, { signedPayment }));
    expect(failed.body).toEqual({
      state: 'failed',
      ...{ id: ready.body.id, offer: ready.body.offer },
      ...{
        payerSignature: ready.body.payerSignature,
        lastValidBlockHeight: ready.body.lastValidBlockHeight,
      },
    });
    expect((await buyer.post(service)).body.state).toBe('ready_to_sign');
  });

  it.each([
    ['without a key', {}],
    ['under a key', { idempotencyKey: 'order-5' }],
  ])(
    'is found settled %s when it is in the history and its blockhash has expired',
    async (_, fixed) => {
      const path = nextFile();
      const small = { compactFrom: 4_000, recent: 0 };
      const journal = journalAt(path, { disk: nodeDisk, processes: nodeProcesses, ...small });
      opened.push(journal);
      const service = await serve(journal);
      const wallet = await sandbox.createWallet({ USDC: '1' });
      const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`, fixed);
      const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
      await buyer.present(await buyer.post(service, { signedPayment }));
      const settled = await untilState('settled', () => buyer.post(service, { signedPayment }));
      await until('the payment is in the history', async () => {
        // The file must grow to be written anew.
        await journal.reserve(attemptOf({ id: 'other' }), []);
        await journal.release('other');
        return /"history":[1-9]/.test(readFileSync(path, 'utf8')) ? true : undefined;
      });
      sandbox.controls.node.warp();
      expect((await buyer.post(service, { signedPayment })).body).toEqual(settled.body);
    },
  );

  it('counts against the caps of the service separately for each wallet', async () => {
    const journal = memoryJournal();
    const service = await serve(journal, { policy: { maxPerDay: '0.015' } });
    const [wallet, other] = await Promise.all([
      sandbox.createWallet({ USDC: '1' }),
      sandbox.createWallet({ USDC: '1' }),
    ]);
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    // Both payments are planned while the cap has room; only one is accepted.
    const plans = [await buyer.post(service), await buyer.post(service)];
    const [first, second] = [
      await buyer.sign(plans[0]?.body.payment?.transaction),
      await buyer.sign(plans[1]?.body.payment?.transaction),
    ];
    const answers = await Promise.all([
      buyer.post(service, { signedPayment: first }),
      buyer.post(service, { signedPayment: second }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      code: 'budget_exhausted',
      details: { cap: 'maxPerDay' },
    });
    expect(await storedOf(journal, wallet)).toHaveLength(1);
    const rich = await buyerOf(other, `${sandbox.apiUrl}/usdc`);
    expect((await rich.post(service)).body.state).toBe('ready_to_sign');
  });

  it('is refused beside another payment that was posted at once and takes the tokens', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ USDC: '0.015' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`, { autoSwap: false });
    const plans = [await buyer.post(service), await buyer.post(service)];
    const signed = await Promise.all(
      plans.map(({ body }) => buyer.sign(body.payment?.transaction)),
    );
    const answers = await Promise.all(
      signed.map((signedPayment) => buyer.post(service, { signedPayment })),
    );
    expect(answers.map(({ body }) => body.state ?? body.code).sort()).toEqual([
      'insufficient_funds',
      'ready_to_present',
    ]);
    expect(await storedOf(journal, wallet)).toHaveLength(1);
  });

  it('makes one attempt when parallel and repeated requests post it', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedSwap = await buyer.sign((await buyer.post(service)).body.swap?.transaction);
    const swapped = await Promise.all([1, 2, 3].map(() => buyer.post(service, { signedSwap })));
    expect(new Set(swapped.map(({ body }) => body.id)).size).toBe(1);
    expect(await storedOf(journal, wallet)).toHaveLength(1);
    const ready = await untilState('ready_to_sign', () => buyer.post(service, { signedSwap }));
    const signedPayment = await buyer.sign(ready.body.payment?.transaction);
    const answers = await Promise.all([1, 2, 3].map(() => buyer.post(service, { signedPayment })));
    expect(answers.map(({ body }) => body.state).sort()).toEqual([
      'ready_to_present',
      'submitted',
      'submitted',
    ]);
    expect((await buyer.post(service, { signedSwap })).body).toMatchObject({
      state: 'submitted',
      id: ready.body.id,
    });
    expect(await storedOf(journal, wallet)).toHaveLength(1);
  });

  it('gives the id of the attempt when another service sends the swap after the look', async () => {
    const journal = memoryJournal();
    const [looked, landed, answered] = [signal(), signal(), signal()];
    const early: Journal = {
      ...journal,
      // The swap has landed, and its outcome is not on record yet.
      async put(attempt, along) {
        if (attempt.swap?.outcome !== undefined) await answered.given;
        await journal.put(attempt, along);
      },
    };
    const late: Journal = {
      ...journal,
      async *attempts(owner, filter) {
        const listed = await listOf(journal.attempts(owner, filter));
        if (filter?.since !== undefined) {
          looked.give();
          await landed.given;
        }
        yield* listed;
      },
    };
    const [first, second] = [await serve(early), await serve(late)];
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedSwap = await buyer.sign((await buyer.post(first)).body.swap?.transaction);
    const lateAnswer = buyer.post(second, { signedSwap });
    await looked.given;
    const earlyAnswer = buyer.post(first, { signedSwap });
    await until(
      'the swap has landed',
      async () => (await usdcOf(wallet.address)) > 0n || undefined,
    );
    landed.give();
    const { body } = await lateAnswer;
    answered.give();
    expect(body).toMatchObject({ state: 'ready_to_sign', id: (await earlyAnswer).body.id });
    expect(await storedOf(journal, wallet)).toHaveLength(1);
  });

  it('makes one attempt when two services over one database receive it at once', async () => {
    const connectionString = await createDatabase();
    const journals = [
      postgresJournal({ connectionString }),
      postgresJournal({ connectionString }),
    ] as const;
    opened.push(...journals);
    const [first, second] = [await serve(journals[0]), await serve(journals[1])];
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const toBoth = (fields: object) =>
      Promise.all([first, second].map((service) => buyer.post(service, fields)));
    const signedSwap = await buyer.sign((await buyer.post(first)).body.swap?.transaction);
    const swapped = await toBoth({ signedSwap });
    expect(new Set(swapped.map(({ body }) => body.id)).size).toBe(1);
    const ready = await untilState('ready_to_sign', () => buyer.post(first, { signedSwap }));
    const signedPayment = await buyer.sign(ready.body.payment?.transaction);
    const answers = await toBoth({ signedPayment });
    expect(answers.map(({ body }) => body.state).sort()).toEqual(['ready_to_present', 'submitted']);
    expect(await storedOf(journals[1], wallet)).toMatchObject([
      { id: ready.body.id, state: 'signed' },
    ]);
  });

  it('blocks every other payment under its idempotency key', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`, { idempotencyKey: 'order-7' });
    const plans = [await buyer.post(service), await buyer.post(service)];
    const first = await buyer.sign(plans[0]?.body.payment?.transaction);
    const second = await buyer.sign(plans[1]?.body.payment?.transaction);
    const ready = await buyer.post(service, { signedPayment: first });
    expect(ready.body.state).toBe('ready_to_present');
    expect(await buyer.post(service, { signedPayment: second })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_mismatch' },
    });
    // The key alone does not return the header: the seller serves any caller that presents it.
    const { header: _header, ...known } = ready.body;
    expect((await buyer.post(service)).body).toEqual({ ...known, state: 'submitted' });
    const elsewhere = await buyerOf(wallet, `${sandbox.apiUrl}/memo`, {
      idempotencyKey: 'order-7',
    });
    expect(await elsewhere.post(service)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_mismatch' },
    });
    expect((await buyer.present(ready)).status).toBe(200);
    const settled = await untilState('settled', () => buyer.post(service));
    expect(settled.body).toMatchObject({
      id: ready.body.id,
      payerSignature: ready.body.payerSignature,
    });
    expect(await buyer.post(service, { signedPayment: second })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_mismatch' },
    });
    expect(await storedOf(journal, wallet)).toHaveLength(1);
  });

  it('rejects its key for another price, payee or token at the same address', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const [wallet, payee] = await Promise.all([
      sandbox.createWallet({ USDC: '1', USDT: '1' }),
      sandbox.createWallet({ USDC: '0', USDT: '0' }),
    ]);
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`, { idempotencyKey: 'order-8' });
    const ready = await buyer.post(service, {
      signedPayment: await buyer.sign((await buyer.post(service)).body.payment?.transaction),
    });
    expect((await buyer.present(ready)).status).toBe(200);
    await untilState('settled', () => buyer.post(service));
    const changes: readonly (readonly [string, string])[] = [
      [sandbox.merchant, payee.address],
      ['"10000"', '"10001"'],
      [sandbox.mints.USDC.address, sandbox.mints.USDT.address],
    ];
    for (const [from, to] of changes) {
      const { headers } = buyer.paymentRequired;
      const terms = Buffer.from(headers['payment-required'] ?? '', 'base64').toString();
      expect(terms).toContain(from);
      const changed = {
        ...headers,
        'payment-required': Buffer.from(terms.replaceAll(from, to)).toString('base64'),
      };
      const paymentRequired = { ...buyer.paymentRequired, headers: changed };
      expect(await buyer.post(service, { paymentRequired })).toMatchObject({
        status: 409,
        body: { code: 'idempotency_mismatch' },
      });
    }
  });

  it('is not recorded when the swap has already landed, because its bytes are public', async () => {
    const [first, journal] = [memoryJournal(), memoryJournal()];
    const [sender, other] = [await serve(first), await serve(journal)];
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedSwap = await buyer.sign((await buyer.post(sender)).body.swap?.transaction);
    await untilState('ready_to_sign', () => buyer.post(sender, { signedSwap }));
    const answer = await buyer.post(other, { signedSwap });
    expect([answer.body.state, answer.body.id]).toEqual(['ready_to_sign', undefined]);
    expect(await storedOf(journal, wallet)).toEqual([]);
  });

  it('is reported as settled also if its seller asks for something else by now', async () => {
    const service = await serve(memoryJournal());
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
    const ready = await buyer.post(service, { signedPayment });
    expect((await buyer.present(ready)).status).toBe(200);
    const { url } = buyer.paymentRequired;
    const others = await buyerOf(wallet, `${sandbox.apiUrl}/pyusd`);
    const paymentRequired = { ...others.paymentRequired, url };
    const { signature } = (
      await untilState('settled', () => buyer.post(service, { signedPayment }))
    ).body;
    expect((await buyer.post(service, { signedPayment, paymentRequired })).body).toMatchObject({
      ...{ state: 'settled', id: ready.body.id, signature },
    });
  });

  it('is reported as settled and not recorded when the payment has already landed', async () => {
    const [first, journal] = [memoryJournal(), memoryJournal()];
    const [sender, other] = [
      await serve(first),
      await serve(journal, { policy: { maxPerDay: '0.01' } }),
    ];
    // The payment takes the whole balance, so the wallet cannot pay it again.
    const wallet = await sandbox.createWallet({ USDC: '0.01' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedPayment = await buyer.sign((await buyer.post(sender)).body.payment?.transaction);
    const ready = await buyer.post(sender, { signedPayment });
    expect((await buyer.present(ready)).status).toBe(200);
    const settled = await untilState('settled', () => buyer.post(sender, { signedPayment }));
    const told = await buyer.post(other, { signedPayment });
    expect(told).toEqual({
      status: 200,
      body: { state: 'settled', offer: settled.body.offer, signature: settled.body.signature },
    });
    expect(await storedOf(journal, wallet)).toEqual([]);
  });

  it.each([
    ['under a key, and was not released', { idempotencyKey: 'order-3' }, ['put', 'release']],
    ['without a key, and was not released', {}, ['put', 'release']],
    ['under a key', { idempotencyKey: 'order-4' }, ['put']],
    ['without a key', {}, ['put']],
  ])('settles and is never reported as failed if its record failed %s', async (...row) => {
    const [, fields, steps] = row;
    const kept = memoryJournal({ outbox: true });
    const failing = new Set<string>();
    const once = <T>(name: string, call: () => Promise<T>) =>
      failing.delete(name) ? Promise.reject(new Error(`${name} fails`)) : call();
    const journal: Journal = {
      ...kept,
      put: (attempt) => once('put', () => kept.put(attempt)),
      release: (id) => once('release', () => kept.release(id)),
    };
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ USDC: '1' });
    // A payment in flight shows that this process lives, so its reservation is no orphan.
    const before = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    await before.post(service, {
      signedPayment: await before.sign((await before.post(service)).body.payment?.transaction),
    });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`, fields);
    const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
    for (const step of steps) failing.add(step);
    expect((await buyer.post(service, { signedPayment })).status).toBe(503);
    expect(failing).toEqual(new Set());
    const ready = await buyer.post(service, { signedPayment });
    expect(ready.body.state).toBe('ready_to_present');
    expect((await buyer.present(ready)).status).toBe(200);
    await untilState('settled', () => buyer.post(service, { signedPayment }));
    const jobs = await kept.outbox?.take({ limit: 10, leaseMs: 60_000, now: Date.now() });
    expect(jobs?.map(({ event: { type, data } }) => [type, data.id])).toEqual([
      ['payment.settled', ready.body.id],
    ]);
  });

  it('ends as unpaid and frees its budget when no payment follows the swap', async () => {
    const journal = memoryJournal({ outbox: true });
    let giveUp = (): void => undefined;
    const patience = new Promise<void>((resolve) => (giveUp = resolve));
    // The test ends waits of more than a minute; shorter waits run as usual.
    const idle = (ms: number, signal?: AbortSignal) =>
      ms > 60_000 ? patience : systemRuntime.idle(ms, signal);
    const { rpcUrl, jupiterUrl } = sandbox;
    const settings = parseLocalOptions(
      { rpcUrl, jupiterUrl, journal, policy: { maxPerDay: '0.015' } },
      { ...systemRuntime, idle },
    );
    const transport = await createOperations(settings);
    opened.push(transport);
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '0' });
    const { paymentRequired, sign } = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const request = { paymentRequired, wallet: wallet.address, autoSwap: true };
    const signedSwap = await sign((await transport.autoPay(request)).swap?.transaction);
    await until('the swap has landed', async () =>
      (await transport.autoPay({ ...request, signedSwap })).state === 'ready_to_sign'
        ? true
        : undefined,
    );
    const elsewhere = await buyerOf(wallet, `${sandbox.apiUrl}/memo`);
    const other = { ...request, paymentRequired: elsewhere.paymentRequired };
    await failureOf(transport.autoPay(other), 'budget_exhausted');
    giveUp();
    // The cost of the swap stays counted.
    await until('it is over', async () =>
      (await storedOf(journal, wallet))[0]?.state === 'unpaid' ? true : undefined,
    );
    expect((await transport.autoPay(other)).state).toBe('ready_to_sign');
    const jobs = await journal.outbox?.take({ limit: 10, leaseMs: 60_000, now: Date.now() });
    expect(jobs?.map(({ event: { type } }) => type)).toEqual(['swap.confirmed', 'payment.failed']);
  });

  it('is refused and not recorded when it is unsigned, foreign, misplaced or expired', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const [wallet, other] = await Promise.all([
      sandbox.createWallet({ USDC: '1', SOL: '0.1' }),
      sandbox.createWallet({ USDC: '1' }),
    ]);
    const poor = await sandbox.createWallet({ SOL: '0.1' });
    const [buyer, stranger] = await Promise.all(
      [wallet, other].map((owner) => buyerOf(owner, `${sandbox.apiUrl}/usdc`)),
    );
    const planned = await buyer?.post(service);
    const unsigned = planned?.body.payment?.transaction;
    const signedPayment = await buyer?.sign(unsigned);
    const pretended = planned && (await buyer?.sign(await withoutTransfer(planned.body)));
    const foreign = await stranger?.sign(
      await stranger.post(service).then(({ body }) => body.payment?.transaction),
    );
    for (const fields of [
      { signedPayment: unsigned },
      { signedPayment: foreign },
      { signedPayment: pretended },
      { signedSwap: signedPayment },
      { signedSwap: unsigned },
    ]) {
      expect(await buyer?.post(service, fields)).toMatchObject({
        status: 400,
        body: { code: 'invalid_option' },
      });
    }
    // A payment that its wallet cannot afford, and a payment that the chain no longer accepts.
    const empty = await buyerOf(poor, `${sandbox.apiUrl}/usdc`, { autoSwap: false });
    expect((await empty.post(service)).body.state).toBe('insufficient_funds');
    sandbox.controls.node.warp();
    expect(await buyer?.post(service, { signedPayment })).toMatchObject({
      status: 400,
      body: { code: 'invalid_option', funds: 'uncertain' },
    });
    for (const owner of [wallet, other, poor]) expect(await storedOf(journal, owner)).toEqual([]);
  });
});

/**
 * Returns a payment in which a program that moves no tokens has the place of the token program: its
 * instruction looks like the transfer, and the chain takes it without any transfer.
 */
async function withoutTransfer({ offer, payment }: Answer['body']): Promise<string> {
  const noProgram = address('noopb9bkMVfRPU8AsbpTUg8AQkHtKwMYZiFUjNpmNHo');
  const [owner, mint] = [address(offer.payTo ?? ''), address(offer.mint ?? '')];
  const destinationOf = async (tokenProgram: Address) =>
    (await findAssociatedTokenPda({ owner, mint, tokenProgram }))[0];
  const hexOf = (account: Address) =>
    Buffer.from(getAddressEncoder().encode(account)).toString('hex');
  const changed = Buffer.from(payment?.transaction ?? '', 'base64')
    .toString('hex')
    .replace(hexOf(TOKEN_PROGRAM_ADDRESS), hexOf(noProgram))
    .replace(
      hexOf(await destinationOf(TOKEN_PROGRAM_ADDRESS)),
      hexOf(await destinationOf(noProgram)),
    );
  return Buffer.from(changed, 'hex').toString('base64');
}

describe('an auto-pay service', () => {
  it('records events for the swap and the payment under the id of its answers', async () => {
    const journal = memoryJournal({ outbox: true });
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedSwap = await buyer.sign((await buyer.post(service)).body.swap?.transaction);
    const ready = await untilState('ready_to_sign', () => buyer.post(service, { signedSwap }));
    const signedPayment = await buyer.sign(ready.body.payment?.transaction);
    await buyer.present(await buyer.post(service, { signedPayment }));
    const settled = await untilState('settled', () => buyer.post(service, { signedPayment }));
    const jobs = await journal.outbox?.take({ limit: 10, leaseMs: 60_000, now: Date.now() });
    const told = jobs?.map(({ event: { type, data } }) => [type, data.id]);
    expect(told).toEqual([
      ['swap.confirmed', settled.body.id],
      ['payment.settled', settled.body.id],
    ]);
  });

  it('answers as the local transport does, and refuses an invalid key', async () => {
    const service = await serve(memoryJournal());
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const transport = remote(service.url);
    const request = {
      paymentRequired: buyer.paymentRequired,
      wallet: wallet.address,
      idempotencyKey: 'order-9',
    };
    const planned = await transport.autoPay(request);
    const signedPayment = await buyer.sign(planned.payment?.transaction);
    const ready = await transport.autoPay({ ...request, signedPayment });
    expect(ready).toMatchObject({
      state: 'ready_to_present',
      id: expect.stringMatching(/^[0-9a-f]{24}$/) as string,
    });
    for (const peer of [transport, service.transport])
      expect(await peer.autoPay({ ...request, signedPayment })).toEqual({
        ...ready,
        state: 'submitted',
      });
    for (const peer of [transport, service.transport]) {
      await failureOf(peer.autoPay({ ...request, idempotencyKey: 'ä' }), 'invalid_option');
    }
  });
});

describe('a transport with a journal', () => {
  it('pays nothing after it was closed, and keeps its open payment in the journal', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
    const ready = await buyer.post(service, { signedPayment });
    await service.transport.close();
    expect(await buyer.post(service, { signedPayment })).toMatchObject({
      status: 503,
      body: { code: 'client_closed', funds: 'uncertain', retry: 'same' },
    });
    expect((await buyer.present(ready)).status).toBe(200);
    expect(await storedOf(journal, wallet)).toMatchObject([{ state: 'signed' }]);
    const next = await serve(journal);
    await next.transport.resume();
    await until('the next service finds the payment settled', async () => {
      const [attempt] = await storedOf(journal, wallet);
      return attempt?.state === 'settled' ? attempt : undefined;
    });
  });

  it('settles a payment that a closed process left in the shared database', async () => {
    const connectionString = await createDatabase();
    const [theirs, journal] = [
      postgresJournal({ connectionString }),
      postgresJournal({ connectionString }),
    ];
    opened.push(theirs, journal);
    const rounds: (() => void)[] = [];
    const round = (signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted === true) return reject(new Error('closed'));
        rounds.push(resolve);
        signal?.addEventListener('abort', () => reject(new Error('closed')));
      });
    // The test ends the minute between two rounds; other waits run as usual.
    const idle = (ms: number, signal?: AbortSignal) =>
      ms === 60_000 ? round(signal) : systemRuntime.idle(ms, signal);
    const { rpcUrl, jupiterUrl } = sandbox;
    const transport = await createOperations(
      parseLocalOptions({ rpcUrl, jupiterUrl, journal }, { ...systemRuntime, idle }),
      undefined,
    );
    opened.push(transport);
    const service = await serve(theirs);
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    // A payment of the same wallet keeps the wallet's session of this transport open.
    const request = { paymentRequired: buyer.paymentRequired, wallet: wallet.address };
    const own = await transport.autoPay({
      ...request,
      signedPayment: await buyer.sign((await transport.autoPay(request)).payment?.transaction),
    });
    const ready = await buyer.post(service, {
      signedPayment: await buyer.sign((await buyer.post(service)).body.payment?.transaction),
    });
    await service.transport.close();
    expect((await buyer.present(ready)).status).toBe(200);
    rounds.forEach((end) => end());
    await until('it is found', async () => {
      const states = (await storedOf(journal, wallet)).map(({ id, state }) => [id, state]);
      return states.some(([id, state]) => id === ready.body.id && state === 'settled')
        ? true
        : undefined;
    });
    expect(await storedOf(journal, wallet)).toMatchObject([
      { id: own.id, state: 'signed' },
      { id: ready.body.id },
    ]);
  });

  it('lets its process end while it follows an open payment', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const service = await serve(memoryJournal());
    const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
    const request = JSON.stringify({
      paymentRequired: buyer.paymentRequired,
      wallet: wallet.address,
      signedPayment,
    });
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', EXITING, sandbox.rpcUrl, sandbox.jupiterUrl, request],
      {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'inherit'],
        // The timeout kills a process that does not end, and the exit code shows it.
        timeout: 100_000,
      },
    );
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ said, code }).toEqual({ said: 'ready_to_present', code: 0 });
  });

  it('gives no payment for a seller on plain http, at any step, with and without a journal', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const paymentRequired = { ...buyer.paymentRequired, url: 'http://api.example.com/usdc' };
    for (const service of [
      await serve(memoryJournal()),
      await serve(memoryJournal(), { journal: undefined }),
    ]) {
      const planned = await buyer.post(service);
      const signedPayment = await buyer.sign(planned.body.payment?.transaction);
      for (const fields of [{}, { signedPayment }])
        expect(await buyer.post(service, { paymentRequired, ...fields })).toMatchObject({
          status: 422,
          body: { code: 'insecure_origin', details: { origin: 'http://api.example.com' } },
        });
    }
  });

  it('refuses a request without the URL of the 402 or with an invalid key', async () => {
    const service = await serve(memoryJournal());
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const { url: _url, ...parts } = buyer.paymentRequired;
    expect(await buyer.post(service, { paymentRequired: parts })).toMatchObject({
      status: 400,
      body: { code: 'invalid_option', details: { option: 'paymentRequired.url' } },
    });
    for (const idempotencyKey of ['', 'with space', 'x'.repeat(256)]) {
      expect(await buyer.post(service, { idempotencyKey })).toMatchObject({
        status: 400,
        body: { details: { option: 'idempotencyKey' } },
      });
    }
  });
});
