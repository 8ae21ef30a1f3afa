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

describe('a change by a wallet', () => {
  it('is accepted if it is empty', () => {
    expect(judge(payment)).toBe(0);
  });

  it.each(READING)('is accepted if it is the guard %s at any position', (name) => {
    for (let at = 0; at <= end(payment); at += 1)
      expect(judge(insert(payment, at, guardOn(WALLET, name)))).toBe(1);
  });

  it('is accepted if it is several guards on other accounts', () => {
    expect(READING).toHaveLength(14);
    const changed = READING.reduce(
      (sum, name) => insert(sum, end(sum), guardOn(OTHER, name)),
      payment,
    );
    expect(judge(changed)).toBe(14);
  });

  it('is accepted only if its guard logs nothing through another program', () => {
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

describe('a refused change by a wallet', () => {
  it.each(refused)('is refused: %s, by the rule %s', (_, rule, changed) => {
    expect(judge(changed)).toBe(rule);
  });

  it('is shown for every rule except wallet_message', () => {
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
  ])('is refused: %s, by the rule wallet_message', (_, bytes) => {
    expect(judgeChange(compile(payment), bytes)).toMatchObject({ id: 'wallet_message' });
  });
});

/** The effect of a message without its guards, as kit alone decodes it. */
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
        accounts: accounts.map((account) => [account.address, account.role] as const),
        data: [...data],
      })),
    fresh: fresh(compiled),
  };
}

/** Writable accounts that are not in the payment. */
function fresh({ staticAccounts, header }: Compiled): Address[] {
  const { numSignerAccounts, numReadonlyNonSignerAccounts } = header;
  return staticAccounts.filter(
    (account, index) =>
      !payment.staticAccounts.includes(account) &&
      (index < numSignerAccounts || index < staticAccounts.length - numReadonlyNonSignerAccounts),
  );
}

describe('an accepted change', () => {
  it('keeps the effect of the payment when any bit of it is flipped', () => {
    const original = compile(payment);
    const wanted = meaning(original);
    const start = wire(compile(guarded(payment, WALLET, { before: 1, after: 2 })));
    let accepted = 0;
    for (let at = 0; at < start.length; at += 1) {
      // Signatures are checked later.
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
    // Accepted flips are in the assertions of guards, and in the accounts that guards name.
    expect(accepted).toBeGreaterThan(100);
  });
});
