import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, inject, it, onTestFinished } from 'vitest';
import { useCommand } from '../helpers/command.js';
import { MAINNET_SLOT_MS, useSandbox } from '../helpers/sandbox.js';
import { timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20, slotMs: MAINNET_SLOT_MS });
const command = useCommand(
  sandbox,
  join(inject('packed').consumer, 'node_modules/.bin/exact-change'),
);

it('keeps one budget for parallel terminals, mcp and serve, even when serve dies', async () => {
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const env = {
    WALLET_SECRET_KEY: wallet.secretKey,
    EXACT_CHANGE_MAX_PER_PAYMENT: '0.05',
    EXACT_CHANGE_MAX_PER_DAY: '0.055',
  };
  // Start serve first, so that the other processes reach the journal through it.
  const service = command.start(['serve', '--port', '0'], { env });
  await service.printed(/Callers send/);
  const host = new Client({ name: 'host', version: '1' });
  const args = [command.path, 'mcp', '--allow-private'];
  const hostEnv = { ...command.env, ...env };
  await host.connect(new StdioClientTransport({ command: process.execPath, args, env: hostEnv }));
  onTestFinished(() => host.close());

  const url = (buyer: string) => `${sandbox.apiUrl}/usdc?${buyer}`;
  const byModel = async (item: string): Promise<string> => {
    const call = { name: 'paid_fetch', arguments: { url: url(item) } };
    const { structuredContent } = await host.callTool(call);
    const { ok, error } = structuredContent as { ok: boolean; error?: { code: string } };
    return ok ? 'paid' : (error?.code ?? 'no code');
  };
  const byTerminal = async (item: string): Promise<string> => {
    const { object } = await command.json(['fetch', '-y', url(item)], { env });
    return object.ok ? 'paid' : (object.error?.code ?? 'no code');
  };
  const buying = [...['a', 'b', 'c', 'd'].map(byTerminal), ...['e', 'f', 'g', 'h'].map(byModel)];
  await Promise.race(buying);
  service.child.kill('SIGKILL');
  const ended = await Promise.all(buying);
  expect(ended.sort()).toEqual([
    ...Array.from({ length: 3 }, () => 'budget_exhausted'),
    ...Array.from({ length: 5 }, () => 'paid'),
  ]);
  expect(await timesSpent(sandbox, wallet, 'USDC')).toBe(5);
});
