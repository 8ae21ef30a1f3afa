import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SOLANA_MAINNET, type Coordination, type Owner } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { listOf } from '../helpers/attempts.js';
import { tokenAccount, until } from '../helpers/chain.js';
import { closePayers, failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

type Change = (ledger: Coordination['ledger']) => Partial<Coordination['ledger']>;

/**
 * A payment that its seller never settles, by a wallet whose ledger is changed as a test says; and
 * one more client of that wallet.
 */
async function unsettled(own: Change, others: Change) {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-holds-'));
  const file = fileJournal(join(directory, 'journal.jsonl'));
  onTestFinished(async () => {
    await closePayers();
    await file.close();
    await rm(directory, { recursive: true });
  });
  const seller = await startSeller((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    response.end('served for nothing');
  });
  onTestFinished(() => seller.close());
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
    other: payer.again({ journal: journalWith(others) }),
    decided: () =>
      until('the payment is decided', async () =>
        (await listOf(file.attempts(owner)))[0]?.state === 'unsettled' ? true : undefined,
      ),
    held: () => file.coordination(owner).ledger.held(account),
  };
}

describe('a payment that is taken up while another client decides it', () => {
  it('holds no tokens in the end', { timeout: 20_000 }, async () => {
    const { other, decided, held } = await unsettled(
      () => ({}),
      (ledger) => ({
        async hold(...given) {
          sandbox.controls.node.warp();
          await decided();
          await ledger.hold(...given);
        },
      }),
    );
    await other.resume();
    await other.close();
    expect(await held()).toBe(0n);
  });

  it('holds none either if the journal takes long for the last step of that', async () => {
    let [atLast, goOn] = [(): void => undefined, (): void => undefined];
    const isAtLast = new Promise<void>((resolve) => (atLast = resolve));
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    const { client, other, held } = await unsettled(
      (ledger) => ({
        async forget(account) {
          atLast();
          await mayGoOn;
          await ledger.forget(account);
        },
      }),
      (ledger) => ({
        async hold(...given) {
          sandbox.controls.node.warp();
          await isAtLast;
          await ledger.hold(...given);
        },
      }),
    );
    await other.resume();
    goOn();
    await Promise.all([other.close(), client.close()]);
    expect(await held()).toBe(0n);
  });
});

/** Blocks and slots of more than a day. */
const MORE_THAN_A_DAY = 220_000;

describe('a payment that no node can tell of any more when it is taken up', () => {
  it('holds no tokens: it can land no more', async () => {
    const { client, other, held } = await unsettled(
      () => ({}),
      () => ({}),
    );
    await client.close();
    sandbox.controls.node.warp(MORE_THAN_A_DAY);
    // A node that keeps none of the blocks of before.
    const restore = sandbox.controls.node.fault('getFirstAvailableBlock', {
      ...{ kind: 'offBy', at: '', by: 1e12 },
    });
    onTestFinished(restore);
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 3_600_000 });
    expect(await other.resume()).toEqual([]);
    expect(await held()).toBe(0n);
  });
});

describe('a swap that no node can tell of any more', () => {
  it(
    'keeps no later call from a swap; all that it may have taken counts',
    { timeout: 30_000 },
    async () => {
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
      onTestFinished(() => void vi.useRealTimers());
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 3_600_000 });
      const next = payer.again();
      expect((await next.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
      const owner = { wallet: payer.address, network: SOLANA_MAINNET };
      const [first] = await listOf(journal.attempts(owner));
      expect([first?.state, first?.swapped?.swaps]).toEqual(['unpaid', 1]);
    },
  );
});
