import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatUiAmount, parseUiAmount } from 'exact-change';
import { termsOf } from '../contract/transport-contract.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from '../helpers/chain.js';
import { useCommand, type Printed } from '../helpers/command.js';
import { MAINNET_SLOT_MS, useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest, startSeller } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { timesSpent } from '../helpers/spends.js';

/** Blocks and slots. */
const MORE_THAN_A_DAY = 220_000;

const sandbox = await useSandbox({ confirmationMs: 20 });
const command = useCommand(sandbox);
const url = `${sandbox.apiUrl}/usdc`;

/** A new wallet, and the environment that gives a command its key and a separate journal. */
async function buyer(funds: Parameters<typeof sandbox.createWallet>[0]) {
  const { address, secretKey } = await sandbox.createWallet(funds);
  return {
    address,
    env: {
      WALLET_SECRET_KEY: secretKey,
      XDG_STATE_HOME: join(command.folder, address),
      EXACT_CHANGE_MAX_PER_PAYMENT: '0.50',
    },
  };
}

/** Sums the entries of `Assets:Wallet` by token. */
function walletChange(ledger: string): ReadonlyMap<string, string> {
  const sums = new Map<string, bigint>();
  for (const [, sign, amount = '', token = ''] of ledger.matchAll(
    /^ +Assets:Wallet {2}(-?)([\d.]+) (\w+)/gm,
  )) {
    const units = parseUiAmount(amount, 9) ?? 0n;
    sums.set(token, (sums.get(token) ?? 0n) + (sign === '-' ? -units : units));
  }
  return new Map(
    [...sums].map(([token, sum]) => [
      token,
      `${sum < 0n ? '-' : ''}${formatUiAmount(sum < 0n ? -sum : sum, 9)}`,
    ]),
  );
}

/** Drops the line about a slow step, which a busy machine prints after a second. */
const withoutProgress = (text: string) => text.replace(/^.*\.\.\. asking [^\r\n]*\r?\n/gm, '');

const spent = async ({ address }: { readonly address: string }) =>
  timesSpent(sandbox, { address }, 'USDC');

