import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SOLANA_MAINNET, type Coordination, type Journal, type Owner } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { listOf } from '../helpers/attempts.js';
import { tokenAccount, until } from '../helpers/chain.js';
import { moveClock } from '../helpers/move-clock.js';
import { closePayers, failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** Opens a file journal that goes when the test ends. */
async function journalOfTest() {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-holds-'));
  const file = fileJournal(join(directory, 'journal.jsonl'));
  onTestFinished(async () => {
    await closePayers();
    await file.close();
    await rm(directory, { recursive: true });
  });
  return file;
}

type Change = (ledger: Coordination['ledger']) => Partial<Coordination['ledger']>;

/**
 * Makes a payment that its seller never settles, and a second client of the wallet. `own` and
 * `others` replace methods of the balance ledger of the first and of the second client.
 */
async function unsettled(own: Change, others: Change) {
  const file = await journalOfTest();
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    response.end('served for nothing');
  });
  const journalWith = (change: Change) => ({
    ...file,
    coordination: (of: Owner): Coordination => {
      const { ledger, ...rest } = file.coordination(of);
      return { ...rest, ledger: { ...ledger, ...change(ledger) } };
    },
  });
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal: journalWith(own) });
  const owner = { wallet: payer.address, network: SOLANA_MAINNET };
  const account = await tokenAccount(payer.address, sandbox.mints.USDC);
  await (await payer.client.fetch(seller.url)).text();
  return {
    client: payer.client,
    other: payer.again({
      journal: journalWith(others),
      rpcUrl: `${sandbox.rpcUrl}/?caller=other`,
      timeouts: { rpc: 60_000 },
    }),
    decided: () =>
      until('the payment is decided', async () =>
        (await listOf(file.attempts(owner)))[0]?.state === 'unsettled' ? true : undefined,
      ),
    held: () => file.coordination(owner).ledger.held(account),
  };
}

describe('a payment that a client resumes while another client decides it', () => {
  it('holds no tokens after both have finished', async () => {
    const { other, decided, held } = await unsettled(
      () => ({}),
      (ledger) => ({
        async hold(...args) {
          sandbox.controls.node.warp();
          await decided();
          await ledger.hold(...args);
        },
      }),
    );
    await other.resume();
    await other.close();
    expect(await held()).toBe(0n);
  });

  it('holds no tokens when the journal is slow to forget the balance', async () => {
    let [forgetting, goOn] = [(): void => undefined, (): void => undefined];
    const isForgetting = new Promise<void>((resolve) => (forgetting = resolve));
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    const { client, other, held } = await unsettled(
      (ledger) => ({
        async forget(account) {
          forgetting();
          await mayGoOn;
          await ledger.forget(account);
        },
      }),
      (ledger) => ({
        async hold(...args) {
          sandbox.controls.node.warp();
          await isForgetting;
          await ledger.hold(...args);
        },
      }),
    );
    await other.resume();
    goOn();
    await Promise.all([other.close(), client.close()]);
    expect(await held()).toBe(0n);
  });
});

/** More slots and blocks than a day has. */
const MORE_THAN_A_DAY = 220_000;

describe('a payment that no node remembers when a client resumes it', () => {
  it('holds no tokens, because it can no longer land', async () => {
    const { client, other, held } = await unsettled(
      () => ({}),
      () => ({}),
    );
    await client.close();
    sandbox.controls.node.warp(MORE_THAN_A_DAY);
    // The node has pruned all earlier blocks.
    const restore = sandbox.controls.node.fault('getFirstAvailableBlock', {
      ...{ kind: 'offBy', at: '', by: 1e12 },
    });
    onTestFinished(restore);
    moveClock(25 * 3_600_000);
    expect(await other.resume()).toEqual([]);
    expect(await held()).toBe(0n);
  });
});

describe('a call of a client that finds a payment of more than a day ago', () => {
  it('ends with its caller while no node answers', async () => {
    const { client, other } = await unsettled(
      () => ({}),
      () => ({}),
    );
    await client.close();
    moveClock(25 * 3_600_000);
    const { node } = sandbox.controls;
    onTestFinished(node.fault('getEpochInfo', { kind: 'hang' }));
    const caller = new AbortController();
    const call = other.fetch(`${sandbox.apiUrl}/usdc`, { signal: caller.signal });
    const ended = call.catch((error: unknown) => error);
    await until('the node is asked', () => node.callsByMethod('other')['getEpochInfo']);
    caller.abort('given up');
    // Otherwise it would end by `timeouts.rpc`, with another reason.
    expect(await ended).toBe('given up');
  });
});

describe('a swap that no node remembers', () => {
  it('counts its full bound and does not block a later swap', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'exact-change-holds-'));
    const journal = fileJournal(join(directory, 'journal.jsonl'));
    onTestFinished(async () => {
      await closePayers();
      await journal.close();
      await rm(directory, { recursive: true });
    });
    const payer = await payerOn(sandbox, { SOL: '1' }, { autoSwap: true, journal });
    const { node } = sandbox.controls;
    onTestFinished(node.fault('sendTransaction', { kind: 'neverLands', times: 1 }));
    const lost = payer.client.fetch(`${sandbox.apiUrl}/usdc`);
    const failed = failureOf(lost, 'swap_uncertain');
    await until('the swap is signed', () =>
      payer.events.find(({ type }) => type === 'swap.signed'),
    );
    await payer.client.close();
    await failed;
    node.warp(MORE_THAN_A_DAY);
    onTestFinished(node.fault('getFirstAvailableBlock', { kind: 'offBy', at: '', by: 1e12 }));
    moveClock(25 * 3_600_000);
    const next = payer.again();
    expect((await next.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
    const owner = { wallet: payer.address, network: SOLANA_MAINNET };
    const [first] = await listOf(journal.attempts(owner));
    expect([first?.state, first?.swapped?.swaps]).toEqual(['unpaid', 1]);
  });
});

describe('an attempt that another process ends before it holds its tokens', () => {
  it('fails with an error of the journal, not for a shortage of tokens', async () => {
    const file = await journalOfTest();
    const journal: Journal = {
      ...file,
      // Without the hold: the balance may be unknown by then.
      reserve: (attempt, caps, along) => file.reserve(attempt, caps, along),
      coordination: (of) => {
        const { ledger, ...rest } = file.coordination(of);
        const take: Coordination['ledger']['take'] = async (account, id, ...args) => {
          await file.release(id);
          return ledger.take(account, id, ...args);
        };
        return { ...rest, ledger: { ...ledger, take } };
      },
    };
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
    const error = await failureOf(
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
      'journal_unavailable',
    );
    expect([error.funds, payer.signed]).toEqual(['untouched', []]);
  });
});
