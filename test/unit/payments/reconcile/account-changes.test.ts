import { describe, expect, it } from 'vitest';
import { listenTo } from '../../../../src/payments/reconcile/account-changes.js';
import type { Runtime } from '../../../../src/internal/runtime.js';

/** A clock that each wait moves, and a node that may report changes. */
function world({ hasSocket }: { readonly hasSocket: boolean }) {
  const state = {
    now: 0,
    isLive: false,
    listeners: 0,
    changes: [] as number[],
    lost: [] as number[],
    sockets: 1,
    told: 0,
    ring: (): void => undefined,
  };
  const runtime: Pick<Runtime, 'idle'> = {
    async idle(ms, signal) {
      const change = state.isLive
        ? state.changes.find((at) => at > state.now && at <= state.now + ms)
        : undefined;
      const begin = state.now;
      state.now = change ?? state.now + ms;
      // The socket was lost, and opened again before the next look.
      state.sockets += state.lost.filter((at) => at > begin && at <= state.now).length;
      // The socket opens during the first wait.
      state.isLive = hasSocket && state.listeners > 0;
      if (change !== undefined) state.ring();
      if (signal?.aborted === true) throw signal.reason;
    },
  };
  const onAccount = (_: string, listener: () => void) => {
    state.listeners += 1;
    state.ring = listener;
    return {
      subscription: () => (state.isLive ? state.sockets : undefined),
      end: () => {
        state.listeners -= 1;
        state.isLive = false;
      },
    };
  };
  const { signal } = new AbortController();
  const listening = listenTo({ onAccount }, runtime, 'account', () => (state.told += 1));
  /** Times of full looks and of looks at the height alone, until a time. */
  const run = async (until: number) => {
    const looks: number[] = [];
    const glances: number[] = [];
    while (state.now < until)
      ((await listening.next(signal, false)) ? looks : glances).push(state.now);
    return { looks, glances };
  };
  return { state, listening, run };
}

describe('a listener for the changes of an account', () => {
  it('looks in growing steps without a socket', async () => {
    const { run } = world({ hasSocket: false });
    expect(await run(60_000)).toEqual({
      looks: [250, 750, 1_750, 3_750, 7_750, 15_750, 25_750, 35_750, 45_750, 55_750, 65_750],
      glances: [],
    });
  });

  it('looks about every 20 s with a live socket, and only at the height of the chain in between', async () => {
    const { run } = world({ hasSocket: true });
    expect(await run(60_000)).toEqual({
      looks: [250, 750, 25_750, 45_750, 65_750],
      glances: [1_750, 3_750, 7_750, 15_750, 35_750, 55_750],
    });
  });

  it('looks at once when the node reports a change, and once more because its history may lag', async () => {
    const { run, state } = world({ hasSocket: true });
    state.changes.push(20_000);
    const { looks } = await run(24_000);
    expect(looks).toEqual([250, 750, 20_000, 20_250]);
    expect(state.told).toBe(1);
  });

  it('looks twice after a socket was lost and opened again during a wait', async () => {
    const { run, state } = world({ hasSocket: true });
    state.lost.push(10_000);
    const { looks } = await run(26_000);
    expect(looks).toEqual([250, 750, 15_750, 25_750]);
  });

  it('stops listening to an account that strangers keep changing', async () => {
    const { run, state } = world({ hasSocket: true });
    for (let at = 10_000; at < 40_000; at += 100) state.changes.push(at);
    const { looks } = await run(60_000);
    expect(looks.length).toBeLessThan(20);
    expect(state.listeners).toBe(0);
  });

  it('listens only from its first wait until its end', async () => {
    const { run, state, listening } = world({ hasSocket: true });
    expect(state.listeners).toBe(0);
    await run(1_000);
    expect(state.listeners).toBe(1);
    listening.end();
    expect(state.listeners).toBe(0);
  });
});
