import { HTTPInterceptor, local, remote, type ClientOptions } from 'exact-change';
import { expect, it, onTestFinished } from 'vitest';
import { useSandbox } from '../helpers/sandbox.js';
import { says, startWireService } from '../helpers/wire-service.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

// A transport that the caller makes uses the global fetch, which the interceptor replaces.
it.each<[string, (url: string) => ClientOptions]>([
  ['its apiUrl', (url) => ({ apiUrl: url })],
  ['its transport', (url) => ({ transport: remote(url) })],
  ['its Jupiter', (url) => ({ transport: local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: url }) })],
  ['its node', (url) => ({ transport: local({ rpcUrl: url, jupiterUrl: sandbox.jupiterUrl }) })],
])(
  'is not paid by an installed interceptor that uses it as %s, if it answers with a 402',
  async (_, optionsAt) => {
    const terms = (await fetch(`${sandbox.apiUrl}/usdc`)).headers.get('payment-required') ?? '';
    const wire = await startWireService(
      says(402, 'application/json', '{}', { 'payment-required': terms }),
    );
    onTestFinished(() => wire.close());
    const { secretKey: walletSecretKey } = await sandbox.createWallet({
      SOL: '0.5',
      BONK: '5000000',
      USDC: '1',
    });
    const { rpcUrl, jupiterUrl } = sandbox;
    const interceptor = new HTTPInterceptor({
      walletSecretKey,
      rpcUrl,
      jupiterUrl,
      autoSwap: true,
      ...optionsAt(wire.url),
    });
    const paid: string[] = [];
    interceptor.client.on('payment.sent', ({ url }) => void paid.push(new URL(url).origin));
    try {
      await fetch(`${sandbox.apiUrl}/usdt`).catch(() => undefined);
      await interceptor.client.balance('USDT').catch(() => undefined);
      expect(wire.seen.length).toBeGreaterThan(0);
      expect(
        wire.seen.filter(({ headers }) => 'payment-signature' in headers || 'x-payment' in headers),
      ).toEqual([]);
      expect(paid).not.toContain(wire.url);
    } finally {
      interceptor.restore();
      await interceptor.client.close();
    }
  },
);
