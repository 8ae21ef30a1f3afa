import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useCommand } from '../helpers/command.js';
import { useSandbox } from '../helpers/sandbox.js';
import { timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const command = useCommand(sandbox);
const url = `${sandbox.apiUrl}/usdc`;

async function buyer() {
  const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
  const state = join(command.folder, address);
  return { address, env: { WALLET_SECRET_KEY: secretKey, XDG_STATE_HOME: state } };
}

const paying = ['fetch', '--yes', '--max', '0.50'];

describe('exact-change and the streams of its process', () => {
  it('writes a paid answer to a place that is no regular file', async () => {
    const wallet = await buyer();
    const { code: nowhere } = await command.run([...paying, '-o', '/dev/null', url], wallet);
    expect(nowhere).toBe(0);
    const { code, stdout } = await command.run([...paying, '-o', '-', `${url}?2`], wallet);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"ok":true') });
  });

  it('pays to the end when the reader of standard error has ended', async () => {
    const wallet = await buyer();
    const run = command.start([...paying, url], wallet);
    run.child.stderr?.destroy();
    expect(await run.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('"ok"') });
    expect(await timesSpent(sandbox, wallet, 'USDC')).toBe(1);
  });

  it('asks on the terminal on which the terms were typed', async () => {
    const wallet = await buyer();
    const header = (await fetch(url)).headers.get('payment-required') ?? '';
    const terms: unknown = JSON.parse(Buffer.from(header, 'base64').toString());
    const run = command.onTerminal(['pay', '--url', url], wallet);
    run.type(`${JSON.stringify(terms, null, 1)}\n\u0004`);
    await run.printed('Pay?');
    run.type('y');
    expect(await run.ended).toMatchObject({ code: 0 });
  });
});
