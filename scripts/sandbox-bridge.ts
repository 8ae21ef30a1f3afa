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
import { startPostgres, type Postgres } from '../test/helpers/postgres.js';
import { deployLighthouse } from '../test/helpers/lighthouse.js';
import { makeProgram } from '../test/helpers/make-program.js';
import { signAnew } from '../test/helpers/sign-anew.js';
import { plain } from './spec/plain.js';

/**
 * A sandbox for programs in other languages: its addresses on the first line, then an answer for
 * each line of standard input, until that ends. A call names a method of the sandbox, or of its
 * controls with a dot (`node.warp`); amounts are texts.
 */
interface Call {
  readonly id: number;
  readonly call: string;
  readonly args: readonly unknown[];
}

const sandbox = await createSandbox();
const { rpcUrl, wsUrl, jupiterUrl, apiUrl, facilitatorUrl, relayerUrl } = sandbox;
const { merchant, feePayer, mints, routes } = sandbox;

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(plain(line))}\n`);

type Target = Record<string, unknown>;

const fileParts = { disk: nodeDisk, processes: nodeProcesses };
let postgres: Promise<Postgres> | undefined;
let buyer: Promise<string> | undefined;

/** What has no JSON: numbers that are money, and functions. */
const own: Record<string, (...args: never[]) => unknown> = {
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
  /** The HTTP service, over this sandbox. Resolves to its address. */
  serve: async (apiKey?: string) => {
    const transport = local({ rpcUrl, jupiterUrl });
    const authorize = apiKey === undefined ? {} : { authorize: apiKeys([apiKey]) };
    const service = await serve(createHandler(transport, authorize), { port: 0 });
    return service.url;
  },
  deployLighthouse: () => deployLighthouse(sandbox),
  /** Its key, with which a test signs as the relayer, and what it signed. */
  relayer: () => {
    const { secretKey, signed } = sandbox.controls.relayer;
    return { secretKey, signed };
  },
  /** Has the next relayed swap land under another signature of the relayer's, and so another id. */
  resignRelayed: () => {
    const { node, relayer } = sandbox.controls;
    node.intercept = (method, params, next) => {
      if (method !== 'sendTransaction') return next();
      const [text, options] = params as [string, unknown];
      const wire = Buffer.from(text, 'base64');
      const message = wire.subarray(129);
      if (!relayer.signed.some((one) => message.equals(one.subarray(129)))) return next();
      node.intercept = undefined;
      const secret = Uint8Array.from(getBase58Encoder().encode(relayer.secretKey));
      wire.set(signAnew(message, secret), 1);
      const answer = next([wire.toString('base64'), options]);
      setTimeout(() => node.warp(), 500);
      return answer;
    };
  },
  served: () => sandbox.controls.api.served,
  /** Makes attempts that settle in the journal of a file, which is soon written anew for them. */
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
  /** What the journal of a file says, and what is used of dollars. */
  readJournal: async (path: string) => {
    const journal = fileJournal(path);
    const owner = { wallet: 'wallet', network: 'network' };
    const all = await listOf(journal.attempts(owner));
    const cap = { name: 'all', unit: 'payments', limit: 0n };
    const [used] = await journal.used(owner, [cap], Date.now());
    await journal.close();
    return { attempts: all.map(({ id, state }) => [id, state]), used };
  },
  /** The program of a process that buys, made with the first call. Resolves to its path. */
  buyer: () => (buyer ??= makeProgram('test/chaos/many/four.child.ts')),
  /** A new database of a real Postgres, which is started with the first. Resolves to its address. */
  createDatabase: async () => (await (postgres ??= startPostgres())).createDatabase(),
  /** Ends that Postgres as a reboot does, and starts it again. */
  restartPostgres: async () => {
    const running = await postgres;
    await running?.kill();
    await running?.start();
  },
  restore: async () => {
    const { node, aggregator, facilitator, relayer, api } = sandbox.controls;
    aggregator.restore();
    relayer.restore();
    for (const one of [node, facilitator, api]) one.clearFaults();
    node.latencyMs = 0;
    node.intercept = undefined;
    await facilitator.start();
  },
};

function put(at: unknown, [key = '', ...rest]: readonly string[], value: unknown): void {
  const place = at as Target;
  if (rest.length === 0) place[key] = value;
  else put(place[key], rest, value);
}

/** Amounts in a behaviour are bigints. */
function amountsIn(behaviour: Target): Target {
  return Object.fromEntries(
    Object.entries(behaviour).map(([name, value]) => [
      name,
      typeof value === 'string' && /^[0-9]+$/.test(value) ? BigInt(value) : value,
    ]),
  );
}

async function answer({ call, args }: Call): Promise<unknown> {
  const mine = own[call];
  if (mine !== undefined) return mine(...(args as never[]));
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
  // Not awaited: a call that waits for something must not keep the next from making it happen.
  void answer(call).then(
    (ok) => say({ id: call.id, ok: ok ?? null }),
    (error: unknown) => say({ id: call.id, error: String(error) }),
  );
}
await Promise.all([
  sandbox.close(),
  postgres?.then((one) => one.stop()),
  buyer?.then((path) => rm(dirname(path), { recursive: true, force: true })),
]);
process.exit(0);
