import { createHash } from 'node:crypto';
import type { Attempt } from '../../src/journal/types.js';
import { knownWallet } from '../../src/journal/registry.js';
import { mintLock } from '../../src/payments/execute/fund.js';
import { LAMPORTS_LOCK } from '../../src/payments/execute/land-exclusively.js';
import { swapLock } from '../../src/payments/once-topped-up.js';
import { buy } from './caller.js';
import { order } from './order.js';
import { buyByService } from './service-caller.js';
import { judge, type Broken, type SpentAnswer } from './judge.js';
import type { Landed } from './ledger.js';
import { createMachine, type Machine } from './machine.js';
import { accountOf, NETWORK, WALLET } from './places.js';
import type { Part, Plan } from './plan.js';
import { createWorld, type World } from './world.js';

export interface Outcome {
  readonly broken: readonly Broken[];
  /** Hash of the trace lines. */
  readonly hash: string;
  readonly lines: readonly string[];
  /** Transactions of the final chain that landed since the world began. */
  readonly landed: readonly Landed[];
}

const MINUTE = 60_000;
/**
 * Milliseconds after the heal for open payments to end. A blockhash is valid for a minute or two,
 * and clients pause between their requests.
 */
const HEALING = [3 * MINUTE, 5 * MINUTE, 20 * MINUTE];
const ASK_SPENT_MS = 20_000;
/** Milliseconds after which callers give up; no call takes longer. */
const PATIENCE_MS = 60 * MINUTE;

/** Runs a plan: the library in its process, and the world around it. Only the plan decides it. */
export async function run(plan: Plan): Promise<Outcome> {
  const world = createWorld(plan);
  const undo = world.install();
  const unhandled: string[] = [];
  const onUnhandled = (error: unknown) =>
    void unhandled.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.on('unhandledRejection', onUnhandled);
  process.on('warning', onUnhandled);
  try {
    const broken = await world.clock.run(live(world)).catch((error: unknown): Broken[] => {
      if (!(error instanceof Error)) throw error;
      return [{ promise: 'goes on', how: error.stack ?? error.message }];
    });
    const allBroken = [
      ...broken,
      ...unhandled.map((how): Broken => ({ promise: 'throws what it says', how })),
    ];
    const hash = createHash('sha256').update(world.lines.join('\n')).digest('hex').slice(0, 16);
    return {
      broken: allBroken,
      hash,
      lines: world.lines,
      landed: world.ledger.all().filter(({ at }) => at >= 0),
    };
  } finally {
    process.off('unhandledRejection', onUnhandled);
    process.off('warning', onUnhandled);
    undo();
  }
}

async function live(world: World): Promise<Broken[]> {
  const { plan, clock, trace } = world;
  const machine = createMachine(world);
  machine.start();
  const restart = (down: number) => () => clock.after(down, () => machine.start());
  for (const part of plan.parts)
    if (part.kind === 'kill')
      world.upset(part.at, () => machine.kill(part.calls, part.power, restart(part.down)));

  const said: SpentAnswer[] = [];
  let isOver = false;
  const asking = async () => {
    while (!isOver) {
      await ask(world, machine, said);
      await clock.wait(ASK_SPENT_MS);
    }
  };
  void asking();
  const shop = plan.isService ? buyByService : buy;
  const buying = Promise.all(
    plan.parts.map(async (part) => (part.kind === 'buy' ? shop(world, machine, part) : undefined)),
  );
  const swapping = Promise.all(
    plan.parts.map(async (part) =>
      part.kind === 'swap' ? order(world, machine, part) : undefined,
    ),
  );
  const tending = Promise.all(
    plan.parts.map(async (part) => (part.kind === 'tend' ? tend(world, machine, part) : undefined)),
  );
  await Promise.race([Promise.all([buying, swapping, tending]), clock.wait(PATIENCE_MS)]);
  trace('the callers are done');
  if (clock.now() < plan.length) await clock.wait(plan.length - clock.now());
  isOver = true;

  world.heal();
  await cancelKept(world);
  const isEnded = plan.isDurable && (plan.endsAnew || machine.isDying());
  if (machine.clients() !== undefined && isEnded) machine.kill(0, false, restart(0));
  while (machine.clients() === undefined) await clock.wait(1_000);
  for (const rest of HEALING) {
    await Promise.race([resume(machine), clock.wait(MINUTE)]);
    await clock.wait(rest);
  }
  // A call that outlived the patience of the run may have kept another body since.
  await cancelKept(world);
  await ask(world, machine, said);
  const attempts: Attempt[] = [];
  for await (const attempt of machine.journal().attempts({ wallet: WALLET, network: NETWORK }))
    attempts.push(attempt);
  for (const { id, slot, error } of world.ledger.all())
    trace(`on the chain: ${id} ${slot} ${JSON.stringify(error)}`);
  for (const { receipt } of attempts) world.shows(JSON.stringify(receipt ?? {}));
  for (const { id, state, url } of attempts) trace(`in the journal: ${id} ${state} ${url}`);
  const left = await leftOf(world, machine);
  await Promise.race([
    Promise.all(
      [...(machine.clients() ?? []), machine.service()].map(async (payer) => payer?.close()),
    ),
    clock.wait(MINUTE),
  ]);
  return judge(world, machine, said, attempts, left);
}

