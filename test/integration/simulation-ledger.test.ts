import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import { address } from '@solana/kit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseTransaction } from '../../adapters/sandbox/chain/wire.js';
import { Vm } from '../../adapters/sandbox/chain/vm.js';
import { VENUE, venueBytes } from '../../adapters/sandbox/venue/venue.mjs';
import { bytesIn, type Account } from '../simulation/accounts.js';
import { bundle } from '../simulation/bundle.js';
import { execute, feeOf, type Venue } from '../simulation/execute.js';
import type { Landed } from '../simulation/ledger.js';
import type { Outcome } from '../simulation/run.js';
import type { Message } from '../simulation/wire.js';

/** These runs make every kind of transaction that the library signs, and some of them fail. */
const SEEDS = Array.from({ length: 5 }, (_, index) => index + 1);

const exact: Venue = ({ inAmount, outAmount }) => ({ inAmount, outAmount });

/**
 * Returns the accounts after a transaction in the model: the lamports, and the data that the model
 * knows.
 */
function inTheModel({ message, before }: Landed): {
  readonly error: boolean;
  readonly after: Readonly<Record<string, string>>;
} {
  const accounts = new Map(message.keys.map((key, index) => [key, before[index]]));
  const effect = execute(message, (key) => accounts.get(key), exact, true);
  const held = (key: string): Account | undefined =>
    effect.changes.has(key) ? effect.changes.get(key) : accounts.get(key);
  return {
    error: effect.error !== null,
    after: Object.fromEntries(writable(message).flatMap((key) => shown(key, held(key)))),
  };
}

function writable({
  keys,
  header: [signed, readonlySigned, readonlyUnsigned],
}: Message): readonly string[] {
  return keys.filter((_, index) =>
    index < signed ? index < signed - readonlySigned : index < keys.length - readonlyUnsigned,
  );
}

function shown(key: string, account: Account | undefined): [string, string][] {
  if (account === undefined) return [];
  return [
    [key, `${account.lamports} ${account.owner} ${Buffer.from(bytesIn(account)).toString('hex')}`],
  ];
}

function inLiteSvm({
  message,
  before,
  bytes,
}: Landed): ReturnType<typeof inTheModel> & { readonly fee: bigint } {
  const vm = new Vm();
  vm.addProgram(address(VENUE), venueBytes());
  message.keys.forEach((key, index) => {
    const account = before[index];
    if (account === undefined) return;
    vm.setAccount(address(key), {
      lamports: account.lamports,
      data: bytesIn(account),
      owner: address(account.owner),
      executable: false,
    });
  });
  const { failure, after, fee } = vm.simulate(parseTransaction(bytes), false);
  const entries = writable(message).flatMap((key): [string, string][] => {
    const account = after.get(address(key));
    if (account === undefined || account.lamports === 0n) return [];
    return [
      [key, `${account.lamports} ${account.owner} ${Buffer.from(account.data).toString('hex')}`],
    ];
  });
  return { error: failure !== undefined, after: Object.fromEntries(entries), fee };
}

/** Runs the plans of some seeds. */
async function* outcomes(seeds: readonly number[]): AsyncGenerator<Outcome> {
  const program = await bundle('thread');
  const thread = new Worker(program.path, { workerData: seeds });
  onTestFinished(async () => {
    await thread.terminate();
    await program.remove();
  });
  for await (const [outcome] of on(thread, 'message', { close: ['exit'] })) {
    yield outcome as Outcome; // The thread posts nothing else.
  }
}

describe('the ledger model of the simulator', () => {
  it('changes its accounts as LiteSVM does, for transactions of simulated runs', async () => {
    const kinds = new Set<string>();
    let runs = 0;
    for await (const outcome of outcomes(SEEDS)) {
      runs += 1;
      expect(outcome.broken).toEqual([]);
      for (const landed of outcome.landed) {
        const { message } = landed;
        const kind = message.steps
          .map(
            ({ program, data }) =>
              `${program.slice(0, 4)}${program.startsWith('Comp') ? '' : data[0]}`,
          )
          .join(' ');
        if (kinds.has(kind)) continue;
        kinds.add(kind);
        const [model, real] = [inTheModel(landed), inLiteSvm(landed)];
        expect({ kind, error: real.error, fee: real.fee }).toEqual({
          kind,
          error: model.error,
          fee: feeOf(message),
        });
        if (!model.error) expect(real.after, kind).toEqual(model.after);
      }
    }
    expect(runs).toBe(SEEDS.length);
    // At least a payment, a swap, a swap into a new account, and a swap that wraps SOL.
    expect(kinds.size).toBeGreaterThan(5);
  });
});
