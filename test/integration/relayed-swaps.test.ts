import { createClient, type Client, type ClientOptions, type Plan } from 'exact-change';
import type { SandboxWallet } from 'exact-change-sandbox';
import { afterEach, describe, expect, it } from 'vitest';
import { decided, onSandbox } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const { relayer } = sandbox.controls;
let clients: Client[] = [];

afterEach(async () => {
  relayer.restore();
  await Promise.all(clients.map((client) => client.close()));
  clients = [];
});

function clientFor(wallet: SandboxWallet, options: ClientOptions = {}): Client {
  const client = createClient(
    onSandbox(sandbox, wallet, { relayer: { url: sandbox.relayerUrl }, ...options }),
  );
  clients.push(client);
  return client;
}

describe('a wallet without SOL', () => {
  it.each(['USDT', 'BONK'] as const)('pays in USDC from %s alone', async (held) => {
    const wallet = await sandbox.createWallet({ [held]: held === 'USDT' ? '5' : '500000' });
    const client = clientFor(wallet);
    const answer = await client.fetch(`${sandbox.apiUrl}/usdc`);
    const receipt = await decided(answer);
    console.log(JSON.stringify(receipt, null, 1));
    expect([answer.status, receipt.state]).toEqual([200, 'settled']);
    expect(await sandbox.balance(wallet.address, 'SOL')).toBe(0n);
  });
});