describe('exact-change fetch', () => {
  it('pays after a swap, and prints the body to stdout and the receipt to stderr', async () => {
    const { address, env } = await buyer({ SOL: '0.5' });
    const { code, stdout, stderr } = await command.run(['fetch', '--yes', url], { env });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '{"ok":true,"path":"/usdc","method":"GET","body":null}',
    });
    expect(stderr).toMatch(/Paid 0\.01 USDC to .*\nSwapped .* SOL into 0\.05 USDC/);
    expect(stderr).toContain('State settled');
    expect(await sandbox.balance(address, 'USDC')).toBe(40_000n);
    // The accounting entries match the balances on the chain to the base unit.
    const { stdout: ledger } = await command.run(['receipts', '--ledger', 'hledger'], { env });
    const change = walletChange(ledger);
    expect(change.get('USDC')).toBe('0.04');
    const lamports = 500_000_000n - (await sandbox.balance(address, 'SOL'));
    expect(change.get('SOL')).toBe(`-${formatUiAmount(lamports, 9)}`);
  });

  it('accepts the options of curl', async () => {
    const { env } = await buyer({ USDC: '1' });
    const file = join(command.folder, 'answer.json');
    const { code } = await command.run(
      [
        ...['fetch', `${sandbox.apiUrl}/echo`, '-y', '-s', '-X', 'POST', '-o', file],
        ...['-H', 'Content-Type: application/json', '--data-binary', '@-'],
      ],
      { env, input: '{"a":\n1}' },
    );
    expect(code).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ body: { a: 1 } });

    const free = await command.run(
      ['fetch', '-i', `${sandbox.apiUrl}/free`, '-d', 'a', '-d', 'b'],
      { env },
    );
    expect(free.stdout).toMatch(
      /^HTTP\/1\.1 200 OK\n[^]*\n\n\{"ok":true,"method":"POST","body":"a&b"\}$/,
    );
    expect(withoutProgress(free.stderr)).toBe('');
    const missing = `${sandbox.apiUrl}/nothing`;
    expect((await command.run(['fetch', missing], { env })).code).toBe(0);
    expect((await command.run(['fetch', '-f', missing], { env })).code).toBe(22);
  });

  it('writes the answer to the file of -o, beside the object of --json', async () => {
    const wallet = await buyer({ USDC: '1' });
    const file = join(command.folder, 'beside.json');
    writeFileSync(file, 'the answer of yesterday');
    const { code, object } = await command.json(['fetch', '-y', '-o', file, url], wallet);
    expect({ code, object }).toMatchObject({ code: 0, object: { funds: 'spent', status: 200 } });
    expect(object).not.toHaveProperty('body');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ ok: true, path: '/usdc' });
  });

  it('ends with an exit code for each fate of the money', async () => {
    const [rich, poor, other] = await Promise.all([
      buyer({ USDC: '1' }),
      buyer({}),
      buyer({ USDC: '1' }),
    ]);
    const closed = await startSeller(() => undefined);
    await closed.close();
    expect(
      await Promise.all([
        command.json(['fetch', '-y', '--max', '0.001', url], rich),
        command.json(['fetch', '-y', url], poor),
        command.json(['fetch', url], other),
      ]),
    ).toMatchObject([
      { code: 3, object: { funds: 'untouched', error: { code: 'amount_over_limit' } } },
      { code: 4, object: { funds: 'untouched', error: { code: 'insufficient_funds' } } },
      { code: 3, object: { ok: false, exit: 3, error: { code: 'approval_refused' } } },
    ]);
    expect(
      await Promise.all([
        command.json(['fetch', '-y', '--maxx', '1', url], rich),
        command.json(['fetch', closed.url], poor),
        command.json(['fetch', 'http://no-such-host.invalid/'], other),
      ]),
    ).toMatchObject([
      {
        ...{ code: 2, stderr: expect.stringContaining("'--maxx'") },
        object: { ok: false, exit: 2, funds: 'untouched', error: { code: 'usage' } },
      },
      { code: 7, object: { ok: false, funds: 'untouched' } },
      { code: 6, object: { ok: false, funds: 'untouched' } },
    ]);
    const { EXACT_CHANGE_MAX_PER_PAYMENT: _cap, ...uncapped } = rich.env;
    expect(await command.json(['fetch', '-y', url], { env: uncapped })).toMatchObject({
      code: 2,
      object: { error: { code: 'invalid_option', message: expect.stringContaining('--max') } },
    });
    const keyless = ['fetch', '-y', '--idempotency-key', '', url];
    expect(await command.json(keyless, rich)).toMatchObject({
      code: 2,
      object: { error: { message: expect.stringContaining('must not be empty') } },
    });
    expect(await spent(rich)).toBe(0);
  });

  it.each([
    ['a header', ['-H', 'authorization: Bearer canary\ncanary', url]],
    ['an address', ['http://user:canary@127.0.0.1/']],
  ])('repeats no secret of %s that fetch refuses', async (_, args) => {
    const { code, stdout, stderr } = await command.run(['fetch', ...args], await buyer({}));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toContain('canary');
  });

  it.each([
    ['a call', ['--max', '0.001'], JSON.stringify(envelopeV2([offerOf(sandbox)])), 3],
    ['a plan', ['--dry-run'], '{', 4],
  ])('ends after an error of %s, although the page of the 402 never ends', async (...row) => {
    const [, flags, terms, code] = row;
    const wallet = await buyer({ USDC: '1' });
    const seller = await sellerOfTest((_, response) => {
      const header = Buffer.from(terms).toString('base64');
      response.writeHead(402, { 'payment-required': header }).write('<p>');
    });
    expect((await command.run(['fetch', ...flags, seller.url], wallet)).code).toBe(code);
  });

  it('prints the cost and signs nothing with --dry-run', async () => {
    const wallet = await buyer({ SOL: '0.5' });
    const { code, stdout } = await command.run(['fetch', '--dry-run', url], wallet);
    expect(code).toBe(0);
    expect(stdout).toMatch(/price +0\.01 USDC \(0\.01 USD\)\n/);
    expect(stdout).toMatch(/swap +at most 0\.0003\d+ SOL for at least 0\.05 USDC/);
    expect(stdout).toContain('maxPerDay: 0 of 10 USD used');
    expect(await sandbox.balance(wallet.address, 'SOL')).toBe(500_000_000n);
  });

  it('shows the terms on a terminal, and pays only when the person says yes', async () => {
    const wallet = await buyer({ USDC: '1' });
    const answerWith = async (typed: string) => {
      const run = command.onTerminal(['fetch', url], wallet);
      expect(await run.printed('Pay?')).toMatch(/price +0\.01 USDC \(0\.01 USD\)/);
      run.type(typed);
      return run.ended;
    };
    // A person types Enter alone by habit, so it must not approve.
    expect(await answerWith('\r')).toMatchObject({ code: 3 });
    expect(await answerWith('\u0003')).toMatchObject({ code: 130 });
    expect(await spent(wallet)).toBe(0);
    const yes = await answerWith('y');
    expect(yes).toMatchObject({ code: 0, stdout: expect.stringContaining('"path":"/usdc"') });
    expect(await spent(wallet)).toBe(1);
  });

  it('does not accept a yes from a pipe', async () => {
    const wallet = await buyer({ USDC: '1' });
    const { code, stderr } = await command.run(['fetch', url], { ...wallet, input: 'y\ny\n' });
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('Give --yes') });
  });

  it('removes control characters of a seller on a terminal, and keeps them in a pipe', async () => {
    const evil = '\u001b[2J\u001b]0;owned\u0007 \u202epaid\u202c';
    const seller = await sellerOfTest((_, response) => response.end(evil));
    const wallet = await buyer({});
    expect((await command.run(['fetch', seller.url], wallet)).stdout).toBe(evil);
    const { stdout } = await command.onTerminal(['fetch', seller.url], wallet).ended;
    expect(withoutProgress(stdout).trim()).toBe('\ufffd[2J\ufffd]0;owned\ufffd \ufffdpaid\ufffd');
    const refused = await command.run(['fetch', 'http://a\u001b[2J/'], wallet);
    expect(refused.stderr).toContain('http://a\ufffd[2J/');
  });
});

