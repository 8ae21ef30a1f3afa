import { createClient, type Client } from 'exact-change';
import { afterEach, expect, it } from 'vitest';
import { until } from '../helpers/chain.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const clients: Client[] = [];

afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

/** A payer with RPC requests that the sandbox counts under a name. */
async function payerNamed(caller: string, wsUrl: string) {
  const { secretKey } = await sandbox.createWallet({ USDC: '1' });
  const rpcUrl = `${sandbox.rpcUrl}?caller=${caller}`;
  const client = createClient({
    walletSecretKey: secretKey,
    rpcUrl,
    wsUrl,
    jupiterUrl: sandbox.jupiterUrl,
  });
  clients.push(client);
  const settled = { count: 0 };
  client.on('payment.settled', () => (settled.count += 1));
  const url = `${sandbox.apiUrl}/usdc`;
  const sign = async () => (await client.pay(await fetch(url), { url })).header;
  const calls = (method: string) => sandbox.controls.node.callsByMethod(caller)[method] ?? 0;
  const searches = () => calls('getSignaturesForAddress');
  return {
    calls,
    searches,
    settled,
    headers: [await sign(), await sign()],
    present: ({ name, value }: { readonly name: string; readonly value: string }) =>
      fetch(url, { headers: { [name]: value } }),
  };
}

it('hears of late payments over one subscription, and searches the chain less often', async () => {
  const [subscribed, polling] = [
    await payerNamed('subscribed', `${sandbox.wsUrl}/?caller=subscribed`),
    await payerNamed('polling', 'ws://127.0.0.1:9'),
  ];
  // The client without a socket searches five times, each time for both payments.
  await until('the client without a socket has searched five times', () =>
    polling.searches() >= 5 ? true : undefined,
  );
  expect(subscribed.calls('accountSubscribe')).toBe(1);
  expect(subscribed.searches()).toBeLessThan(polling.searches());
  for (const header of subscribed.headers)
    expect((await subscribed.present(header)).status).toBe(200);
  await until('both payments are settled', () =>
    subscribed.settled.count === 2 ? true : undefined,
  );
});

it('finds late payments when the node accepts subscriptions and never notifies', async () => {
  sandbox.controls.node.webSocket = 'silent';
  const silent = await payerNamed('silent', `${sandbox.wsUrl}/?caller=silent`);
  for (const header of silent.headers) expect((await silent.present(header)).status).toBe(200);
  await until('both are settled', () => (silent.settled.count === 2 ? true : undefined));
  sandbox.controls.node.webSocket = 'on';
});