/** Cancels the unread bodies that callers keep. */
async function cancelKept({ kept, clock }: World): Promise<void> {
  for (const cancel of kept.splice(0))
    await Promise.race([cancel().catch(() => undefined), clock.wait(MINUTE)]);
}

/** Returns the claims, holds and locks that are left. */
async function leftOf({ tokens, clock }: World, { ids, journal }: Machine): Promise<string[]> {
  const shared =
    journal().coordination?.({ wallet: WALLET, network: NETWORK }) ??
    knownWallet(WALLET, NETWORK)?.coordination;
  if (shared === undefined) return [];
  const claims = await shared.claims.live([...ids].flatMap((id) => [id, `body of ${id}`]));
  const accounts = [WALLET, ...tokens.map(({ mint, program }) => accountOf(WALLET, mint, program))];
  const holds = await Promise.all(
    accounts.map(async (account) => ({ account, held: await shared.ledger.held(account) })),
  );
  const names = [LAMPORTS_LOCK, ...tokens.flatMap(({ mint }) => [mintLock(mint), swapLock(mint)])];
  const taking = shared.locks.hold(names, () => Promise.resolve(true));
  const isFree = await Promise.race([taking, clock.wait(MINUTE).then(() => false)]);
  return [
    ...(isFree ? [] : ['a lock']),
    ...[...claims].map((claim) => `the claim ${claim}`),
    ...holds.flatMap(({ account, held }) => (held > 0n ? [`${held} of ${account}`] : [])),
  ];
}

async function resume(machine: Machine): Promise<void> {
  for (const payer of [...(machine.clients() ?? []), machine.service()])
    await payer?.resume().catch(() => undefined);
}

/** Calls a method of a client, beside its payments. It may fail, and must change nothing. */
async function tend(world: World, machine: Machine, part: Part & { kind: 'tend' }): Promise<void> {
  await world.clock.wait(part.at);
  const clients = machine.clients();
  const client = clients?.[part.client % clients.length];
  const call = async (): Promise<unknown> => client?.[part.what]();
  const done = await Promise.race([
    call().then(
      () => 'done',
      (error: unknown) => String(error),
    ),
    machine.ended().then(() => 'the process ended'),
  ]);
  world.trace(`${part.what}: ${done}`);
}

/** Calls `spent()` and records its answer, unless the process ends before. */
async function ask({ clock, trace }: World, machine: Machine, said: SpentAnswer[]): Promise<void> {
  const client = machine.clients()?.[0];
  if (client === undefined) return;
  const moment = () => ({ at: clock.now(), wall: clock.wall() });
  const from = moment();
  const uses = await Promise.race([
    client.spent().catch(() => undefined),
    machine.ended().then(() => undefined),
    clock.wait(MINUTE).then(() => undefined),
  ]);
  if (uses === undefined) return;
  said.push({ from, to: moment(), uses });
  trace(`spent ${uses.map(({ cap, used }) => `${cap} ${used}`).join(', ')}`);
}
