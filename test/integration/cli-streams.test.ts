import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { useCommand } from '../helpers/command.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
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

/** Returns the process that a process, its only child and so on have started last. */
function lastChildOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? pid : lastChildOf(Number(children));
}

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

  it.each([
    ['fetch', [...paying, url], 76],
    ['fetch --json', ['--json', ...paying, url], 76],
    ['pay', ['pay', '--yes', '--max', '0.50', '--url', url], 75],
    ['budget', ['budget'], 1],
  ])('does not report success if standard output cannot be written (%s)', async (_, args, code) => {
    const { env } = await buyer();
    const { headers } = await fetch(url);
    await using full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, [command.path, ...args], {
      env: { ...command.env, ...env },
      stdio: ['pipe', full.fd, 'ignore'],
    });
    child.stdin?.end(headers.get('payment-required'));
    expect(await once(child, 'close')).toEqual([code, null]);
  });

  it('reads a paid answer to its end when the reader of standard output has ended', async () => {
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then((settlement) =>
        answer(response, 200, 'x'.repeat(2_000_000), settlementHeader({ ...settlement })),
      );
    });
    const run = command.start([...paying, seller.url], await buyer());
    run.child.stdout?.once('data', () => run.child.stdout?.destroy());
    const { code, stderr } = await run.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('State settled') });
  });

  it('leaves a paid answer without end when the reader of standard output has ended', async () => {
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then((settlement) => {
        response.writeHead(200, settlementHeader({ ...settlement }));
        const ticks = setInterval(() => response.write('tick '.repeat(1_000)), 20);
        response.once('close', () => clearInterval(ticks));
      });
    });
    const run = command.start([...paying, seller.url], await buyer());
    run.child.stdout?.once('data', () => run.child.stdout?.destroy());
    const { code, stderr } = await run.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('State settled') });
  });

  it.each([
    ['Pay?', ['fetch', url]],
    ['Swap?', ['swap', 'usdc', 'sol', '--amount', '0.1']],
  ])('ends with its call, although the person has not answered (%s)', async (question, args) => {
    const run = command.onTerminal(args, await buyer());
    await run.printed(question);
    process.kill(lastChildOf(run.child.pid ?? 0), 'SIGTERM');
    expect(await run.ended).toMatchObject({
      code: 130,
      stdout: expect.stringContaining('Nothing was signed or paid.'),
    });
  });

  it('repeats no seed of the command line in what it prints', async () => {
    const { env } = await buyer();
    const seed = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T';
    for (const args of [
      [`--kye=${seed}`],
      [seed],
      ['balance', `-k${seed}`],
      ['wallet', 'import', '--from', seed],
      ['receipts', '--state', seed],
      ['receipts', `-n${seed}`],
      ['balance', seed],
      ['fetch', '-d', `@${seed}`, url],
      ['serve', '--port', '0', '--hostname', seed],
    ]) {
      const { code, stdout, stderr } = await command.run(['--json', ...args], { env });
      expect(code).not.toBe(0);
      expect(
        `${args.join(' ')}: ${stdout}${stderr}`.toLowerCase().split(seed.toLowerCase()),
      ).toHaveLength(2);
    }
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
