import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileJournal } from 'exact-change/journal/file';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { timesSpent } from '../helpers/spends.js';
import { programOf } from '../helpers/program.js';
import { useSandbox } from '../helpers/sandbox.js';

const program = programOf(fileURLToPath(new URL('./killed-bodies.child.ts', import.meta.url)));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const sandbox = await useSandbox({ confirmationMs: 20 });
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'exact-change-bodies-'));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

interface Killed {
  readonly payer: Payer;
  readonly url: string;
  readonly init: RequestInit;
}

/**
 * Makes a purchase of a stream in a process that is killed when it has read so much of the answer.
 * Returns a payer with the same wallet and journal that comes after it.
 */
async function killed(method: string, reads: 'nothing' | 'half' | 'all'): Promise<Killed> {
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    void settle(sandbox, request).then((settled) => {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        ...settlementHeader({ ...settled }),
      });
      response.write('data: 1\n\n');
      if (reads === 'all' || seller.paid.length > 1) response.end('data: 2\n\n');
    });
  });
  const path = join(directory, `${method}-${reads}.jsonl`);
  const journal = fileJournal(path);
  onTestFinished(() => journal.close());
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
  const options = {
    walletSecretKey: payer.secretKey,
    rpcUrl: sandbox.rpcUrl,
    jupiterUrl: sandbox.jupiterUrl,
  };
  const init = method === 'POST' ? { method, body: 'x' } : { method };
  const task = JSON.stringify({ options, url: seller.url, init, journal: path, reads });
  const child = spawn(process.execPath, [program.path, task], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] },
  });
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  child.kill('SIGKILL');
  expect(await closed).toEqual([null, 'SIGKILL']);
  return { payer, url: seller.url, init };
}

describe.each(['GET', 'POST'])('a %s of a killed process', (method) => {
  it.each(['nothing', 'half'] as const)(
    'is not paid again by the next process when it has read %s of the paid answer',
    async (reads) => {
      const { payer, url, init } = await killed(method, reads);
      await failureOf(payer.client.fetch(url, init), 'already_spent');
      expect([payer.signed.length, await timesSpent(sandbox, payer, 'USDC')]).toEqual([0, 1]);
    },
  );

  it('is paid anew by the next call when the process has read all of the paid answer', async () => {
    const { payer, url, init } = await killed(method, 'all');
    expect(await (await payer.client.fetch(url, init)).text()).toContain('data: 2');
    await until('both are on chain', async () =>
      (await timesSpent(sandbox, payer, 'USDC')) === 2 ? true : undefined,
    );
    expect(payer.signed.length).toBe(1);
  });
});
