import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SOLANA_MAINNET, type Coordination, type Journal, type Owner } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { attemptOf, dayCap, listOf } from '../helpers/attempts.js';
import { tokenAccount, until } from '../helpers/chain.js';
import { createDatabase } from '../helpers/database.js';
import { closePayers, failureOf, payerOn } from '../helpers/payer.js';
import { wireTo } from '../helpers/postgres.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest, startSeller } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';
import { seenSince } from '../helpers/seen-since.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = (path: string) => sandbox.apiUrl + path;

/**
 * A payer with a database behind a wire, and a seller that settles a payment and then unplugs the
 * wire instead of answering.
 */
async function unplugged() {
  const address = await createDatabase();
  // Create the tables first: a busy machine may need longer than the timeout below.
  const first = postgresJournal({ connectionString: address });
  await first.used({ wallet: '', network: '' }, [], 0);
  await first.close();
  const wire = await wireTo(address);
  const journal = postgresJournal({ connectionString: wire.address, timeoutMs: 3_000 });
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal, timeouts: { journal: 6_000 } });
  const seller = await startSeller((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    void settle(sandbox, request).then(() => {
      wire.unplug();
      request.socket.destroy();
    });
  });
  onTestFinished(async () => {
    await Promise.all([closePayers(), seller.close()]);
    await journal.close();
    await wire.close();
  });
  return { payer, seller, wire };
}

describe('a call that loses its database between its payment and its answer', () => {
  it.each([{ method: 'GET' }, { method: 'POST', body: 'x' }])(
    'is refused as already spent when it is repeated: $method',
    async (init) => {
      const { payer, seller, wire } = await unplugged();
      const lost = await failureOf(payer.client.fetch(seller.url, init), 'payment_uncertain');
      await failureOf(payer.client.fetch(seller.url, init), 'journal_unavailable');
      wire.speak();
      const spent = await failureOf(payer.client.fetch(seller.url, init), 'already_spent');
      expect(spent.details.payerSignature).toBe(lost.details.payerSignature);
      expect([
        signedOf(payer, 'payment'),
        seller.paid.length,
        await timesSpent(sandbox, payer, 'USDC'),
      ]).toEqual([1, 1, 1]);
    },
  );
});

async function journalInFile() {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-claims-'));
  const file = fileJournal(join(directory, 'journal.jsonl'));
  onTestFinished(async () => {
    await closePayers();
    await file.close();
    await rm(directory, { recursive: true });
  });
  return file;
}

/** A file journal that drops claims by `drop`, which gets the original method. */
async function droppingClaims(
  drop: (original: () => Promise<void>) => Promise<void>,
): Promise<Journal> {
  const file = await journalInFile();
  const coordination = (owner: Owner): Coordination => {
    const { claims, ...rest } = file.coordination(owner);
    return { ...rest, claims: { ...claims, drop: (ids) => drop(() => claims.drop(ids)) } };
  };
  return { ...file, coordination };
}

const diskIsFull = () => Promise.reject(new Error('The disk is full.'));

/** A journal that fails to drop claims until `mend` is called. */
async function keepingClaims(): Promise<{ readonly journal: Journal; mend(): void }> {
  let isBroken = true;
  const journal = await droppingClaims((original) => (isBroken ? diskIsFull() : original()));
  return { journal, mend: () => void (isBroken = false) };
}

