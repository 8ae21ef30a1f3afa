import {
  type Address,
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  compileTransactionMessage,
  createTransactionMessage,
  decompileTransactionMessage,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { describe, expect, it } from 'vitest';
import { changeTexts, judgeChange } from '../../../src/solana/transactions/wallet-changes.js';
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
import { BLOCKHASH, someKey } from '../swaps/support.js';

const [FEE_PAYER, WALLET, SOURCE, DESTINATION, MINT, OTHER] = [1, 3, 5, 7, 9, 11].map(someKey);
if (!FEE_PAYER || !WALLET || !SOURCE || !DESTINATION || !MINT || !OTHER) throw new Error('no keys');
const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const BUDGET = address('ComputeBudget111111111111111111111111111111');

/** A payment as kit compiles it. */
const payment = decompile(
  compile(
    compileTransactionMessage(
      pipe(
        createTransactionMessage({ version: 0 }),
        (message) => setTransactionMessageFeePayer(FEE_PAYER, message),
        (message) =>
          setTransactionMessageLifetimeUsingBlockhash(
            // A key has the form of a blockhash.
            { blockhash: BLOCKHASH as never, lastValidBlockHeight: 1n },
            message,
          ),
        (message) =>
          appendTransactionMessageInstructions(
            [
              { programAddress: BUDGET, data: Uint8Array.of(2, 32, 78, 0, 0) },
              { programAddress: BUDGET, data: Uint8Array.of(3, 1, 0, 0, 0, 0, 0, 0, 0) },
              {
                programAddress: TOKEN,
                accounts: [
                  { address: SOURCE, role: AccountRole.WRITABLE },
                  { address: MINT, role: AccountRole.READONLY },
                  { address: DESTINATION, role: AccountRole.WRITABLE },
                  { address: WALLET, role: AccountRole.READONLY_SIGNER },
                ],
                data: Uint8Array.of(12, 16, 39, 0, 0, 0, 0, 0, 0, 6),
              },
            ],
            message,
          ),
      ),
    ),
  ),
);

/** With room for the signatures, which nothing here looks at. */
const wire = (message: Uint8Array, signers = 2) =>
  Uint8Array.from([signers, ...new Uint8Array(64 * signers), ...message]);

const judge = (changed: Compiled, original: Compiled = payment) => {
  const judged = judgeChange(
    compile(original),
    wire(compile(changed), changed.header.numSignerAccounts),
  );
  return 'id' in judged ? judged.id : judged.guards;
};

const end = (message: Compiled) => message.instructions.length;
const withHeader = (change: Partial<Compiled['header']>): Compiled => ({
  ...payment,
  header: { ...payment.header, ...change },
});
const withInstructions = (
  change: (instructions: Compiled['instructions'][number][]) => Compiled['instructions'],
): Compiled => ({ ...payment, instructions: change([...payment.instructions]) });

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

const refused: readonly (readonly [string, string, Compiled])[] = [
  ['MemoryWrite', 'wallet_memory_write', insert(payment, 3, guardOn(WALLET, 'MemoryWrite'))],
  ['MemoryClose', 'wallet_memory_close', insert(payment, 3, guardOn(WALLET, 'MemoryClose'))],
  [
    'AssertMerkleTreeAccount',
    'wallet_merkle_tree',
    insert(payment, 3, guardOn(WALLET, 'AssertMerkleTreeAccount')),
  ],
  [
    'AssertBubblegumTreeConfigAccount',
    'wallet_bubblegum_tree',
    insert(payment, 3, guardOn(WALLET, 'AssertBubblegumTreeConfigAccount')),
  ],
  [
    'an instruction of the guards that there is not',
    'wallet_guard',
    insert(payment, 3, { ...guardOn(WALLET), data: Uint8Array.of(18, 0) }),
  ],
  [
    'a guard without data',
    'wallet_guard',
    insert(payment, 3, { ...guardOn(WALLET), data: new Uint8Array() }),
  ],
  [
    'a guard that says no log level',
    'wallet_guard_log',
    insert(payment, 3, { ...guardOn(WALLET), data: Uint8Array.of(5) }),
  ],
  [
    'a guard with one account more',
    'wallet_guard_accounts',
    insert(payment, 3, { ...guardOn(WALLET), accounts: [WALLET, OTHER] }),
  ],
  [
    'a guard with one account less',
    'wallet_guard_accounts',
    insert(payment, 3, { ...guardOn(WALLET), accounts: [] }),
  ],
  [
    'a transfer of its own',
    'wallet_instructions',
    withInstructions((all) => [...all, ...all.slice(2)]),
  ],
  ['no transfer', 'wallet_instructions', withInstructions((all) => all.slice(0, 2))],
  ['another order', 'wallet_instructions', withInstructions((all) => all.reverse())],
  [
    'a higher price',
    'wallet_instructions',
    withInstructions(([limit, price, transfer]) => [
      limit!,
      { ...price!, data: Uint8Array.of(3, 160, 134, 1, 0, 0, 0, 0, 0) },
      transfer!,
    ]),
  ],
  [
    'another amount',
    'wallet_instructions',
    withInstructions(([limit, price, transfer]) => [
      limit!,
      price!,
      { ...transfer!, data: Uint8Array.of(12, 17, 39, 0, 0, 0, 0, 0, 0, 6) },
    ]),
  ],
  [
    'another recipient',
    'wallet_instructions',
    {
      ...payment,
      staticAccounts: payment.staticAccounts.map((one) => (one === DESTINATION ? OTHER : one)),
    },
  ],
  [
    'another fee payer',
    'wallet_signers',
    {
      ...payment,
      staticAccounts: payment.staticAccounts.map((one) => (one === FEE_PAYER ? OTHER : one)),
    },
  ],
  ['one more signer', 'wallet_signers', withHeader({ numSignerAccounts: 3 })],
  ['a signer that is written', 'wallet_signers', withHeader({ numReadonlySignerAccounts: 0 })],
  ['a mint that is written', 'wallet_rights', withHeader({ numReadonlyNonSignerAccounts: 2 })],
  [
    'a recipient that is read only',
    'wallet_rights',
    withHeader({ numReadonlyNonSignerAccounts: 4 }),
  ],
  ['another blockhash', 'wallet_blockhash', { ...payment, lifetimeToken: OTHER }],
  [
    'a lookup table',
    'wallet_tables',
    {
      ...payment,
      version: 0,
      addressTableLookups: [
        { lookupTableAddress: OTHER, writableIndexes: [0], readonlyIndexes: [] },
      ],
    },
  ],
  [
    'an account that nothing needs',
    'wallet_accounts',
    {
      ...payment,
      staticAccounts: [...payment.staticAccounts, OTHER],
      header: {
        ...payment.header,
        numReadonlyNonSignerAccounts: payment.header.numReadonlyNonSignerAccounts + 1,
      },
    },
  ],
];

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
