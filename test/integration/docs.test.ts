import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { address } from '@solana/kit';
import { local, memoryJournal } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';
import { serve, type Service } from 'exact-change/node';
import { createWebhooks } from 'exact-change/webhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { runScript, type ExampleRun } from '../helpers/example.js';
import { blocksOf, blockWith, type Block } from '../helpers/guides.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox();
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exact-change-docs-'));
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a code block of the documentation as a program. */
function runBlock(name: string, code: string, env: NodeJS.ProcessEnv = {}): Promise<ExampleRun> {
  const path = join(folder, `${name}.mts`);
  writeFileSync(path, code);
  return runScript(path, [], { ...process.env, ...env });
}

describe('a program in the documentation', () => {
  it('prints the documented output: quick start, with the addresses of the sandbox', async () => {
    const { code, printed } = blockWith('README.md', "['first', 'second']");
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const program = code
      .replace(
        "rpcUrl: 'https://rpc.example.com',",
        `rpcUrl: '${sandbox.rpcUrl}', jupiterUrl: '${sandbox.jupiterUrl}',`,
      )
      .replace('https://api.example.com/premium', `${sandbox.apiUrl}/usdc`);
    expect(await runBlock('quick-start', program, { WALLET_SECRET_KEY: wallet.secretKey })).toEqual(
      {
        code: 0,
        stdout: printed,
        stderr: '',
      },
    );
  });

  it('prints the documented output: faults of the sandbox', async () => {
    const { code, printed } = blockWith('docs/sandbox.md', "kind: 'dropAfter'");
    const run = await runBlock('faults', code);
    expect(run).toEqual({ code: 0, stdout: printed, stderr: '' });
  });

  it('presents the header of client.pay to no other address', async () => {
    const other = await sellerOfTest((_, response) => answer(response, 200, {}));
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) response.writeHead(307, { location: other.url }).end();
      else answerTerms(response, envelopeV2([offerOf(sandbox)]));
    });
    const { secretKey: walletSecretKey } = await sandbox.createWallet({ USDC: '1' });
    const { rpcUrl, jupiterUrl } = sandbox;
    const { code } = blockWith('docs/http-clients.md', 'client.pay(unpaid');
    const program = `import { createClient } from 'exact-change';
const client = createClient(${JSON.stringify({ walletSecretKey, rpcUrl, jupiterUrl })});
${code.replace('https://api.example.com/premium', seller.url)}
await client.close();`;
    expect(await runBlock('header', program)).toMatchObject({ code: 0, stderr: '' });
    expect([seller.paid.length, other.seen]).toEqual([1, []]);
  });
});

describe('a curl command in the documentation', () => {
  const KEY = 'one-long-random-key';
  const wallet = address('7fUAJdStEuGbc3sM84cKRL6yYaaSstyLSU4ve5oovLS7');
  const payee = address('GsbwXfJraMomNxBcjYLcG3mxkBUiyWXAB32fGbSMQRdW');
  let service: Service;

  beforeAll(async () => {
    sandbox.chain.fundSol(wallet, 500_000_000n);
    await sandbox.chain.fundToken(payee, sandbox.mints.USDC, 0n);
    const { rpcUrl, jupiterUrl } = sandbox;
    const webhooks = createWebhooks({ journal: memoryJournal({ outbox: true }) });
    service = await serve(
      createHandler(local({ rpcUrl, jupiterUrl }), { authorize: apiKeys([KEY]), webhooks }),
      { port: 0 },
    );
  });

  afterAll(() => service.close());

  const calls = ['docs/service.md', 'docs/webhooks.md'].flatMap(callsIn);

  it('exists at least five times', () => {
    expect(calls.length).toBeGreaterThan(4);
  });

  it.each(calls)(
    'receives the documented answer (call %#): $command',
    async ({ command, answer }) => {
      const { url, init } = curl(command);
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:4021\//);
      const response = await fetch(url.replace('http://127.0.0.1:4021', service.url), init);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject(elided(JSON.parse(answer)) as object);
    },
  );
});

/** Returns the curl commands of a guide, each with the answer in the block after it. */
function callsIn(guide: string): { readonly command: string; readonly answer: string }[] {
  const blocks = blocksOf(guide);
  const isCall = ({ language, code }: Block) => language === 'sh' && code.startsWith('curl ');
  return blocks.flatMap((block, index) =>
    isCall(block) ? [{ command: block.code, answer: blocks[index + 1]?.code ?? '' }] : [],
  );
}

/**
 * Parses the URL, `-H` and `-d` of a curl command with the quotes of a shell. Throws on any other
 * option.
 */
function curl(command: string): { readonly url: string; readonly init: RequestInit } {
  const words = [...command.replaceAll('\\\n', ' ').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  const headers = new Headers();
  let [url, body]: (string | undefined)[] = [];
  for (let index = 1; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (word === '-H') {
      const [name = '', value = ''] = (words[(index += 1)] ?? '').split(': ');
      headers.set(name, value);
    } else if (word === '-d') body = words[(index += 1)];
    else if (/^https?:/.test(word) && url === undefined) url = word;
    else throw new Error(`This test does not know ${word} of curl.`);
  }
  return {
    url: url ?? '',
    init: body === undefined ? { headers } : { headers, method: 'POST', body },
  };
}

/** Returns a matcher for a documented answer, in which `...` stands for any value. */
function elided(answer: unknown): unknown {
  if (answer === '...') return expect.anything();
  if (Array.isArray(answer)) return answer.map(elided);
  if (typeof answer !== 'object' || answer === null) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, elided(value)]));
}
