import { type Address, decompileTransactionMessage } from '@solana/kit';
import { describe, expect, it } from 'vitest';
import { changeTexts, judgeChange } from '../../../src/solana/transactions/wallet-changes.js';
import { OTHER, payment, refused, WALLET, wire } from '../../corpus/wallet-changes.js';
import { guardVectors } from '../../fixtures/lighthouse/vectors.js';
import {
  type Compiled,
  compile,
  decompile,
  guarded,
  guardOn,
  insert,
  LIGHTHOUSE,
} from '../../helpers/changing-wallet.js';

const judge = (changed: Compiled, original: Compiled = payment) => {
  const judged = judgeChange(
    compile(original),
    wire(compile(changed), changed.header.numSignerAccounts),
  );
  return 'id' in judged ? judged.id : judged.guards;
};

const end = (message: Compiled) => message.instructions.length;
const READING = Object.keys(guardVectors).filter((name) => !/Memory|Merkle|Bubblegum/.test(name));

describe('what a wallet may add', () => {
  it('is nothing', () => {
    expect(judge(payment)).toBe(0);
  });

  it.each(READING)('is %s, at any place', (name) => {
    for (let at = 0; at <= end(payment); at += 1)
      expect(judge(insert(payment, at, guardOn(WALLET, name)))).toBe(1);
  });

  it('is several guards, on accounts of its own', () => {
    expect(READING).toHaveLength(14);
    const all = READING.reduce((sum, name) => insert(sum, end(sum), guardOn(OTHER, name)), payment);
    expect(judge(all)).toBe(14);
  });

  it('logs nothing through another program', () => {
    const { data, ...guard } = guardOn(WALLET);
    for (let level = 0; level < 256; level += 1) {
      const logging = Uint8Array.from(data);
      logging[1] = level;
      const isQuiet = [0, 1, 2, 4, 5].includes(level);
      expect(judge(insert(payment, end(payment), { ...guard, data: logging }))).toBe(
        isQuiet ? 1 : 'wallet_guard_log',
      );
    }
  });
});

describe('what a wallet may not sign', () => {
  it.each(refused)('%s: %s', (_, rule, changed) => {
    expect(judge(changed)).toBe(rule);
  });

  it('has no rule that these do not show', () => {
    const shown = new Set(refused.map(([, rule]) => rule));
    expect(changeTexts.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([
      'wallet_message',
    ]);
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['a legacy message', wire(compile(payment).slice(1))],
    ['one byte more', Uint8Array.from([...wire(compile(payment)), 0])],
    ['a packet too long', wire(compile(guarded(payment, WALLET, { after: 60 })))],
    ['a signature less', wire(compile(payment), 1)],
  ])('%s: wallet_message', (_, bytes) => {
    expect(judgeChange(compile(payment), bytes)).toMatchObject({ id: 'wallet_message' });
  });
});

/** What a message does besides its guards, by kit alone. */
function meaning(message: Uint8Array): unknown {
  const compiled = decompile(message);
  const { feePayer, instructions } = decompileTransactionMessage(compiled);
  return {
    feePayer: feePayer.address,
    blockhash: compiled.lifetimeToken,
    signers: compiled.staticAccounts.slice(0, compiled.header.numSignerAccounts),
    instructions: instructions
      .filter(({ programAddress }) => programAddress !== LIGHTHOUSE)
      .map(({ programAddress, accounts = [], data = [] }) => ({
        programAddress,
        accounts: accounts.map((one) => [one.address, one.role] as const),
        data: [...data],
      })),
    fresh: fresh(compiled),
  };
}

/** Accounts that were not in the payment, and may be written. */
function fresh({ staticAccounts, header }: Compiled): Address[] {
  const { numSignerAccounts, numReadonlyNonSignerAccounts } = header;
  return staticAccounts.filter(
    (one, index) =>
      !payment.staticAccounts.includes(one) &&
      (index < numSignerAccounts || index < staticAccounts.length - numReadonlyNonSignerAccounts),
  );
}

describe('whatever is accepted', () => {
  it('does what the payment does, with any one bit of it flipped', () => {
    const original = compile(payment);
    const wanted = meaning(original);
    const start = wire(compile(guarded(payment, WALLET, { before: 1, after: 2 })));
    let accepted = 0;
    for (let at = 0; at < start.length; at += 1) {
      // Signatures are looked at later.
      if (at > 0 && at < 129) continue;
      for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const flipped = start.slice();
        flipped[at] = (flipped[at] ?? 0) ^ bit;
        const judged = judgeChange(original, flipped);
        if ('id' in judged) continue;
        accepted += 1;
        expect(meaning(judged.signed.message)).toEqual(wanted);
      }
    }
    // The assertions of the guards, and which account each is on.
    expect(accepted).toBeGreaterThan(100);
  });
});