/** A seller that never answers its first paid request, which it may settle. */
async function silentSeller(settlesFirst: boolean) {
  let heard = (): void => undefined;
  const firstPaid = new Promise<void>((resolve) => (heard = resolve));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isFirst = seller.paid.length <= 1;
    const settlement = isFirst && !settlesFirst ? undefined : await settle(sandbox, request);
    if (isFirst) heard();
    else answer(response, 200, { ok: true }, settlementHeader({ ...settlement }));
  };
  const seller = await sellerOfTest((request, response) => {
    if (isPaid(request)) void serve(request, response);
    else answerTerms(response, envelopeV2([offerOf(sandbox)]));
  });
  return { url: seller.url, firstPaid };
}

const answerWhole = (response: ServerResponse, headers: Readonly<Record<string, string>>) =>
  answer(response, 200, { ok: true }, headers);

/** Answers with a body that never ends. */
const answerHalf = (response: ServerResponse, headers: Readonly<Record<string, string>>) =>
  void response.writeHead(200, headers).write('half of it');

/**
 * A seller that settles before it answers. After its answer no node tells the status of a payment.
 * `asked` resolves when a node is asked for it.
 */
async function sellerBeforeSilence(answerPaid = answerWhole) {
  let ask = (): void => undefined;
  const silence: NonNullable<typeof sandbox.controls.node.intercept> = (method, _, next) => {
    if (method !== 'getSignatureStatuses') return next();
    ask();
    return new Promise(() => undefined);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const settlement = await settle(sandbox, request);
    sandbox.controls.node.intercept = silence;
    answerPaid(response, settlementHeader({ ...settlement }));
  };
  const { url } = await sellerOfTest((request, response) => {
    if (isPaid(request)) void serve(request, response);
    else answerTerms(response, envelopeV2([offerOf(sandbox)]));
  });
  return { url, asked: () => new Promise<void>((resolve) => (ask = resolve)) };
}

