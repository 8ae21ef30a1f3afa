import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';

const run = promisify(execFile);
const { consumer, nodes } = inject('packed');
const bin = join(consumer, 'node_modules/.bin/exact-change');

const majorOf = ({ version }: (typeof nodes)[number]) => Number(version.split('.')[0]);

describe('the installed command', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS });
  });
  afterAll(() => sandbox.close());

  it.each(nodes.filter((node) => majorOf(node) >= 20))(
    'swaps and pays on Node $version',
    async ({ version, binary }) => {
      const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
      const env = {
        HOME: consumer,
        XDG_STATE_HOME: join(consumer, `state-${version}`),
        WALLET_SECRET_KEY: secretKey,
        SOLANA_RPC_URL: sandbox.rpcUrl,
        JUPITER_URL: sandbox.jupiterUrl,
      };
      const args = ['fetch', '--yes', '--max', '0.50', `${sandbox.apiUrl}/usdc`];
      const { stdout, stderr } = await run(binary, [bin, ...args], { cwd: consumer, env });
      expect(stdout).toContain('"path":"/usdc"');
      expect(stderr).toContain('State settled');
    },
  );

  it.each(nodes.filter((node) => majorOf(node) < 20))(
    'exits on Node $version with a request for a newer Node',
    async ({ binary }) => {
      await expect(run(binary, [bin, '--help'], { cwd: consumer })).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('needs Node 20.12 or newer'),
      });
    },
  );

  it('serves its tools over MCP', async () => {
    const { secretKey } = await sandbox.createWallet({});
    const host = new Client({ name: 'host', version: '1' });
    const env = {
      ...{ PATH: process.env['PATH'] ?? '', HOME: consumer, WALLET_SECRET_KEY: secretKey },
      XDG_STATE_HOME: join(consumer, 'state-mcp'),
    };
    await host.connect(new StdioClientTransport({ command: bin, args: ['mcp'], env }));
    onTestFinished(() => host.close());
    const { tools } = await host.listTools();
    expect(tools.map(({ name }) => name)).toContain('paid_fetch');
    const { structuredContent } = await host.callTool({ name: 'budget', arguments: {} });
    expect(structuredContent).toMatchObject({ ok: true, funds: 'untouched' });
  });

  it('shows its version and its commands', async () => {
    expect((await run(bin, ['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(bin, ['--help'])).stdout).toMatch(/^Usage: exact-change /);
  });
});
