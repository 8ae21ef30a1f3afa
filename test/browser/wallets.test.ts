import { address } from '@solana/kit';
import type { Client, createClient, ErrorDetails, receiptOf } from 'exact-change';
import type { connectWallet, StandardWallet } from 'exact-change/wallet-standard';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployLighthouse } from '../helpers/lighthouse.js';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';
import { launch, openPage, type BrowserPage } from './harness.js';
import type { Form, testWallet } from './test-wallet.js';

declare global {
  /** The functions that `wallets.mjs` puts into the page. */
  var walletPage: {
    readonly getWallets: () => { get(): readonly StandardWallet[] };
    readonly registerWallet: (wallet: object) => void;
    readonly connectWallet: typeof connectWallet;
    readonly testWallet: typeof testWallet;
    readonly createClient: typeof createClient;
    readonly receiptOf: typeof receiptOf;
  };
  /** Clients by the name of their wallet. */
  var payers: Map<string, { client: Client; asked: readonly unknown[] }> | undefined;
}

let sandbox: Sandbox;
let browser: Browser;
let opened: BrowserPage;

beforeAll(async () => {
  sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 0 });
  deployLighthouse(sandbox);
  browser = await launch();
  opened = await openPage(browser, 'wallets.mjs');
});

afterAll(async () => {
  await opened.close();
  await browser.close();
  await sandbox.close();
});

/** Registers a wallet in the page, connects and funds it, and returns its address. */
async function connected(form: Form): Promise<string> {
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const owner = await opened.page.evaluate(
    async ({ form, options }) => {
      const wallet = await walletPage.testWallet(form, form);
      walletPage.registerWallet(wallet);
      const found = walletPage
        .getWallets()
        .get()
        .find(({ name }) => name === form);
      if (found === undefined) throw new Error('not announced');
      const signer = await walletPage.connectWallet(found);
      const client = walletPage.createClient({ ...options, signer, autoSwap: true });
      (globalThis.payers ??= new Map()).set(form, { client, asked: wallet.asked });
      return client.address;
    },
    { form, options: { rpcUrl, wsUrl, jupiterUrl } },
  );
  sandbox.chain.fundSol(address(owner), 500_000_000n);
  return owner;
}

/** Buys in the page, and returns the outcome. */
const buy = (form: Form) =>
  opened.page.evaluate(
    async ({ form, url }) => {
      const { client, asked } = payers?.get(form) ?? {};
      try {
        const response = await client?.fetch(url);
        const receipt = response === undefined ? undefined : walletPage.receiptOf(response);
        return { status: response?.status, amount: receipt?.payment.amount, asked };
      } catch (error) {
        const { code, details } = error as {
          code: string;
          details: ErrorDetails['signing_failed'];
        };
        return { code, rule: details.rule, asked };
      }
    },
    { form, url: `${sandbox.apiUrl}/usdc` },
  );

describe('a wallet of the Wallet Standard in Chromium', () => {
  it.each<Form>(['none', 'solflare', 'most'])(
    'swaps SOL and pays in wallet form %s, and the official facilitator settles',
    async (form) => {
      const owner = await connected(form);
      const before = await sandbox.balance(sandbox.merchant, 'USDC');
      expect(await buy(form)).toEqual({
        status: 200,
        amount: '10000',
        asked: ['solana:mainnet', 'solana:mainnet'],
      });
      expect((await sandbox.balance(sandbox.merchant, 'USDC')) - before).toBe(10_000n);
      expect(await sandbox.balance(owner, 'USDC')).toBeGreaterThan(0n);
    },
  );

  it.each<[Form, string]>([
    ['phantom', 'wallet_form'],
    ['writes', 'wallet_memory_write'],
  ])('is refused in wallet form %s before a payment is presented', async (form, rule) => {
    const owner = await connected(form);
    await sandbox.chain.fundToken(address(owner), sandbox.mints.USDC, 50_000n);
    const { length } = sandbox.controls.api.served;
    expect(await buy(form)).toMatchObject({ code: 'signing_failed', rule });
    expect(sandbox.controls.api.served).toHaveLength(length);
    expect(await sandbox.balance(owner, 'USDC')).toBe(50_000n);
  });

  it('is refused when it lacks version 0 transactions or an account on the network', async () => {
    const errors = await opened.page.evaluate(async () => {
      const { connectWallet: connect, testWallet: make } = walletPage;
      const old = await make('old', 'none', ['legacy']);
      const other = await make('other', 'none');
      const calls = [() => connect(old), () => connect(other, { network: 'devnet' })];
      return Promise.all(calls.map((call) => call().catch(String)));
    });
    expect(errors).toEqual([
      expect.stringContaining('version 0'),
      expect.stringContaining('no account on solana:devnet'),
    ]);
  });
});
