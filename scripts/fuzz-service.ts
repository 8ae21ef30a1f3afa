import { spawn, spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { local, memoryJournal } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';
import { serve } from 'exact-change/node';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { createWebhooks } from 'exact-change/webhooks';
import { fuzzConfig } from './fuzz-config.js';

// `npm run fuzz` runs schemathesis, which shares no code with this library, against the service and
// its OpenAPI document, over a socket. Arguments go to `schemathesis run`, such as
// `--max-examples 2000` or `--seed 1`. It needs Python 3.10 or later, and installs schemathesis
// with pip at its first run.

const REQUIREMENTS = fileURLToPath(new URL('fuzz-requirements.txt', import.meta.url));
const HOME = fileURLToPath(new URL('../node_modules/.cache/schemathesis', import.meta.url));
const CONFIG = `${HOME}/schemathesis.toml`;
const API_KEY = 'fuzz-service-api-key';

install();
const sandbox = await createSandbox({ confirmationMs: 20 });
try {
  process.exitCode = await fuzz(sandbox);
} finally {
  await sandbox.close();
}

/**
 * Creates a Python environment with the pinned version of every package; no package is built from
 * source.
 */
function install(): void {
  const done = `${HOME}/installed`;
  if (existsSync(done)) return;
  rmSync(HOME, { recursive: true, force: true });
  run('python3', '-m', 'venv', HOME);
  run(
    `${HOME}/bin/pip`,
    'install',
    '--quiet',
    '--only-binary',
    ':all:',
    '--requirement',
    REQUIREMENTS,
  );
  writeFileSync(done, '');
}

function run(command: string, ...args: string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(
      `${command} ${args.join(' ')} failed. Python 3.10 or later is needed, with venv and pip.`,
      { cause: error },
    );
}

/** Returns the exit status: 0 if no check failed and the service reported no failure. */
async function fuzz(sandbox: Sandbox): Promise<number> {
  let failures = 0;
  const answers = new Map<string, number>();
  const onError = (error: unknown, requestId: string) => {
    failures += 1;
    console.error(`request ${requestId}:`, error);
  };
  const transport = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
  // The registry accepts endpoints, but no event happens, so it sends nothing.
  const webhooks = createWebhooks({ journal: memoryJournal({ outbox: true }) });
  const handler = createHandler(transport, { authorize: apiKeys([API_KEY]), webhooks, onError });
  const counted = async (request: Request) => {
    const response = await handler(request);
    const kind = `${request.method} ${new URL(request.url).pathname} ${response.status}`;
    answers.set(kind, (answers.get(kind) ?? 0) + 1);
    return response;
  };
  const service = await serve(counted, { port: 0 });
  writeFileSync(CONFIG, await fuzzConfig(sandbox, { transport, webhooks, apiKey: API_KEY }));
  const status = await schemathesis(
    '--config-file',
    CONFIG,
    'run',
    `${service.url}/openapi.json`,
    ...process.argv.slice(2),
  );
  await service.close();
  for (const [kind, times] of [...answers].sort())
    if (!kind.endsWith('405')) console.log(`${String(times).padStart(6)} ${kind}`);
  console.log(`The service reported ${failures} failures of its own.`);
  return status === 0 && failures === 0 ? 0 : 1;
}

function schemathesis(...args: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(`${HOME}/bin/schemathesis`, args, {
      stdio: ['ignore', 'inherit', 'inherit'],
      cwd: HOME,
    });
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1));
  });
}