describe('a call with a claim that the journal fails to drop', () => {
  const lossy = async () => {
    return sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then(() => request.socket.destroy());
    });
  };

  it('is refused as already spent when it is repeated, also by another client', async () => {
    const { journal } = await keepingClaims();
    const seller = await lossy();
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
    const init = { method: 'POST', body: 'x' };
    await failureOf(payer.client.fetch(seller.url, init), 'payment_uncertain');
    await failureOf(payer.client.fetch(seller.url, init), 'already_spent');
    await failureOf(payer.again().fetch(seller.url, init), 'already_spent');
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([1, 1]);
  });

  it('drops the claim as soon as the journal works again', async () => {
    const { journal, mend } = await keepingClaims();
    const seller = await lossy();
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    const owner = { wallet: payer.address, network: SOLANA_MAINNET };
    const ids = (await listOf(journal.attempts(owner))).map(({ id }) => id);
    const live = async () => (await journal.coordination?.(owner).claims.live(ids))?.size;
    expect(await live()).toBe(1);
    mend();
    await until('the claim is dropped', async () => ((await live()) === 0 ? true : undefined));
  });

  // The first drop fails. The client repeats it in the background; it succeeds, but its answer is
  // late.
  it('is refused as already spent after a drop with a late answer', async () => {
    let [drops, landed] = [0, false];
    let answerLate = (): void => undefined;
    const late = new Promise<void>((resolve) => (answerLate = resolve));
    const journal = await droppingClaims(async (original) => {
      drops += 1;
      if (drops === 1 || drops === 3) return diskIsFull();
      await original();
      if (drops !== 2) return;
      landed = true;
      await late;
    });
    let presented = 0;
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      presented += 1;
      const settling = presented === 1 ? Promise.resolve() : settle(sandbox, request);
      void settling.then(() => request.socket.destroy());
    });
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal, timeouts: { journal: 3_000 } });
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    await until('the claim is dropped', async () => (landed ? true : undefined));
    // The late drop could still release a new claim, so the call claims nothing.
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    expect([presented, signedOf(payer, 'payment')]).toEqual([1, 1]);
    answerLate();
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    expect([presented, signedOf(payer, 'payment')]).toEqual([2, 1]);
    await failureOf(payer.client.fetch(seller.url), 'already_spent');
    expect(await timesSpent(sandbox, payer, 'USDC')).toBe(1);
  });
});

describe('an attempt of a process that died between its hold and its signature', () => {
  it.each([
    ['', 'reserved'],
    [', if its hold came after it was taken for ended', 'abandoned'],
  ] as const)('does not keep tokens or budget from the next process%s', async (_, state) => {
    const journal = postgresJournal({ connectionString: await createDatabase() });
    onTestFinished(async () => {
      await closePayers();
      await journal.close();
    });
    const payer = await payerOn(
      sandbox,
      { USDC: '0.01' },
      { journal, policy: { maxPerDay: '0.01' } },
    );
    const owner = { wallet: payer.address, network: SOLANA_MAINNET };
    const account = await tokenAccount(payer.address, sandbox.mints.USDC);
    const { ledger } = journal.coordination(owner);
    const dead = attemptOf({ ...owner, mint: sandbox.mints.USDC.address, at: Date.now() });
    await journal.reserve(dead, []);
    await journal.put({ ...dead, state });
    await ledger.see(account, { amount: 10_000n, at: Date.now() });
    expect(await ledger.take(account, dead.id, 10_000n, seenSince(0))).toEqual({
      before: undefined,
    });
    await payer.client.resume();
    expect([await listOf(journal.attempts(owner)), await ledger.held(account)]).toEqual([[], 0n]);
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect(await timesSpent(sandbox, payer, 'USDC')).toBe(1);
  });
});

describe('two processes of one wallet without the token', () => {
  it('pay each call once and leave no hold', async () => {
    const connectionString = await createDatabase();
    const journal = postgresJournal({ connectionString });
    const theirs = postgresJournal({ connectionString });
    onTestFinished(async () => {
      await closePayers();
      await Promise.all([journal.close(), theirs.close()]);
    });
    const swapping = { autoSwap: true, swapFrom: ['USDT'] };
    const payer = await payerOn(sandbox, { SOL: '0.5', USDT: '5' }, { ...swapping, journal });
    const clients = [payer.client, payer.again({ ...swapping, journal: theirs })];
    const calls = [0, 1, 2, 3].flatMap((n) =>
      clients.map((client, index) => client.fetch(url(`/usdc?${n}${index}`))),
    );
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 200));
    const owner = { wallet: payer.address, network: SOLANA_MAINNET };
    await until('all payments are settled', async () =>
      (await listOf(journal.attempts(owner))).every(({ state }) => state === 'settled')
        ? true
        : undefined,
    );
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([
      calls.length,
      calls.length,
    ]);
    expect(
      await journal.used(owner, [dayCap(0n, { unit: sandbox.mints.USDC.address })], Date.now()),
    ).toEqual([80_000n]);
    const { ledger } = journal.coordination(owner);
    const accounts = [
      await tokenAccount(payer.address, sandbox.mints.USDC),
      await tokenAccount(payer.address, sandbox.mints.USDT),
      payer.address,
    ];
    expect(await Promise.all(accounts.map((key) => ledger.held(key)))).toEqual([0n, 0n, 0n]);
  });
});
