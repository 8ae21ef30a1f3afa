#!/usr/bin/env node
import { inspect, parseArgs } from 'node:util';
import { createSandbox, type SandboxWallet } from './index.js';

/**
 * Default first port of five: RPC with WebSocket, WebSocket alone, Jupiter, the facilitator and the
 * paid API.
 */
const PORT = 8899;

const USAGE = `Usage: exact-change-sandbox [--port <number>] [--seed <text>]
       exact-change-sandbox demo [--without-facilitator]

Starts a local Solana with mints, a stand-in for Jupiter, the official x402 facilitator and a paid
API, all on 127.0.0.1, and prints their addresses and funded keys as an .env file. Ctrl+C ends it.

  --port <number>        first of five ports (${PORT}): RPC, WebSocket, Jupiter, facilitator, API
  --seed <text>          the same keys at every start with the same text; without it they are random
  demo                   an agent with SOL and BONK buys from the paid API, step by step
  --without-facilitator  the same with no facilitator: the payment fails
`;

const print = (text: string) => void process.stdout.write(text);

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

const options = {
  port: { type: 'string' },
  seed: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  'without-facilitator': { type: 'boolean' },
} as const;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const { seed, help = false, 'without-facilitator': isBroken = false } = values;
  const command = positionals.join(' ');
  const port = Number(values.port ?? PORT);
  if (help) return print(USAGE);
  if (command === 'demo') return void (await import('../../examples/demo.js'));
  if (command !== '' || isBroken) return fail(USAGE);
  if (!Number.isInteger(port) || port < 1 || port > 65_531)
    return fail('--port takes a number from 1 to 65531.');
  await serve(port, seed);
}

async function serve(port: number, seed: string | undefined): Promise<void> {
  const ports = { port, jupiterPort: port + 2, facilitatorPort: port + 3, apiPort: port + 4 };
  const sandbox = await createSandbox({ ...ports, ...(seed === undefined ? {} : { seed }) });
  const stop = (): void => void sandbox.close();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  endWithNpm(stop);
  const { rpcUrl, wsUrl, jupiterUrl, facilitatorUrl, apiUrl, merchant, createWallet } = sandbox;
  print(`# A local Solana, until Ctrl+C. These keys are worth nothing: never send real money to them.
SOLANA_RPC_URL=${rpcUrl}
EXACT_CHANGE_WS_URL=${wsUrl}
EXACT_CHANGE_JUPITER_URL=${jupiterUrl}
# The first wallet holds no USDC
EXACT_CHANGE_AUTO_SWAP=true
FACILITATOR_URL=${facilitatorUrl}
# Answers 402: try \`curl -i ${apiUrl}/usdc\`
API_URL=${apiUrl}
# The wallet that the API is paid to
MERCHANT=${merchant}
# 10 SOL and 1000000 BONK
${wallet('', await createWallet({ SOL: '10', BONK: '1000000' }))}
# 1 SOL and 100 USDC
${wallet('USDC_', await createWallet({ SOL: '1', USDC: '100' }))}
`);
}

/**
 * Stops the sandbox if its parent process ends. npm and npx send SIGTERM to the shell between them
 * and this process, and that shell ends without a signal to this process.
 */
function endWithNpm(stop: () => void): void {
  if (process.env['npm_command'] === undefined) return;
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    stop();
  }, 250).unref();
}

const wallet = (prefix: string, { address, secretKey }: SandboxWallet) =>
  `${prefix}WALLET_ADDRESS=${address}\n${prefix}WALLET_SECRET_KEY=${secretKey}`;

function explain(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error);
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE')
    return `Port ${port ?? ''} is taken. Choose five others with --port <number>.`;
  return code?.startsWith('ERR_PARSE_ARGS') === true
    ? `${error.message}\n\n${USAGE}`
    : inspect(error);
}

await main().catch((error: unknown) => fail(explain(error)));
