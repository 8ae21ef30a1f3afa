import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { swapRules, swapSubject } from '../../../../src/swaps/firewall/instruction-rules.js';
import { brokenBy } from '../../../../src/swaps/firewall/rule.js';
import type { SwapBuild } from '../../../../src/swaps/provider.js';
import {
  hostile,
  hostileInstructions,
  legitimate,
  type HostileCase,
  type SwapCase,
} from '../../../corpus/index.js';
import {
  judgedAsItIs,
  judgedByClient,
  staticRuleIds,
  withoutRule,
  type Judgement,
} from './corpus-paths.js';
import { fromKit } from '../support.js';
import { swapDecoders as decoders } from '../../../../src/swaps/sources.js';

const families = [...new Set(hostile.map(({ family }) => family))];

const of = (family: string) => hostile.filter((one) => one.family === family);

interface Judged<Case> {
  readonly one: Case;
  readonly judgement: Judgement;
}

function judgedAll<Case extends SwapCase>(
  cases: readonly Case[],
  judge: (one: Case) => Promise<Judgement>,
): Promise<Judged<Case>[]> {
  return Promise.all(cases.map(async (one) => ({ one, judgement: await judge(one) })));
}

/** The cases that were not judged as they should be, with what was made of them. */
function misjudged<Case extends SwapCase>(
  judged: readonly Judged<Case>[],
  expected: (one: Case) => string | undefined,
): string[] {
  return judged
    .filter(({ one, judgement }) => judgement.rule !== expected(one))
    .map(
      ({ one, judgement }) =>
        `${one.id}: ${judgement.rule ?? 'accepted'}, not ${expected(one) ?? 'accepted'}`,
    );
}

describe('the corpus', () => {
  it('has at least 200 hostile transactions, no two of them the same on the same chain', () => {
    const ids = hostile.map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(200);
    expect(new Set(ids).size).toBe(ids.length);
    const seen = new Map<string, string>();
    const twins = hostile.flatMap((one) => {
      const key = contentOf(one);
      const twin = seen.get(key);
      seen.set(key, one.id);
      return twin === undefined ? [] : [`${twin} = ${one.id}`];
    });
    expect(twins).toEqual([]);
  });

  it.each(families)(
    'tries %s in all eight instruction forms, and with SOL on either side',
    (family) => {
      const cases = of(family);
      expect(new Set(cases.map(({ form }) => form)).size).toBe(8);
      expect(
        new Set(
          cases.map(({ direction }) => direction).filter((direction) => direction.includes('sol')),
        ).size,
      ).toBeGreaterThanOrEqual(2);
    },
  );

  it('has legitimate transactions of every form in every direction, none of them in the hostile part', () => {
    expect(new Set(legitimate.map(({ form, direction }) => `${form} ${direction}`)).size).toBe(
      8 * 7,
    );
    expect(new Set(legitimate.map(({ id }) => id)).size).toBe(legitimate.length);
    const contents = new Set(legitimate.map(contentOf));
    expect(hostile.filter((one) => contents.has(contentOf(one))).map(({ id }) => id)).toEqual([]);
  });
});

/**
 * All that tells one case from another: what was returned, and the accounts if they differ from
 * the world's.
 */
function contentOf({ transaction, accounts = new Map() }: SwapCase): string {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  const returned =
    transaction instanceof Uint8Array
      ? hex(transaction)
      : inspect(transaction, { maxArrayLength: null, maxStringLength: null });
  const changed = [...accounts].map(
    ([address, account]) =>
      `${address}: ${account === null ? 'none' : account.owner + hex(account.data)}`,
  );
  return [returned, ...changed].join(' ');
}

describe.each(families)('every hostile transaction of the family %s', (family) => {
  it('is refused as it is by the rule that it breaks first, and never simulated', async () => {
    expect(misjudged(await judgedAll(of(family), judgedAsItIs), ({ rule }) => rule)).toEqual([]);
  });

  it('is refused by the client by the same rule, or defused: nothing but the honest swap comes out of it', async () => {
    const judged = await judgedAll(of(family), judgedByClient);
    expect(misjudged(judged, ({ rule, path }) => (path === 'refused' ? rule : undefined))).toEqual(
      [],
    );
    for (const { one, judgement } of judged.filter(({ one: { path } }) => path === 'defused'))
      expectHonest(one, judgement.build);
  });
});

/**
 * That what is taken is the swap of the honest transaction: its program, data, accounts and signer,
 * and no other lookup tables.
 */
function expectHonest(
  { id, honest, tables, expected }: HostileCase,
  build: SwapBuild | undefined,
): void {
  const taken = build?.instruction;
  const { program, data, accounts } = fromKit(honest);
  expect([taken?.program, taken?.data], id).toEqual([program, data]);
  expect(
    taken?.accounts.map(({ address }) => address),
    id,
  ).toEqual(accounts.map(({ address }) => address));
  expect(
    new Set(taken?.accounts.filter(({ signer }) => signer).map(({ address }) => address)),
    id,
  ).toEqual(new Set([expected.wallet]));
  expect(tables, id).toEqual(expect.arrayContaining([...(build?.lookupTables ?? [])]));
}

