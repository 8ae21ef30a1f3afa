// A service holds the keys of Jupiter and the node, and plans payments. An agent elsewhere holds
// its wallet and signs. Everything is real and runs on this machine: `npx tsx examples/service.ts`.
// With `--wrong-key` the service does not know the agent's key, so the story must fail.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, local, settled } from 'exact-change';
import { expressHandler } from 'exact-change/express';
import { apiKeys, createHandler } from 'exact-change/http';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import express from 'express';

const API_KEY = 'a-key-that-the-agent-was-given';

const say = (actor: string, text: string) =>
  void process.stdout.write(`${actor.padEnd(8)} ${text}\n`);

const sandbox = await createSandbox();
try {
  await run(sandbox);
} finally {
  await sandbox.close();
}

async function run(sandbox: Sandbox): Promise<void> {
  const { rpcUrl, jupiterUrl, apiUrl: shop } = sandbox;
  const handler = createHandler(local({ rpcUrl, jupiterUrl }), {
    basePath: '/pay',
    authorize: apiKeys([API_KEY]),
  });
  const app = express();
  app.use((request, _, next) => {
    say('service', `${request.method} ${request.path}`);
    next();
  });
  app.use('/pay', expressHandler(handler));
  const server = createServer((request, response) => void app(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // Bound to TCP, so never a pipe's name or null.

  const wallet = await sandbox.createWallet({ SOL: '0.5' });
  const client = createClient({
    walletSecretKey: wallet.secretKey,
    apiUrl: `http://127.0.0.1:${port}/pay`,
    apiKey: process.argv.includes('--wrong-key') ? 'some-other-key' : API_KEY,
    // The agent checks the service's answers with its own node and Jupiter.
    rpcUrl,
    jupiterUrl,
    autoSwap: true,
  });
  try {
    say('agent', `${wallet.address} holds 0.5 SOL, and wants what costs USDC`);
    const response = await client.fetch(`${shop}/usdc`);
    say('agent', `was answered ${response.status} ${await response.text()}`);
    const receipt = await settled(response);
    if (receipt?.state !== 'settled') throw new Error('the payment is not settled');
    const { payment, swap } = receipt;
    say(
      'agent',
      `paid ${payment.uiAmount} ${payment.symbol ?? payment.mint}: ${payment.signature ?? ''}`,
    );
    say('agent', `after a swap that it signed itself: ${swap?.signature ?? 'none'}`);
    await client.fetch(`${shop}/usdc`);
    say('agent', 'paid once more, from what the swap had brought');
  } finally {
    await client.close();
    server.close();
    server.closeAllConnections();
  }
}
