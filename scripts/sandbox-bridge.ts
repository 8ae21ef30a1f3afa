import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { getBase58Encoder } from '@solana/kit';
import { createSandbox } from 'exact-change-sandbox';
import { apiKeys, createHandler } from '../adapters/http/index.js';
import { local } from '../adapters/local/index.js';
import { nodeDisk } from '../adapters/journals/file/disk.js';
import { journalAt } from '../adapters/journals/file/journal.js';
import { nodeProcesses } from '../adapters/journals/file/processes.js';
import { fileJournal } from '../adapters/journals/file.js';
import { serve } from '../adapters/mounts/node.js';
import { fullAttemptOf, listOf } from '../test/helpers/attempts.js';
import { poolerOf, type Next, type Pooler } from '../test/helpers/pooler.js';
import { startPostgres, type Postgres } from '../test/helpers/postgres.js';
import { deployLighthouse } from '../test/helpers/lighthouse.js';
import { makeProgram } from '../test/helpers/make-program.js';
import { signAnew } from '../test/helpers/sign-anew.js';
import { plain } from './spec/plain.js';

/**
 * A call to the sandbox from a program in another language. This script prints the sandbox's URLs
 * on the first line, then an answer for each line of standard input, until the input ends. `call`
 * names a method of the sandbox, or of its controls with a dot (`node.warp`); amounts are texts.
 */
interface Call {
  readonly id: number;
  readonly call: string;
  readonly args: readonly unknown[];
}

