import { address, getAddressDecoder } from '@solana/kit';
import type { Receipt } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';
import { launch, openPage, type BrowserPage } from './harness.js';

let sandbox: Sandbox;
let browser: Browser;
let opened: BrowserPage;
let wallet: string;

beforeAll(async () => {
  sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 0 });
  browser = await launch();
  opened = await openPage(browser);
  wallet = await openWallet();
  const owner = address(wallet);
  sandbox.chain.fundSol(owner, 500_000_000n);
  await sandbox.chain.fundToken(owner, sandbox.mints.BONK, 50_000_000_000n);
});

afterAll(async () => {
  await opened.close();
  await browser.close();
  await sandbox.close();
});

declare global {
  /** The page's paying client. */
  var client: ReturnType<typeof exactChange.createClient>;
}

/** Makes a client in the page with a key that never leaves the page, and returns its address. */
async function openWallet(): Promise<string> {
  const publicKey = await opened.page.evaluateHandle(async () => {
    const { privateKey, publicKey } = await crypto.subtle.generateKey('Ed25519', false, [
      'sign',
      'verify',
    ]);
    return {
      privateKey,
      bytes: [...new Uint8Array(await crypto.subtle.exportKey('raw', publicKey))],
    };
  });
  const bytes = await publicKey.evaluate((keys) => keys.bytes);
  const owner = getAddressDecoder().decode(Uint8Array.from(bytes));
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const extractable = await opened.page.evaluate(
    ({ keys, options, owner }) => {
      const signer = {
        address: owner,
        signMessage: async (message: Uint8Array) =>
          new Uint8Array(
            await crypto.subtle.sign('Ed25519', keys.privateKey, Uint8Array.from(message)),
          ),
      };
      globalThis.client = exactChange.createClient({ ...options, signer, autoSwap: true });
      return keys.privateKey.extractable;
    },
    { keys: publicKey, options: { rpcUrl, wsUrl, jupiterUrl }, owner },
  );
  expect(extractable).toBe(false);
  return owner;
}

/** Returns whether a transaction is on the chain without an error. */
async function landed(signature: string | undefined): Promise<boolean> {
  const params = [signature, { maxSupportedTransactionVersion: 0, commitment: 'confirmed' }];
  const answer = await fetch(sandbox.rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params }),
  });
  const { result } = (await answer.json()) as { result: { meta: { err: unknown } } | null };
  return result !== null && result.meta.err === null;
}

