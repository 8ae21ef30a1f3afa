import { createSandbox } from 'exact-change-sandbox';
import { beforeEach, describe, expect, it } from 'vitest';
import { useSandbox } from '../helpers/sandbox.js';

const LABELS = '/swap/v1/program-id-to-label';

const sandbox = await useSandbox({ seed: 'faults', confirmationMs: 0 });

beforeEach(() => {
  sandbox.controls.aggregator.restore();
  sandbox.controls.aggregator.resetCalls();
});

describe('a fault of a service', () => {
  it('answers with the ordered status, headers and body, as often as ordered', async () => {
    sandbox.controls.aggregator.fault(LABELS, {
      kind: 'status',
      status: 503,
      headers: { 'retry-after': '2' },
      body: 'busy',
      times: 2,
    });
    for (const _ of [1, 2]) {
      const response = await fetch(sandbox.jupiterUrl + LABELS);
      expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual(
        [503, '2', 'busy'],
      );
    }
    expect((await fetch(sandbox.jupiterUrl + LABELS)).status).toBe(200);
    expect(sandbox.controls.aggregator.calls(LABELS)).toBe(3);
    expect(sandbox.controls.aggregator.calls()).toBe(3);
  });

  it('answers bytes that are not JSON', async () => {
    sandbox.controls.aggregator.fault('*', { kind: 'garbage', times: 1 });
    const response = await fetch(sandbox.jupiterUrl + LABELS);
    expect(response.status).toBe(200);
    await expect(response.json()).rejects.toThrow(SyntaxError);
  });

  it('hangs until the caller aborts', async () => {
    sandbox.controls.aggregator.fault(`GET ${LABELS}`, { kind: 'hang', times: 1 });
    const controller = new AbortController();
    const pending = fetch(sandbox.jupiterUrl + LABELS, { signal: controller.signal });
    while (sandbox.controls.aggregator.calls(LABELS) === 0)
      await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await expect(pending).rejects.toThrow('aborted');
  });

  it('cuts the connection before the handler, or after it', async () => {
    const { api } = sandbox.controls;
    api.fault('/free', { kind: 'dropBefore', times: 1 });
    await expect(fetch(`${sandbox.apiUrl}/free`)).rejects.toThrow('fetch failed');
    api.fault('/free', { kind: 'dropAfter', times: 1 });
    await expect(fetch(`${sandbox.apiUrl}/free`)).rejects.toThrow('fetch failed');
    expect((await fetch(`${sandbox.apiUrl}/free`)).status).toBe(200);
  });

  it('follows earlier faults in order, and can be called off', async () => {
    const { aggregator } = sandbox.controls;
    aggregator.fault(LABELS, { kind: 'status', status: 429, times: 1 });
    const callOff = aggregator.fault('*', { kind: 'status', status: 500 });
    const status = async (): Promise<number> => (await fetch(sandbox.jupiterUrl + LABELS)).status;
    expect([await status(), await status(), await status()]).toEqual([429, 500, 500]);
    callOff();
    expect(await status()).toBe(200);
  });

  it('delays one endpoint and no other endpoint', async () => {
    sandbox.controls.aggregator.setLatency(600_000, LABELS);
    const controller = new AbortController();
    const delayed = fetch(sandbox.jupiterUrl + LABELS, { signal: controller.signal });
    expect((await fetch(`${sandbox.jupiterUrl}/swap/v1/quote`)).status).toBe(400);
    expect(sandbox.controls.aggregator.calls(LABELS)).toBeLessThanOrEqual(1);
    controller.abort();
    await expect(delayed).rejects.toThrow('aborted');
  });
});

describe('a sandbox', () => {
  it('creates the same wallets from the same seed, and other wallets without a seed', async () => {
    const [first, second, random] = await Promise.all([
      createSandbox({ seed: 'x', slotMs: 0 }),
      createSandbox({ seed: 'x', slotMs: 0 }),
      createSandbox({ slotMs: 0 }),
    ]);
    const wallets = await Promise.all(
      [first, second, random].map((opened) =>
        opened.createWallet({ SOL: '0.5', BONK: '12.34567' }),
      ),
    );
    expect(wallets[0]).toEqual(wallets[1]);
    expect(wallets[2]?.address).not.toBe(wallets[0]?.address);
    expect([first.merchant, first.feePayer]).toEqual([second.merchant, second.feePayer]);
    const address = wallets[0]?.address ?? '';
    expect([await first.balance(address, 'SOL'), await first.balance(address, 'BONK')]).toEqual([
      500_000_000n,
      1_234_567n,
    ]);
    expect(await first.balance(address, 'USDC')).toBe(0n);
    await Promise.all([first, second, random].map((opened) => opened.close()));
  });

  it('refuses invalid amounts', async () => {
    await expect(sandbox.createWallet({ USDC: '1.0000001' })).rejects.toThrow(RangeError);
    await expect(sandbox.createWallet({ USDC: '1e3' })).rejects.toThrow(RangeError);
    await expect(sandbox.balance('not an address', 'USDC')).rejects.toThrow(TypeError);
  });

  it('leaves no open server or call when it closes, also when it closes twice', async () => {
    const closing = await createSandbox();
    const urls = [closing.rpcUrl, closing.jupiterUrl, closing.apiUrl, closing.facilitatorUrl];
    closing.controls.api.fault('/free', { kind: 'hang' });
    const hanging = expect(fetch(`${closing.apiUrl}/free`)).rejects.toThrow('fetch failed');
    while (closing.controls.api.calls('/free') === 0)
      await new Promise((resolve) => setImmediate(resolve));
    await closing.close();
    await closing.close();
    await hanging;
    for (const url of urls) await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});

describe('the relayer', () => {
  it('refuses a body that is no JSON object, and goes on', async () => {
    for (const body of ['no json', 'null']) {
      const response = await fetch(sandbox.relayerUrl, { method: 'POST', body });
      expect(await response.json()).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: { code: -32700, message: 'Parse error' },
      });
    }
  });
});