const SLOT_MS = 100;
const sandbox = await createSandbox({ slotMs: SLOT_MS });
const { rpcUrl, wsUrl, jupiterUrl, apiUrl, facilitatorUrl, relayerUrl } = sandbox;
const { merchant, feePayer, mints, routes } = sandbox;

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(plain(line))}\n`);

type Target = Record<string, unknown>;

const fileParts = { disk: nodeDisk, processes: nodeProcesses };
let postgres: Promise<Postgres> | undefined;
let pooler: Pooler | undefined;
let buyer: Promise<string> | undefined;

/** Calls that need more than JSON values: bigint amounts and functions. */
const ownCalls: Record<string, (...args: never[]) => unknown> = {
  set: (name: string, value: unknown) => {
    const [control = '', property = ''] = name.split('.');
    (sandbox.controls as unknown as Record<string, Target>)[control]![property] = value;
  },
  lie: (endpoint: string, changes: Record<string, unknown> | null) => {
    const { aggregator } = sandbox.controls;
    if (changes === null) return aggregator.lie(endpoint, undefined);
    return aggregator.lie(endpoint, (answer) => {
      for (const [path, value] of Object.entries(changes)) put(answer, path.split('.'), value);
      return answer;
    });
  },
  venue: (behaviour: Record<string, unknown>) =>
    sandbox.controls.aggregator.setVenue(amountsIn(behaviour)),
  createMint: (mint: Target) =>
    sandbox.createMint({ ...mint, picoUsd: BigInt(String(mint['picoUsd'])) } as never),
  setPrice: (mint: keyof typeof mints, picoUsd: string) =>
    sandbox.controls.aggregator.setPrice(mint, BigInt(picoUsd)),
  fundSol: (owner: string, lamports: string) =>
    sandbox.chain.fundSol(owner as never, BigInt(lamports)),
  fundToken: (owner: string, symbol: keyof typeof mints, amount: string) =>
    sandbox.chain.fundToken(owner as never, mints[symbol], BigInt(amount)),
  appendData: (account: string, bytes: readonly number[]) => {
    const before = sandbox.chain.account(account as never);
    if (before === undefined) throw new Error(`nothing is at ${account}`);
    const data = Uint8Array.from([...before.data, ...bytes]);
    sandbox.chain.setAccount(account as never, { ...before, data });
  },
  /** Starts the HTTP service on this sandbox. Resolves with its URL. */
  serve: async (apiKey?: string) => {
    const transport = local({ rpcUrl, jupiterUrl });
    const authorize = apiKey === undefined ? {} : { authorize: apiKeys([apiKey]) };
    const service = await serve(createHandler(transport, authorize), { port: 0 });
    return service.url;
  },
  deployLighthouse: () => deployLighthouse(sandbox),
  /** Returns the relayer's key, with which a test signs, and the transactions that it signed. */
  relayer: () => {
    const { secretKey, signed } = sandbox.controls.relayer;
    return { secretKey, signed };
  },
  /** Makes the next relayed swap land with another signature of the relayer, so with another id. */
  resignRelayed: () => {
    const { node, relayer } = sandbox.controls;
    node.intercept = (method, params, next) => {
      if (method !== 'sendTransaction') return next();
      const [text, options] = params as [string, unknown];
      const wire = Buffer.from(text, 'base64');
      const message = wire.subarray(129);
      if (!relayer.signed.some((bytes) => message.equals(bytes.subarray(129)))) return next();
      node.intercept = undefined;
      const secret = Uint8Array.from(getBase58Encoder().encode(relayer.secretKey));
      wire.set(signAnew(message, secret), 1);
      const answer = next([wire.toString('base64'), options]);
      setTimeout(() => node.warp(), 500);
      return answer;
    };
  },
  served: () => sandbox.controls.api.served,
  /** Adds settled attempts to a file journal, until the journal rewrites its file. */
  fillJournal: async (path: string, prefix: string, times: number) => {
    const journal = journalAt(path, { ...fileParts, compactFrom: 20_000, recent: 4 });
    for (let at = 0; at < times; at += 1) {
      const attempt = fullAttemptOf({ id: `${prefix}${at}`, idempotencyKey: `${prefix}${at}` });
      for (const state of ['reserved', 'signed', 'settled'] as const)
        await (state === 'reserved'
          ? journal.reserve({ ...attempt, state }, [])
          : journal.put({ ...attempt, state }));
    }
    await journal.close();
  },
  /** Returns the attempts of a file journal, and the use of a cap on payments. */
  readJournal: async (path: string) => {
    const journal = fileJournal(path);
    const owner = { wallet: 'wallet', network: 'network' };
    const attempts = await listOf(journal.attempts(owner));
    const cap = { name: 'all', unit: 'payments', limit: 0n };
    const [used] = await journal.used(owner, [cap], Date.now());
    await journal.close();
    return { attempts: attempts.map(({ id, state }) => [id, state]), used };
  },
  /** Bundles the program of a buying process at the first call. Resolves with its path. */
  buyer: () => (buyer ??= makeProgram('test/chaos/many/four.child.ts')),
  /** Creates a database in a real Postgres, started at the first call. Resolves with its URL. */
  createDatabase: async () => (await (postgres ??= startPostgres())).createDatabase(),
  /** Starts a pooler before a database. Resolves with its URL. */
  startPooler: async (address: string, size: number, next: Next) => {
    pooler = await poolerOf(address, size, next);
    return pooler.address;
  },
  /** Lets the last pooler share its server connections from now on. */
  sharePooler: () => pooler?.share(),
  closePooler: () => pooler?.close(),
  /** Ends the Postgres server as a reboot does, and starts it again. */
  restartPostgres: async () => {
    const running = await postgres;
    await running?.kill();
    await running?.start();
  },
  restore: async () => {
    const { node, aggregator, facilitator, relayer, api } = sandbox.controls;
    aggregator.restore();
    relayer.restore();
    for (const control of [node, facilitator, api]) control.clearFaults();
    node.latencyMs = 0;
    node.slotMs = SLOT_MS;
    node.intercept = undefined;
    await facilitator.start();
  },
};

function put(at: unknown, [key = '', ...rest]: readonly string[], value: unknown): void {
  const place = at as Target;
  if (rest.length === 0) place[key] = value;
  else put(place[key], rest, value);
}

/** Converts decimal texts in a behaviour to bigints. */
function amountsIn(behaviour: Target): Target {
  return Object.fromEntries(
    Object.entries(behaviour).map(([name, value]) => [
      name,
      typeof value === 'string' && /^[0-9]+$/.test(value) ? BigInt(value) : value,
    ]),
  );
}

async function answer({ call, args }: Call): Promise<unknown> {
  const ownCall = ownCalls[call];
  if (ownCall !== undefined) return ownCall(...(args as never[]));
  const [first = '', second] = call.split('.');
  const target = (second === undefined ? sandbox : Reflect.get(sandbox.controls, first)) as Target;
  const method = target[second ?? first];
  if (typeof method !== 'function') throw new Error(`There is no ${call}.`);
  const result: unknown = await Reflect.apply(method, target, args);
  return typeof result === 'function' ? undefined : result;
}

say({
  ...{ rpcUrl, wsUrl, jupiterUrl, apiUrl, facilitatorUrl, relayerUrl },
  ...{ merchant, feePayer, mints, routes },
});
for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line) as Call;
  // Do not await, because a later call may cause the event for which this call waits.
  void answer(call).then(
    (ok) => say({ id: call.id, ok: ok ?? null }),
    (error: unknown) => say({ id: call.id, error: String(error) }),
  );
}
await Promise.all([
  sandbox.close(),
  postgres?.then((server) => server.stop()),
  buyer?.then((path) => rm(dirname(path), { recursive: true, force: true })),
]);
process.exit(0);
