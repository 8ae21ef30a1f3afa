import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Handed, handedOn, withByte, withMeta } from '../../helpers/handed.js';
import { wantedNames } from '../../helpers/trial.js';

let handed: Handed;

beforeAll(async () => {
  handed = await handedOn('firewall-handed');
});

afterAll(() => handed.trial.close());

describe.each(wantedNames)('every change of the %s instruction', (name) => {
  it('is refused or takes no more than agreed when any bit of its data changes', async () => {
    for (const [at, byte] of handed.swaps[name].data.entries()) {
      for (let bit = 0; bit < 8; bit += 1)
        await handed.hand(name, (swap) => withByte(swap, at, byte ^ (1 << bit)));
    }
    expect(handed.trial.tally.landed).toBeGreaterThan(20);
  });

  it('is refused or takes no more than agreed when its data is cut or grows', async () => {
    const { data } = handed.swaps[name];
    for (let length = 0; length <= data.length + 4; length += 1) {
      const cut = new Uint8Array(length);
      cut.set(data.subarray(0, length));
      const signed = await handed.hand(name, (swap) => ({ ...swap, data: cut }));
      // V2 instructions begin with their amounts; the bytes after them belong to the venue.
      if (length < data.length - 9) expect(signed).toBe(false);
    }
  });

  it('is refused or takes no more than agreed when any account is replaced', async () => {
    const { tally } = handed.trial;
    const { accounts } = handed.swaps[name];
    const before = tally.refused;
    for (const [at, { writable }] of accounts.entries()) {
      for (const address of handed.interesting) {
        await handed.hand(name, (swap) => withMeta(swap, at, { address }));
        // A read-only account can lose nothing, so no writable account becomes read-only.
        if (!writable)
          await handed.hand(name, (swap) => withMeta(swap, at, { address, writable: true }));
      }
    }
    expect(tally.refused - before).toBeGreaterThan(
      (accounts.length * handed.interesting.length) / 2,
    );
  });

  it('is refused or takes no more than agreed when accounts move or change rights', async () => {
    const { accounts } = handed.swaps[name];
    for (const [at, account] of accounts.entries()) {
      await handed.hand(name, (swap) => ({
        ...swap,
        accounts: swap.accounts.filter((_, index) => index !== at),
      }));
      expect(
        await handed.hand(name, (swap) => ({
          ...swap,
          accounts: swap.accounts.slice(0, Math.min(at, 9)),
        })),
      ).toBe(false);
      for (const [to, other] of [...accounts.entries()].slice(0, at)) {
        await handed.hand(name, (swap) => withMeta(withMeta(swap, at, other), to, account));
      }
      for (const rights of [{ writable: !account.writable }, { signer: !account.signer }])
        await handed.hand(name, (swap) => withMeta(swap, at, rights));
    }
    for (const address of handed.interesting) {
      for (const writable of [true, false]) {
        await handed.hand(name, (swap) => ({
          ...swap,
          accounts: [...swap.accounts, { address, signer: false, writable }],
        }));
      }
    }
  });
});