describe('exact-change fetch that ends while its payment is open', () => {
  it('names the open payment after Ctrl-C, and the same command presents it again', async () => {
    const wallet = await buyer({ USDC: '1' });
    const seller = await silentSeller(false);
    const run = command.start(['fetch', '-y', seller.url], wallet);
    await seller.firstPaid;
    run.child.kill('SIGINT');
    const { code, stderr } = await run.ended;
    expect(stderr).toMatch(/What is signed may still land: the payment \w{80,90}\./);
    expect(stderr).toContain('exact-change resume');
    expect(code).toBe(75);
    expect((await command.run(['doctor'], wallet)).stdout).toContain('open payments: 1');
    const env = { ...wallet.env, SOLANA_RPC_URL: 'http://127.0.0.1:9' };
    expect(await command.json(['resume'], { env })).toMatchObject({
      code: 75,
      object: { funds: 'uncertain', error: { code: 'rpc_unavailable', retry: 'same' } },
    });
    const again = await command.run(['fetch', '-y', seller.url], wallet);
    expect(again).toMatchObject({ code: 0, stdout: '{"ok":true}' });
    expect(await spent(wallet)).toBe(1);
  });

  it('says of no repeated call that nothing was paid', async () => {
    const { node } = sandbox.controls;
    const { slotMs } = node;
    node.slotMs = MAINNET_SLOT_MS;
    onTestFinished(() => void (node.slotMs = slotMs));
    const wallet = await buyer({ USDC: '1' });
    const paid: IncomingMessage[] = [];
    let isFailing = false;
    const seller = await startSeller((request, response) => {
      if (isFailing) return void response.writeHead(500).end();
      if (isPaid(request)) paid.push(request);
      else answerTerms(response, envelopeV2([offerOf(sandbox)]));
    });
    const args = ['--json', 'fetch', '-y', seller.url];
    const endBy = async (signal: NodeJS.Signals) => {
      const before = paid.length;
      const run = command.start(args, wallet);
      await until('the seller has the payment', () => paid.length > before || undefined);
      run.child.kill(signal);
      return run.ended;
    };
    const outcome = async () => {
      const { code, stdout, stderr } = await command.run(args, wallet);
      expect(stdout + stderr).not.toMatch(/nothing was/i);
      return { code, funds: (JSON.parse(stdout) as Printed).funds };
    };
    await endBy('SIGKILL');
    isFailing = true;
    expect(await outcome()).toEqual({ code: 0, funds: 'uncertain' });
    isFailing = false;
    const again = await endBy('SIGINT');
    expect({ code: again.code, object: JSON.parse(again.stdout) as unknown }).toMatchObject({
      ...{ code: 75, object: { funds: 'uncertain', open: [{ kind: 'payment' }] } },
    });
    await seller.close();
    expect(await outcome()).toEqual({ code: 75, funds: 'uncertain' });
    await settle(sandbox, paid[0]!);
    await command.run(['resume'], wallet);
    expect(await outcome()).toEqual({ code: 76, funds: 'spent' });
    expect(await spent(wallet)).toBe(1);
  });

  it('is found by resume after kill -9, and does not pay again', async () => {
    const wallet = await buyer({ USDC: '1' });
    const seller = await silentSeller(true);
    const run = command.start(['fetch', '-y', seller.url], wallet);
    await seller.firstPaid;
    run.child.kill('SIGKILL');
    await run.ended;
    expect(await command.json(['resume'], wallet)).toMatchObject({
      code: 0,
      object: { changed: [{ url: `${seller.url}/`, state: 'settled' }], open: [] },
    });
    expect(await command.json(['fetch', '-y', seller.url], wallet)).toMatchObject({
      code: 76,
      object: { funds: 'spent', error: { code: 'already_spent' } },
    });
    const again = await command.run(['fetch', '-y', '--repeatable', seller.url], wallet);
    expect(again).toMatchObject({ code: 0, stdout: '{"ok":true}' });
    expect(await spent(wallet)).toBe(1);
  });

  it('is reported as paid, with its answer, if its record cannot be completed', async () => {
    const wallet = await buyer({ USDC: '1' });
    const journal = join(wallet.env.XDG_STATE_HOME, 'exact-change/payments.jsonl');
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const settlement = await settle(sandbox, request);
      rmSync(journal);
      mkdirSync(journal);
      answer(response, 200, { ok: true }, settlementHeader({ ...settlement }));
    };
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) void serve(request, response);
      else answerTerms(response, envelopeV2([offerOf(sandbox)]));
    });
    const paid = await command.json(['fetch', '-y', seller.url], wallet);
    expect(paid).toMatchObject({ code: 0, object: { body: '{"ok":true}' } });
    expect(paid.object.funds).not.toBe('untouched');
    expect(paid.stderr).toMatch(/^The record of this command is not complete: The journal at /);
    expect(await spent(wallet)).toBe(1);
  });

  it('gives --json its answer on Ctrl-C, and does not pay again after kill -9', async () => {
    const wallet = await buyer({ USDC: '1' });
    const seller = await sellerBeforeSilence();
    const args = ['--json', 'fetch', '-y', seller.url];
    const endBy = async (signal: NodeJS.Signals) => {
      const asked = seller.asked();
      const run = command.start(args, wallet);
      await asked;
      run.child.kill(signal);
      const ended = await run.ended;
      sandbox.controls.node.intercept = undefined;
      return ended;
    };
    expect(await endBy('SIGINT')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"body":"{\\"ok\\":true}"'),
    });
    expect((await endBy('SIGKILL')).stdout).toBe('');
    expect(await command.run(args, wallet)).toMatchObject({
      code: 76,
      stdout: expect.stringContaining('already_spent'),
    });
    expect(await spent(wallet)).toBe(2);
  });

  it('ends soon after Ctrl-C in the wait of --json, although the body never ends', async () => {
    const wallet = await buyer({ USDC: '1' });
    const seller = await sellerBeforeSilence(answerHalf);
    const asked = seller.asked();
    const run = command.start(['--json', 'fetch', '-y', seller.url], wallet);
    await asked;
    run.child.kill('SIGINT');
    const { code, stdout } = await run.ended;
    sandbox.controls.node.intercept = undefined;
    expect({ code, object: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 75,
      object: { funds: 'uncertain', error: { code: 'interrupted', message: 'Interrupted.' } },
    });
  });

  it('says that the payment may land when Ctrl-C cuts its answer off', async () => {
    const wallet = await buyer({ USDC: '1' });
    const seller = await sellerBeforeSilence(answerHalf);
    const run = command.start(['fetch', '-y', seller.url], wallet);
    await run.printed('half of it');
    run.child.kill('SIGINT');
    const { code, stdout, stderr } = await run.ended;
    sandbox.controls.node.intercept = undefined;
    expect({ code, stdout }).toEqual({ code: 75, stdout: 'half of it' });
    expect(stderr).toContain('exact-change resume');
    expect(stderr).not.toContain('Nothing was');
  });

  it('says that it was paid when its answer breaks off', async () => {
    const wallet = await buyer({ USDC: '1' });
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then((settlement) => {
        answerHalf(response, settlementHeader({ ...settlement }));
        setImmediate(() => response.destroy());
      });
    });
    const { code, stderr } = await command.run(['fetch', '-y', seller.url], wallet);
    expect(stderr).toContain('It was paid, and the answer did not come whole.');
    expect(stderr).toContain('State settled');
    expect(code).toBe(76);
  });

  it('has not read an answer that is too long for --json, so -o gets it', async () => {
    const wallet = await buyer({ USDC: '1' });
    const body = Buffer.alloc(33 * 2 ** 20, 1);
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then((settlement) => {
        response.writeHead(200, settlementHeader({ ...settlement }));
        response.end(body);
      });
    });
    expect(await command.json(['fetch', '-y', seller.url], wallet)).toMatchObject({
      code: 76,
      object: { error: { message: expect.stringContaining('-o <file>') } },
    });
    const file = join(command.folder, 'long');
    const again = ['fetch', '-y', '--repeatable', '-o', file, seller.url];
    expect((await command.run(again, wallet)).code).toBe(0);
    expect(readFileSync(file).equals(body)).toBe(true);
    expect(await spent(wallet)).toBe(1);
  });

  it('is uncertain to resume while its swap may still land', async () => {
    const wallet = await buyer({ SOL: '0.5' });
    const run = command.start(['fetch', '-y', url], wallet);
    await new Promise<void>((resolve) => {
      sandbox.controls.node.intercept = (method, _, next) => {
        if (method !== 'sendTransaction') return next();
        resolve();
        return new Promise(() => undefined);
      };
    });
    run.child.kill('SIGKILL');
    await run.ended;
    for (const resume of ['first', 'second'])
      expect([resume, await command.json(['resume'], wallet)]).toMatchObject([
        resume,
        { code: 75, object: { funds: 'uncertain', changed: [{ state: 'abandoned' }], open: [] } },
      ]);
  });

  it('is awaited by resume also while its own command still runs', async () => {
    const wallet = await buyer({ USDC: '1' });
    let settlePaid = async (): Promise<unknown> => undefined;
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      settlePaid = () => settle(sandbox, request);
      response.write('a stream that goes on');
    });
    await command.start(['fetch', '-y', seller.url], wallet).printed('a stream');
    const resume = command.start(['resume'], wallet);
    await resume.printed('asking the chain');
    await settlePaid();
    expect(await resume.ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No payment is open.'),
    });
  });

  it('is shown as open by resume, without a wait, once no node can tell of it any more', async () => {
    const wallet = await buyer({ USDC: '1' });
    const seller = await silentSeller(false);
    const run = command.start(['fetch', '-y', seller.url], wallet);
    await seller.firstPaid;
    run.child.kill('SIGKILL');
    await run.ended;
    const { node } = sandbox.controls;
    node.warp(MORE_THAN_A_DAY);
    node.fault('getFirstAvailableBlock', { kind: 'offBy', at: '', by: 1e12 });
    const later = 'const now = Date.now; Date.now = () => now() + 25 * 3_600_000';
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(later)}`;
    const env = { ...wallet.env, NODE_OPTIONS };
    expect(await command.json(['resume'], { env })).toMatchObject({
      code: 75,
      object: { changed: [], open: [{ url: `${seller.url}/` }] },
    });
  });

  it('names a swap that landed and failed when Ctrl-C comes during the next quote', async () => {
    const { node, aggregator } = sandbox.controls;
    const wallet = await buyer({ SOL: '0.5' });
    let quoted = Infinity;
    node.intercept = (method, params, next) => {
      if (method === 'sendTransaction' && quoted === Infinity) {
        aggregator.setVenue({ deviationBps: 80 });
        aggregator.fault('*', { kind: 'hang' });
        quoted = aggregator.calls();
      }
      return next(params);
    };
    const run = command.start(['--json', 'fetch', '-y', url], wallet);
    await until('it asks for another quote', () => aggregator.calls() > quoted || undefined);
    run.child.kill('SIGINT');
    const { code, stdout } = await run.ended;
    const { funds, error } = JSON.parse(stdout) as Printed;
    expect({ code, funds, error }).toEqual({
      code: 130,
      funds: 'untouched',
      error: {
        code: 'interrupted',
        message: expect.stringMatching(/only network fees are gone: the swap \w{80,90} landed/),
      },
    });
    expect(await sandbox.balance(wallet.address, 'SOL')).toBeLessThan(500_000_000n);
  });

  it('signs nothing when Ctrl-C comes before the 402', async () => {
    const seller = await sellerOfTest(() => undefined);
    const wallet = await buyer({ USDC: '1' });
    const run = command.start(['fetch', '-y', seller.url], wallet);
    await run.printed(`asking 127.0.0.1`);
    run.child.kill('SIGINT');
    expect(await run.ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('Nothing was signed or paid.'),
    });
  });
});

it('shares one budget among commands that run at the same time', async () => {
  const wallet = await buyer({ USDC: '1' });
  const args = ['fetch', '-y', '--max-per-day', '0.025', url];
  const ended = await Promise.all([1, 2, 3, 4].map(() => command.json(args, wallet)));
  expect(ended.map(({ code }) => code).sort()).toEqual([0, 0, 3, 3]);
  for (const { code, object } of ended)
    if (code === 3) expect(object.error?.code).toBe('budget_exhausted');
  expect(await spent(wallet)).toBe(2);
});

it.each([
  ['serves swaps to callers that ask for them', [], 'swap_required'],
  ['serves no swaps with --no-swap, also to callers that ask', ['--no-swap'], 'insufficient_funds'],
])('%s', async (_, flags, state) => {
  const wallet = await buyer({ SOL: '0.5' });
  const service = command.start(['serve', '--port', '0', ...flags], wallet);
  const printed = await service.printed(/Callers send/);
  const [, address = '', source = ''] = /^(http:\S+)\n.* key in (\S+) as/.exec(printed) ?? [];
  const response = await fetch(`${address}/api/x402/auto-pay`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': readFileSync(source, 'utf8').trim(),
    },
    body: JSON.stringify({
      paymentRequired: await termsOf(url),
      wallet: wallet.address,
      autoSwap: true,
    }),
  });
  expect(await response.json()).toMatchObject({ state });
});

describe('exact-change pay', () => {
  it('prints a header that the seller accepts, for a 402 in the form of curl -i', async () => {
    const wallet = await buyer({ USDC: '1' });
    const unpaid = await fetch(url);
    const head = [...unpaid.headers].map(([name, value]) => `${name}: ${value}`).join('\r\n');
    const shown = `HTTP/1.1 402 Payment Required\r\n${head}\r\n\r\n${await unpaid.text()}`;
    const { code, stdout } = await command.run(['pay', '--yes', '--url', url], {
      ...wallet,
      input: shown,
    });
    expect(code).toBe(0);
    const [, name = '', value = ''] = /^([\w-]+): (\S+)\n$/.exec(stdout) ?? [];
    const paid = await fetch(url, { headers: { [name]: value } });
    expect(paid.status).toBe(200);
    expect(await spent(wallet)).toBe(1);
  });

  it('says what to give when its standard input is empty', async () => {
    const wallet = await buyer({});
    const options = { ...wallet, input: '' };
    const { code, stderr } = await command.run(['pay', '--yes', '--url', url], options);
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: expect.stringContaining('Give the 402 as `curl -i` shows it, or its body.'),
    });
  });
});

it('exact-change doctor warns once of a key file that other users may read', async () => {
  const file = join(command.folder, 'open.json');
  writeFileSync(file, (await sandbox.createWallet({})).secretKey, { mode: 0o644 });
  const { stdout, stderr } = await command.run(['doctor', '--wallet', file]);
  expect({ stderr, advice: stdout.split('chmod 600').length - 1 }).toEqual({
    stderr: '',
    advice: 1,
  });
});

it.each([
  ['0.008', 'warn'],
  ['0.009', 'ok'],
])('exact-change doctor says of %s SOL what swaps leave of it: %s', async (SOL, state) => {
  const { object } = await command.json(['doctor'], await buyer({ SOL }));
  expect(object['findings']).toContainEqual({
    ...{ check: 'SOL', state, says: `${SOL} SOL; swaps out of SOL leave 0.008 SOL` },
    ...(state === 'ok'
      ? {}
      : { next: 'Send it SOL until it holds more than 0.008 SOL, or use --no-swap.' }),
  });
});

it('exact-change budget names a journal whose folder cannot be made', async () => {
  const { env } = await buyer({});
  const journal = '/proc/none/payments.jsonl';
  const options = { env: { ...env, EXACT_CHANGE_JOURNAL: journal } };
  const { code, stderr } = await command.run(['budget'], options);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(journal) });
});

it('exact-change quote prints the price of a swap without a wallet', async () => {
  const { code, stdout } = await command.run(['quote', 'SOL', 'USDC', '--amount', '0.1']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^0\.1 SOL for \d+\.\d+ USDC \(.+\)/);
});

describe('exact-change swap', () => {
  it('asks, swaps and prints both amounts', async () => {
    const { address, env } = await buyer({ SOL: '0.5' });
    const args = ['swap', 'sol', 'usdc', '--amount', '5', '--exact-out'];
    expect((await command.run(args, { env })).code).toBe(3);
    const run = command.onTerminal(args, { env });
    expect(await run.printed('Swap?')).toMatch(/takes at most +0\.03\d+ SOL/);
    run.type('y');
    expect(await run.ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Swapped .* into 5 USDC/),
    });
    expect(await sandbox.balance(address, 'USDC')).toBe(5_000_000n);
  });

  it('swaps nothing when the price moves past the shown bound during the question', async () => {
    const { address, env } = await buyer({ SOL: '0.5' });
    const args = ['swap', 'sol', 'usdc', '--amount', '5', '--exact-out'];
    const run = command.onTerminal(args, { env });
    await run.printed('Swap?');
    sandbox.controls.aggregator.setPrice('SOL', (sandbox.mints.SOL.picoUsd * 99n) / 100n);
    run.type('y');
    const { code, stdout } = await run.ended;
    expect({ code, stdout }).toEqual({
      code: 3,
      stdout: expect.stringContaining('moved past what was approved'),
    });
    expect(await sandbox.balance(address, 'SOL')).toBe(500_000_000n);
  });
});