describe('every legitimate transaction', () => {
  it('is accepted by the static stages as it is', async () => {
    expect(misjudged(await judgedAll(legitimate, judgedAsItIs), () => undefined)).toEqual([]);
  });

  it('is accepted by the static stages of the client, which takes its swap out of it', async () => {
    const judged = await judgedAll(legitimate, judgedByClient);
    expect(misjudged(judged, () => undefined)).toEqual([]);
    expect(judged.map(({ judgement }) => judgement.build?.instruction.data.length)).not.toContain(
      undefined,
    );
  });
});

/**
 * Rules that no transaction gets as far as, and what comes first: they are there for swaps that
 * arrive as an instruction.
 */
const OF_INSTRUCTIONS: Readonly<Record<string, string>> = {
  // The swap of a transaction is found by its program.
  swap_program: 'one_swap',
  // A transaction says itself which keys sign it.
  extra_signer: 'transaction_signers',
  // Its programs are read-only throughout, or it is refused.
  swap_programs: 'transaction_accounts',
};

/**
 * Rules that guard what a later one reads: without them nothing is let through, but their cases are
 * refused by that one, if by a name that says less. Each is here for its own reason, and the list
 * is to stay short.
 */
const FOLLOWED: Readonly<Record<string, readonly string[]>> = {
  // Bytes that could not be read have no fee payer either.
  transaction_encoding: ['transaction_fee_payer'],
  // Whatever is no active table is read as one without entries, and what a table does not have is
  // no account.
  lookup_table_owner: ['lookup_table_entry'],
  lookup_table_inactive: ['lookup_table_entry'],
  lookup_table_entry: ['transaction_accounts'],
  // Instructions whose accounts are not known pass no rule.
  transaction_accounts: ['durable_nonce'],
  // As it is; the client, which drops what surrounds the swap, has this rule alone against it.
  durable_nonce: ['system_instruction'],
  // A swap that could not be read passes no rule on what it says.
  jupiter_form: ['jupiter_truncated'],
  jupiter_plan: ['jupiter_truncated'],
  jupiter_truncated: ['jupiter_event_authority'],
  // The accounts are judged once more if their balances are taken. What is no token account has
  // no owner either.
  own_account_kind: ['account_unusable', 'own_account_owner'],
  own_account_owner: ['account_unusable'],
  own_account_frozen: ['account_unusable'],
  own_account_delegate: ['account_unusable'],
  own_account_close_authority: ['account_unusable'],
};

const rulesOfTransactions = staticRuleIds().filter((id) => !(id in OF_INSTRUCTIONS));
const outcomesWithout = (id: string) =>
  Promise.all(
    hostile
      .filter(({ rule }) => rule === id)
      .map((one) => judgedAsItIs(one, withoutRule(id)).then(({ rule }) => rule)),
  );

describe('each rule', () => {
  it.each(rulesOfTransactions.filter((id) => !(id in FOLLOWED)))(
    '%s is the one that stops its cases: taken out, it lets some through',
    async (id) => {
      const outcomes = await outcomesWithout(id);
      expect(outcomes).toContain(undefined);
      expect(outcomes).not.toContain(id);
    },
  );

  it.each(Object.entries(FOLLOWED))(
    '%s is the one that names its cases: taken out, it leaves all of them to %j',
    async (id, next) => {
      expect(rulesOfTransactions).toContain(id);
      expect(new Set(await outcomesWithout(id))).toEqual(new Set(next));
    },
  );
});

describe('a hostile instruction without a transaction around it', () => {
  const rules = swapRules(decoders);

  it.each(hostileInstructions.map((one) => [one.id, one] as const))(
    '%s is refused by its rule',
    (_, { instruction, expected, rule }) => {
      expect(
        brokenBy(rules, swapSubject(fromKit(instruction), { ...expected, decoders }))?.id,
      ).toBe(rule);
    },
  );

  it.each(Object.keys(OF_INSTRUCTIONS))(
    'is let through in some form if %s is taken out, or could not be read',
    (id) => {
      const others = rules.filter((rule) => rule.id !== id);
      const cases = hostileInstructions.filter(({ rule }) => rule === id);
      const outcomes = cases.map(
        ({ instruction, expected }) =>
          brokenBy(others, swapSubject(fromKit(instruction), { ...expected, decoders }))?.id,
      );
      // Nothing reads an instruction of a program that is not known.
      expect(outcomes).toContain(id === 'swap_program' ? 'swap_user' : undefined);
    },
  );
});