describe('a page in Chromium', () => {
  it('pays a USDC price from SOL and BONK, and shows the answer and the receipt', async () => {
    const before = await sandbox.balance(sandbox.merchant, 'USDC');
    await opened.page.evaluate(async (url) => {
      const settled = new Promise<Receipt>((resolve) =>
        client.on('payment.settled', ({ receipt }) => resolve(receipt)),
      );
      const response = await client.fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ question: 'from a page' }),
      });
      document.title = String(response.status);
      document.body.innerHTML = '<pre id="answer"></pre><pre id="receipt"></pre>';
      document.querySelector('#answer')?.append(await response.text());
      await settled;
      document.querySelector('#receipt')?.append(JSON.stringify(exactChange.receiptOf(response)));
    }, `${sandbox.apiUrl}/echo`);

    expect(await opened.page.title()).toBe('200');
    const answer = JSON.parse((await opened.page.textContent('#answer')) ?? '') as unknown;
    expect(answer).toMatchObject({ ok: true, method: 'POST', body: { question: 'from a page' } });
    const receipt = JSON.parse((await opened.page.textContent('#receipt')) ?? '') as Receipt;
    expect(receipt).toMatchObject({
      state: 'settled',
      url: `${sandbox.apiUrl}/echo`,
      payment: {
        mint: sandbox.mints.USDC.address,
        amount: '10000',
        payer: wallet,
        payTo: sandbox.merchant,
      },
      swap: { outputMint: sandbox.mints.USDC.address },
      settlement: { success: true },
    });
    expect(receipt.payment.signature).toBe(receipt.settlement?.transaction);
    expect(
      await Promise.all([landed(receipt.payment.signature), landed(receipt.swap?.signature)]),
    ).toEqual([true, true]);
    expect((await sandbox.balance(sandbox.merchant, 'USDC')) - before).toBe(10_000n);
  });

  it('pays the next call without a swap, from the rest of the first swap', async () => {
    const result = await opened.page.evaluate(async (url) => {
      const response = await client.fetch(url);
      return { status: response.status, receipt: exactChange.receiptOf(response) };
    }, `${sandbox.apiUrl}/usdc`);
    expect(result.status).toBe(200);
    expect(result.receipt?.swap).toBeUndefined();
  });

  it('reports an opaque paid redirect as uncertain until the chain shows it', async () => {
    const before = await sandbox.balance(sandbox.merchant, 'USDC');
    const result = await opened.page.evaluate(async (url) => {
      // The payment of the earlier call may settle now too.
      const settled = new Set<string>();
      let heard = () => {};
      client.on('payment.settled', ({ id }) => {
        settled.add(id);
        heard();
      });
      const response = await client.fetch(url);
      const early = exactChange.receiptOf(response);
      while (early !== undefined && !settled.has(early.id))
        await new Promise<void>((resolve) => (heard = resolve));
      return {
        type: response.type,
        status: response.status,
        early,
        late: exactChange.receiptOf(response),
      };
    }, `${sandbox.apiUrl}/redirects`);
    expect([result.type, result.status]).toEqual(['opaqueredirect', 0]);
    expect([result.early?.state, result.early?.settlement, result.late?.state]).toEqual([
      'uncertain',
      undefined,
      'settled',
    ]);
    expect(await landed(result.late?.payment.signature)).toBe(true);
    expect((await sandbox.balance(sandbox.merchant, 'USDC')) - before).toBe(10_000n);
  });

  it('sends every form of a request as fetch does', async () => {
    const bodies = await opened.page.evaluate(async (url) => {
      const headers = { 'content-type': 'text/plain' };
      const calls = [
        () => client.fetch(url, { method: 'POST', headers, body: 'text' }),
        () => client.fetch(new Request(url, { method: 'POST', headers, body: 'request' })),
        () => client.fetch(new URL(url), { method: 'POST', headers, body: new Blob(['blob']) }),
        () =>
          client.fetch(url, {
            method: 'POST',
            headers: new Headers(headers),
            body: new TextEncoder().encode('bytes'),
          }),
        () => client.fetch(url, { method: 'POST', body: new URLSearchParams({ a: 'b' }) }),
      ];
      const answers: unknown[] = [];
      for (const call of calls)
        answers.push(((await (await call()).json()) as { body: unknown }).body);
      return answers;
    }, `${sandbox.apiUrl}/usdc`);
    expect(bodies).toEqual(['text', 'request', 'blob', 'bytes', 'a=b']);
  });

  it('returns free answers and network errors as fetch does', async () => {
    const result = await opened.page.evaluate(
      async ({ free, blocked }) => {
        const response = await client.fetch(free);
        const errors = await Promise.all(
          [client.fetch(blocked), fetch(blocked)].map((call) => call.catch(String)),
        );
        const relative = await client.fetch('page.js');
        return {
          status: response.status,
          receipt: exactChange.receiptOf(response),
          errors,
          relative: relative.url,
        };
      },
      { free: `${sandbox.apiUrl}/free`, blocked: 'http://127.0.0.1:22/' },
    );
    expect([result.status, result.receipt]).toEqual([200, undefined]);
    expect(result.errors[0]).toBe(result.errors[1]);
    expect(result.relative).toBe(new URL('page.js', opened.page.url()).href);
  });

  it('prints nothing beside the browser’s own notes of each 402 and of the blocked port', () => {
    const browserNote =
      /^Failed to load resource: (the server responded with a status of 402 \(Payment Required\)|net::ERR_UNSAFE_PORT)$/;
    expect(opened.printed.filter((line) => !browserNote.test(line))).toEqual([]);
  });
});
