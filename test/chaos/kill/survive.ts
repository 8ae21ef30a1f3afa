import { join } from 'node:path';
import type { Attempt } from 'exact-change';
import type { Sandbox, SandboxWallet } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { audit } from './audit.js';
import { openBuyer } from './buyer.js';
import type { ChildProgram, Ended } from './child-program.js';
import type { Edges } from './edges.js';
import { attemptsIn, usdcOf } from './evidence.js';
import { delivered, undelivered, type Kill, type Point } from './points.js';
import { watchFor } from './peers.js';
import type { Outcome, Task } from './task.js';

const CONFIRMATION_MS = 20;
const UNWATCHED: Edges = { pass: () => undefined, passWith: () => undefined };

/** A purchase before it begins, with the balances at that time. */
export interface Purchase {
  readonly point: Point;
  readonly wallet: SandboxWallet;
  readonly journal: string;
  readonly request: Task['request'];
  /** Base units of USDC before. */
  readonly held: { readonly wallet: bigint; readonly merchant: bigint };
}

/** The course of a purchase, as its processes report it. */
export interface Story {
  /** Payments on record when a process was killed, by attempt id. */
  readonly recorded: ReadonlyMap<string, Attempt>;
  /** Signatures of swaps that were on record at a kill and could still land. */
  readonly swaps: ReadonlySet<string>;
  /** Outcomes of the calls of the surviving processes, in order. */
  readonly outcomes: readonly Outcome[];
  /** Number of purchases. */
  readonly purchases: number;
  /** Used US dollars of the daily cap, as the last process saw them. */
  readonly spent: readonly string[];
}

/**
 * Runs a purchase through its kills, resumes it, and repeats the call until it is known to be paid.
 * Then all books must agree.
 */
export async function survive(
  sandbox: Sandbox,
  program: ChildProgram,
  point: Point,
  ordinal: number,
): Promise<void> {
  const purchase = await begin(sandbox, program, point, ordinal);
  await audit(sandbox, purchase, await tell(sandbox, program, purchase));
}

async function begin(
  sandbox: Sandbox,
  program: ChildProgram,
  point: Point,
  ordinal: number,
): Promise<Purchase> {
  const wallet = await sandbox.createWallet(
    point.wallet === 'held' ? { USDC: '1' } : { SOL: '0.1' },
  );
  const { method, keyed, identified } = point;
  const path = identified ? '/identified' : method === 'GET' ? '/usdc' : '/echo';
  return {
    point,
    wallet,
    journal: join(program.directory, `${wallet.address}.jsonl`),
    request: {
      url: `${sandbox.apiUrl}${path}?purchase=${ordinal}`,
      method,
      ...(method === 'POST' ? { body: JSON.stringify({ purchase: ordinal }) } : {}),
      ...(keyed ? { idempotencyKey: `purchase ${ordinal}` } : {}),
    },
    held: {
      wallet: await usdcOf(sandbox, wallet.address),
      merchant: await usdcOf(sandbox, sandbox.merchant),
    },
  };
}

async function tell(
  sandbox: Sandbox,
  program: ChildProgram,
  { point, wallet, journal, request, held }: Purchase,
): Promise<Story> {
  const { node } = sandbox.controls;
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const { kills, keyed, unresumed, thrice } = point;
  const task = { ...wallet, rpcUrl, wsUrl, jupiterUrl, journal, request };
  const attempts = () => attemptsIn(journal, wallet.address);
  const recorded = new Map<string, Attempt>();
  const swaps = new Set<string>();
  const expired = new Set<string>();
  let purchases = 1;
  for (const [index, kill] of kills.entries()) {
    const steps = index === 0 ? (['call'] as const) : (['resume', 'call'] as const);
    node.confirmationMs = kill.confirmationMs ?? CONFIRMATION_MS;
    const watch = watchFor(sandbox, wallet.address, held.merchant, kill);
    const killed = await program.run(
      watch === undefined ? { ...task, steps, kill } : { ...task, steps },
      watch?.isTime,
    );
    watch?.calm();
    node.confirmationMs = CONFIRMATION_MS;
    expectKilled(killed, watch === undefined ? kill : undefined);
    for (const attempt of await attempts()) {
      if (attempt.payment !== undefined) recorded.set(attempt.id, attempt);
      if (attempt.swap !== undefined && !expired.has(attempt.swap.signature))
        swaps.add(attempt.swap.signature);
    }
    // A call without a key does not match a delivered attempt, so it is a new purchase.
    const deliveredCount = (await attempts()).filter((attempt) => attempt.delivered).length;
    if (undelivered.includes(kill.edge)) expect(deliveredCount).toBe(0);
    if (delivered.includes(kill.edge)) expect(deliveredCount).toBe(1);
    if (!keyed) purchases = 1 + deliveredCount;
    // A new blockhash makes each new signature a different transaction.
    if (kill.expire !== true) {
      node.warp(1);
      continue;
    }
    node.warp();
    // A swap with a payment after it has landed, so it cannot expire.
    for (const { payment, swap } of await attempts()) {
      if (payment !== undefined || swap === undefined) continue;
      expired.add(swap.signature);
      swaps.delete(swap.signature);
    }
  }

  // The survivor runs in the test process, with a new client and journal that know only the disk.
  const live = async () => {
    const buyer = await openBuyer(task, UNWATCHED);
    if (!unresumed) {
      await buyer.resume();
      expect(await buyer.states()).not.toContain('reserved');
    }
    const outcome = await buyer.call();
    const spent = (await buyer.end()).flatMap(({ parts }) => parts?.payments ?? []);
    return { outcome, spent };
  };
  let last = await live();
  if (isUncertain(last.outcome)) {
    const { payerSignature } = last.outcome.details;
    const open = (await attempts()).filter(
      ({ payment }) => payment?.payerSignature === payerSignature,
    );
    expect(open.map(({ state }) => state)).not.toContain('unsettled');
    expect(open.length).toBe(1);
    node.warp();
    last = await live();
  }
  const outcomes = [last.outcome];
  if (thrice) {
    if (!keyed && last.outcome.kind === 'answer') purchases += 1;
    last = await live();
    outcomes.push(last.outcome);
  }
  return { recorded, swaps, outcomes, purchases, spent: last.spent };
}

/**
 * Expects that the child killed itself at the chosen moment. A failure shows the edges that it
 * passed instead.
 */
function expectKilled({ signal, code, messages, errors }: Ended, moment: Kill | undefined): void {
  const told = messages.filter(({ kind }) => kind === 'killed');
  const passed = messages
    .filter(({ kind }) => kind === 'passed')
    .map(({ step, edge, count }) => `${step} ${edge} ${count}`);
  const expected =
    moment === undefined
      ? []
      : [{ kind: 'killed', step: moment.step, edge: moment.edge, count: moment.count }];
  expect({ signal, code, told, passed, errors }).toEqual({
    signal: 'SIGKILL',
    code: null,
    told: expected,
    passed,
    errors,
  });
}

/**
 * Whether the chain had not decided, or the seller refused a second presentation while it was
 * settling the first.
 */
function isUncertain(outcome: Outcome): outcome is Extract<Outcome, { kind: 'error' }> {
  return (
    outcome.kind === 'error' &&
    outcome.funds === 'uncertain' &&
    ['payment_uncertain', 'payment_rejected'].includes(outcome.code)
  );
}
