import { createClient, type Client } from 'exact-change';
import { afterEach, expect, it } from 'vitest';
import { until } from '../helpers/chain.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const clients: Client[] = [];

afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

/** A payer whose calls of the node are counted under a name. */
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

it('hears of a payment that settles late over one subscription, and searches the chain less for it than without a socket', async () => {
  const [hearing, deaf] = [
    await payerNamed('hearing', `${sandbox.wsUrl}/?caller=hearing`),
    await payerNamed('deaf', 'ws://127.0.0.1:9'),
  ];
  // Five looks, each for both of the payments that no caller presents.
  await until(
    'the client that hears nothing has looked for long',
    () => (deaf.searches() >= 5 ? true : undefined),
    30_000,
  );
  expect(hearing.calls('accountSubscribe')).toBe(1);
  expect(hearing.searches()).toBeLessThan(deaf.searches());
  for (const header of hearing.headers) expect((await hearing.present(header)).status).toBe(200);
  await until('it is told of both', () => (hearing.settled.count === 2 ? true : undefined));
}, 60_000);

it('finds it without a socket too, and if the node takes subscriptions and is silent', async () => {
  sandbox.controls.node.webSocket = 'silent';
  const silent = await payerNamed('silent', `${sandbox.wsUrl}/?caller=silent`);
  for (const header of silent.headers) expect((await silent.present(header)).status).toBe(200);
  await until('both are found', () => (silent.settled.count === 2 ? true : undefined), 60_000);
  sandbox.controls.node.webSocket = 'on';
}, 90_000);
