import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch, openPage, type BrowserPage } from './harness.js';

const seed = Array.from({ length: 32 }, (_, index) => index + 1);
let browser: Browser;
let opened: BrowserPage;

beforeAll(async () => {
  browser = await launch();
  opened = await openPage(browser);
});

afterAll(async () => {
  await opened.close();
  await browser.close();
});

describe('the library in Chromium', () => {
  it('makes a client from a key, and refuses a bad option with a typed error', async () => {
    const result = await opened.page.evaluate((seed) => {
      const walletSeed = Uint8Array.from(seed);
      const { createClient, isExactChangeError } = exactChange;
      const { address } = createClient({ walletSeed });
      try {
        createClient({ walletSeed, rpcUrl: 'nonsense' });
        return { address, refused: false };
      } catch (error) {
        return { address, refused: isExactChangeError(error, 'invalid_option') };
      }
    }, seed);
    expect(result).toEqual({
      address: '9C6hybhQ6Aycep9jaUnP6uL9ZYvDjUp1aSkFWPUFJtpj',
      refused: true,
    });
  });

  it('loads the engine without a polyfill', async () => {
    const caps = await opened.page.evaluate(
      (seed) => exactChange.createClient({ walletSeed: Uint8Array.from(seed) }).spent(),
      seed,
    );
    expect(caps.length).toBeGreaterThan(0);
  });

  it('signs with a WebCrypto key that cannot be exported', async () => {
    const result = await opened.page.evaluate(async (seed) => {
      const imported: CryptoKey[] = [];
      const { subtle } = crypto;
      const importKey = subtle.importKey.bind(subtle);
      Object.assign(subtle, {
        importKey: async (...args: Parameters<typeof importKey>) => {
          const key = await importKey(...args);
          imported.push(key);
          return key;
        },
      });
      const signer = exactChange.createSeedSigner(Uint8Array.from(seed));
      const message = Uint8Array.from([1, 2, 3]);
      const intent = {
        kind: 'payment',
        network: 'solana',
        mint: 'm',
        amount: '1',
        payTo: 'p',
        url: 'u',
      } as const;
      const signature = await signer.signMessage(message, intent);
      const [key] = imported;
      const exported =
        key === undefined
          ? 'no key'
          : await subtle.exportKey('pkcs8', key).then(
              () => 'exported',
              (error: unknown) => (error as Error).name,
            );
      const keys = imported.length;
      const valid = await exactChange.verifySignature(message, signature, signer.address);
      return { valid, exported, keys };
    }, seed);
    expect(result).toEqual({ valid: true, exported: 'InvalidAccessError', keys: 1 });
  });

  it('prints nothing to the console', () => {
    expect(opened.printed).toEqual([]);
  });
});
