import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { useCommand } from '../helpers/command.js';
import { MAINNET_SLOT_MS, useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20, slotMs: MAINNET_SLOT_MS });
const bin = join(inject('packed').consumer, 'node_modules/.bin/exact-change');
const command = useCommand(sandbox, bin);
const { address, secretKey } = await sandbox.createWallet({ SOL: '1', USDC: '1', BONK: '7' });
command.env['WALLET_SECRET_KEY'] = secretKey;
command.env['EXACT_CHANGE_MAX_PER_PAYMENT'] = '0.50';

describe('the command', () => {
  it('shows balances, quotes, receipts and budgets in words and in JSON', async () => {
    expect((await command.json(['balance', 'sol', 'USDC'])).object).toMatchObject({
      ok: true,
      address,
      balances: [
        { symbol: 'SOL', uiAmount: '1' },
        { symbol: 'USDC', uiAmount: '1' },
      ],
    });
    expect((await command.run(['balance'])).stdout).toMatch(
      /^\w+\namount +token +mint\n1 +SOL +So1/,
    );
    expect((await command.run(['quote', 'SOL', 'USDC', '--amount', '0.5'])).stdout).toMatch(
      /^0\.5 SOL for 74\.9\d+ USDC \(jupiter-v\d\)\n/,
    );

    const paid = await command.run(['fetch', '-ys', `${sandbox.apiUrl}/usdc`]);
    expect(paid).toMatchObject({ code: 0, stderr: '' });
    expect((await command.run(['receipts'])).stdout).toMatch(
      /settled +0\.01 USDC +0\.01 USD +GET http:\/\/127\.0\.0\.1:\d+\/usdc\n$/,
    );
    const csv = (await command.run(['receipts', '--csv', '--since', '1h'])).stdout.split('\r\n');
    expect(csv).toHaveLength(3);
    expect(csv[1]).toMatch(
      /^\w+,\d{4}-\d\d-\d\dT[\d:.]+Z,settled,127\.0\.0\.1:\d+,GET,\/usdc,0\.01,USDC,/,
    );
    expect((await command.run(['receipts', '--chart', 'host'])).stdout).toMatch(
      /█{24} +0\.01 USD +1/,
    );
    expect(
      (await command.json(['receipts', '--since', '2020-01-01', '--until', '2020-01-02'])).object,
    ).toMatchObject({ receipts: [] });
    expect((await command.json(['budget'])).object).toMatchObject({
      caps: [{ cap: 'maxPerDay', used: '0.01', limit: '10' }, { cap: 'maxLamportsPerDay' }],
    });
    expect((await command.run(['budget', '--max-per-day', '0.02'])).stdout).toMatch(
      /maxPerDay +█{12}░{12} +0\.01 of 0\.02 USD/,
    );
    expect((await command.run(['resume'])).stderr).toBe('No payment is open.\n');
  });

  it('checks a setup with doctor, and states the next step for each failure', async () => {
    const healthy = await command.run(['doctor']);
    expect(healthy.code).toBe(0);
    for (const part of [
      'wallet',
      'config',
      'node 127',
      'clock',
      'jupiter',
      'SOL',
      'accounts',
      'journal',
    ])
      expect(healthy.stdout).toContain(`  ${part}`);
    const broken = await command.json([
      'doctor',
      '--rpc-url',
      'http://127.0.0.1:1',
      '--jupiter-url',
      'http://127.0.0.1:1',
    ]);
    expect(broken.code).toBe(1);
    const failed = (
      broken.object['findings'] as { state: string; check: string; next?: string }[]
    ).filter(({ state }) => state === 'fail');
    expect(failed.map(({ check }) => check)).toEqual([
      'node 127.0.0.1:1',
      'jupiter',
      'SOL',
      'accounts',
    ]);
    expect(failed.every(({ next }) => next !== undefined)).toBe(true);
  });

  it('refuses a broken swap from another builder with inspect', async () => {
    const args = ['inspect', '--in', 'SOL', '--out', 'USDC', '--max-in', '0.1', '--min-out', '14'];
    const { code, object } = await command.json(args, { input: 'AAAA' });
    expect({ code, object }).toMatchObject({
      code: 3,
      object: {
        funds: 'untouched',
        verdict: { accepted: false, broken: { id: 'transaction_encoding' } },
      },
    });
    const shown = await command.run(args, { input: 'AAAA' });
    expect(shown.stdout).toMatch(/^REFUSED\nDo not sign it: .*\n/);
    expect((await command.run([...args, '--min-out', '1.12345678'], { input: 'AAAA' })).code).toBe(
      2,
    );
  });

  it('serves the REST interface to callers with its key until SIGINT', async () => {
    const service = command.start(['serve', '--port', '0']);
    const printed = await service.printed(/Callers send/);
    const [, url = '', source = ''] = /^(http:\S+)\n.* key in (\S+) as/.exec(printed) ?? [];
    expect(statSync(source).mode & 0o777).toBe(0o600);
    const path = `${url}/api/balance?wallet=${address}&mint=USDC`;
    expect((await fetch(path)).status).toBe(401);
    const key = readFileSync(source, 'utf8').trim();
    expect(await (await fetch(path, { headers: { 'x-api-key': key } })).json()).toMatchObject({
      decimals: 6,
    });
    const metrics = await fetch(`${url}/metrics`, { headers: { 'x-api-key': key } });
    expect(await metrics.text()).toContain(
      'exact_change_http_requests_total{route="/api/balance",method="GET",status="401"} 1\n',
    );
    service.child.kill('SIGINT');
    expect((await service.ended).code).toBe(0);
  });

  it('completes commands and options in bash', async () => {
    const script = join(command.folder, 'completion.bash');
    writeFileSync(script, (await command.run(['completion'])).stdout);
    const complete = (...words: readonly string[]) =>
      execFileSync(
        'bash',
        [
          '-c',
          `. ${script}; COMP_WORDS=(exact-change ${words.join(' ')}); COMP_CWORD=${words.length}; _exact_change; echo "\${COMPREPLY[@]}"`,
        ],
        { encoding: 'utf8' },
      )
        .trim()
        .split(' ');
    expect(complete('re')).toEqual(['receipts', 'resume']);
    expect(complete('wallet', 'i')).toEqual(['import']);
    expect(complete('fetch', '--id')).toEqual(['--idempotency-key']);
    expect(complete('wallet', 'import', '--f')).toEqual(['--from']);
  });

  it('prints colours only on a terminal, and never with NO_COLOR', async () => {
    const colored = /\u001b\[/;
    expect((await command.run(['budget'])).stdout).not.toMatch(colored);
    const shown = async (env: Record<string, string>) =>
      (await command.onTerminal(['budget'], { env }).ended).stdout;
    expect(await shown({})).toMatch(colored);
    expect(await shown({ NO_COLOR: '1' })).not.toMatch(colored);
  });

  it('exits with 0 when the reader of its pipe ends first', () => {
    const run = spawnSync(
      'bash',
      ['-c', `${process.execPath} ${command.path} --help | head -1; echo \${PIPESTATUS[0]}`],
      { encoding: 'utf8' },
    );
    expect(run.stdout).toMatch(/^Usage: exact-change .*\n0\n$/);
  });
});

describe('exact-change wallet', () => {
  const noKey = { WALLET_SECRET_KEY: '' };

  it('stores a new key encrypted, and never overwrites a wallet', async () => {
    const env = { ...noKey, EXACT_CHANGE_PASSPHRASE: 'correct horse' };
    expect(await command.run(['balance'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exact-change wallet new'),
    });
    const made = await command.json(['wallet', 'new'], { env });
    expect(made).toMatchObject({
      code: 0,
      object: { source: join(command.folder, 'config/exact-change/wallet.json') },
    });
    const file = readFileSync(String(made.object['source']), 'utf8');
    expect(JSON.parse(file)).toMatchObject({ version: 1, address: made.object['address'] });
    expect(await command.run(['wallet', 'new'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not overwritten'),
    });
    expect((await command.run(['wallet', 'show'], { env: noKey })).stdout).toContain(
      String(made.object['address']),
    );
  });

  it('imports a key from a prompt, never from arguments, and pays with it', async () => {
    const imported = join(command.folder, 'imported.json');
    const env = noKey;
    const args = ['wallet', 'import', '--out', imported];
    expect(await command.run([...args, secretKey], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('never an argument'),
    });
    // The answer to a key in a wrong place must not repeat the key.
    for (const wrong of [
      ['balance', '--wallet', secretKey],
      ['fetch', `--max=${secretKey}`],
      [secretKey],
    ]) {
      const { code, stdout, stderr } = await command.run(['--json', ...wrong], { env });
      expect(code).toBe(2);
      expect(stdout + stderr).toContain('never an argument');
      expect(stdout + stderr).not.toContain(secretKey);
    }
    const run = command.onTerminal(args, { env });
    await run.printed('Secret key');
    run.type(`${secretKey}\r`);
    await run.printed('Passphrase for the new wallet');
    run.type('correct horse\r');
    await run.printed('The same again');
    run.type('correct horse\r');
    const { code, stdout } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(address) });
    expect(stdout).not.toContain(secretKey);
    expect(stdout).not.toContain('correct');

    const url = `${sandbox.apiUrl}/usdc`;
    const paying = command.onTerminal(['fetch', '--wallet', imported, url], { env });
    await paying.printed('Pay?');
    paying.type('y');
    await paying.printed('Passphrase of the wallet');
    paying.type('correct horse\r');
    expect(await paying.ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"path":"/usdc"'),
    });
    const wrong = { ...env, EXACT_CHANGE_PASSPHRASE: 'wrong horse' };
    expect(
      await command.json(['fetch', '-y', '--wallet', imported, url], { env: wrong }),
    ).toMatchObject({
      code: 2,
      object: { funds: 'untouched', error: { code: 'invalid_key' } },
    });
  });
});
