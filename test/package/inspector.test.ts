import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { useCommand } from '../helpers/command.js';
import { MAINNET_SLOT_MS, useSandbox } from '../helpers/sandbox.js';
import { timesSpent } from '../helpers/spends.js';

const { consumer, doors } = inject('packed');
const sandbox = await useSandbox({ confirmationMs: 20, slotMs: MAINNET_SLOT_MS });
const command = useCommand(sandbox, join(consumer, 'node_modules/.bin/exact-change'));
const inspector = join(doors, 'node_modules/.bin/mcp-inspector');

/** Arguments of each tool, in the inspector's format. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  paid_fetch: [`url=${sandbox.apiUrl}/usdc`],
  plan: [`url=${sandbox.apiUrl}/usdc`],
  balance: ['tokens=["USDC"]'],
  quote: ['input=SOL', 'output=USDC', 'amount="0.1"'],
  swap: ['input=SOL', 'output=USDC', 'amount="0.001"'],
  receipts: ['last=5'],
  budget: [],
};

it('lets the official MCP inspector list and call every tool', async () => {
  const { address, secretKey } = await sandbox.createWallet({ SOL: '0.5', USDC: '1' });
  // The inspector passes only listed variables to the server.
  const variables = Object.entries({ ...command.env, WALLET_SECRET_KEY: secretKey });
  const environment = variables.flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const inspect = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
    const server = [process.execPath, command.path, 'mcp', '--allow-private'];
    // The inspector exits with 5 when a tool fails, but still prints the answer.
    const stdout = await new Promise<string>((resolve) => {
      execFile(
        process.execPath,
        [inspector, '--cli', ...environment, ...server, ...args],
        { env: command.env },
        (_, out) => resolve(out),
      );
    });
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const { tools } = await inspect('--method', 'tools/list');
  expect((tools as { name: string }[]).map(({ name }) => name)).toEqual(Object.keys(CALLS));
  const answers = await Promise.all(
    Object.entries(CALLS).map(async ([name, args]) => {
      const fields = args.flatMap((arg) => ['--tool-arg', arg]);
      const answer = await inspect('--method', 'tools/call', '--tool-name', name, ...fields);
      return [name, answer['structuredContent']];
    }),
  );
  expect(Object.fromEntries(answers)).toMatchObject({
    paid_fetch: { ok: true, funds: 'spent', data: { receipt: { paid: '0.01 USDC' } } },
    plan: { ok: true, data: { price: '0.01 USDC' } },
    balance: { ok: true, data: { balances: [{ symbol: 'USDC' }] } },
    quote: { ok: true, data: { takes: '0.1 SOL' } },
    // The inspector cannot ask its user for approval.
    swap: { ok: false, funds: 'untouched', error: { code: 'approval_refused' } },
    receipts: { ok: true },
    budget: { ok: true },
  });
  expect(await timesSpent(sandbox, { address }, 'USDC')).toBe(1);
});
