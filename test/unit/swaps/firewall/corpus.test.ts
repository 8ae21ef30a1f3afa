import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { swapRules, swapSubject } from '../../../../src/swaps/firewall/swap-rules.js';
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

const casesOf = (family: string) => hostile.filter((swapCase) => swapCase.family === family);

interface Judged<Case> {
  readonly swapCase: Case;
  readonly judgement: Judgement;
}

function judgedAll<Case extends SwapCase>(
  cases: readonly Case[],
  judge: (swapCase: Case) => Promise<Judgement>,
): Promise<Judged<Case>[]> {
  return Promise.all(
    cases.map(async (swapCase) => ({ swapCase, judgement: await judge(swapCase) })),
  );
}

/** Cases with a wrong judgement, each with the judgement and the expected rule. */
function misjudged<Case extends SwapCase>(
  judged: readonly Judged<Case>[],
  expected: (swapCase: Case) => string | undefined,
): string[] {
  return judged
    .filter(({ swapCase, judgement }) => judgement.rule !== expected(swapCase))
    .map(
      ({ swapCase, judgement }) =>
        `${swapCase.id}: ${judgement.rule ?? 'accepted'}, not ${expected(swapCase) ?? 'accepted'}`,
    );
}

describe('the corpus', () => {
  it('has at least 200 hostile transactions, each different from all others on the same chain', () => {
    const ids = hostile.map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(200);
    expect(new Set(ids).size).toBe(ids.length);
    const seen = new Map<string, string>();
    const twins = hostile.flatMap((swapCase) => {
      const key = contentOf(swapCase);
      const twin = seen.get(key);
      seen.set(key, swapCase.id);
      return twin === undefined ? [] : [`${twin} = ${swapCase.id}`];
    });
    expect(twins).toEqual([]);
  });

  it.each(families)(
    'covers %s in all eight instruction forms, and with SOL on both sides',
    (family) => {
      const cases = casesOf(family);
      expect(new Set(cases.map(({ form }) => form)).size).toBe(8);
      expect(
        new Set(
          cases.map(({ direction }) => direction).filter((direction) => direction.includes('sol')),
        ).size,
      ).toBeGreaterThanOrEqual(2);
    },
  );

  it('has legitimate transactions of every form in every direction, and none of them is hostile', () => {
    expect(new Set(legitimate.map(({ form, direction }) => `${form} ${direction}`)).size).toBe(
      8 * 7,
    );
    expect(new Set(legitimate.map(({ id }) => id)).size).toBe(legitimate.length);
    const contents = new Set(legitimate.map(contentOf));
    expect(
      hostile.filter((swapCase) => contents.has(contentOf(swapCase))).map(({ id }) => id),
    ).toEqual([]);
  });
});

/**
 * Everything that distinguishes a case: the returned transaction, and the accounts that differ from
 * the accounts of the world.
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
  it('is refused as it is by the first rule that it breaks, and is never simulated', async () => {
    expect(misjudged(await judgedAll(casesOf(family), judgedAsItIs), ({ rule }) => rule)).toEqual(
      [],
    );
  });

  it('is refused by the client with the same rule, or reduced to the honest swap', async () => {
    const judged = await judgedAll(casesOf(family), judgedByClient);
    expect(misjudged(judged, ({ rule, path }) => (path === 'refused' ? rule : undefined))).toEqual(
      [],
    );
    for (const { swapCase, judgement } of judged.filter(
      ({ swapCase: { path } }) => path === 'defused',
    ))
      expectHonest(swapCase, judgement.build);
  });
});

/**
 * Expects the swap of the honest transaction: the same program, data, accounts and signer, and no
 * other lookup tables.
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

  it('is accepted by the static stages of the client, which takes its swap out', async () => {
    const judged = await judgedAll(legitimate, judgedByClient);
    expect(misjudged(judged, () => undefined)).toEqual([]);
    expect(judged.map(({ judgement }) => judgement.build?.instruction.data.length)).not.toContain(
      undefined,
    );
  });
});

/**
 * Rules that no transaction reaches, each with the rule that refuses the transaction first. They
 * protect against swaps that arrive as an instruction.
 */
const OF_INSTRUCTIONS: Readonly<Record<string, string>> = {
  // The swap of a transaction is found by its program.
  swap_program: 'one_swap',
  // A transaction itself names the keys that sign it.
  extra_signer: 'transaction_signers',
  // A transaction with a writable program is refused before.
  swap_programs: 'transaction_accounts',
};

/**
 * Rules that guard the input of a later rule. Without such a rule its cases are still refused, by
 * the later rule and under a name that says less. Each entry has its own reason, and the list must
 * stay short.
 */
const FOLLOWED: Readonly<Record<string, readonly string[]>> = {
  // Bytes that cannot be read have no fee payer either.
  transaction_encoding: ['transaction_fee_payer'],
  // An inactive table is read as a table without entries, and an entry that a table lacks is no
  // account.
  lookup_table_owner: ['lookup_table_entry'],
  lookup_table_inactive: ['lookup_table_entry'],
  lookup_table_entry: ['transaction_accounts'],
  // Instructions with unknown accounts pass no rule.
  transaction_accounts: ['durable_nonce'],
  // This holds for the transaction as it is. Only this rule protects the client, which drops the
  // surroundings of the swap.
  durable_nonce: ['system_instruction'],
  // A swap that cannot be read passes no rule on its fields.
  jupiter_form: ['jupiter_truncated'],
  jupiter_plan: ['jupiter_truncated'],
  jupiter_truncated: ['jupiter_event_authority'],
  // The accounts are judged again when their balances are read. An account of another kind has no
  // owner either.
  own_account_kind: ['account_unusable', 'own_account_owner'],
  own_account_owner: ['account_unusable'],
  own_account_frozen: ['account_unusable'],
  own_account_delegate: ['account_unusable'],
  own_account_close_authority: ['account_unusable'],
  own_account_memo: ['account_unusable'],
  own_account_confidential: ['account_unusable'],
};

const rulesOfTransactions = staticRuleIds().filter((id) => !(id in OF_INSTRUCTIONS));
const outcomesWithout = (id: string) =>
  Promise.all(
    hostile
      .filter(({ rule }) => rule === id)
      .map((swapCase) => judgedAsItIs(swapCase, withoutRule(id)).then(({ rule }) => rule)),
  );

describe('each rule', () => {
  it.each(rulesOfTransactions.filter((id) => !(id in FOLLOWED)))(
    'is needed to stop its cases, and lets some through when it is removed: %s',
    async (id) => {
      const outcomes = await outcomesWithout(id);
      expect(outcomes).toContain(undefined);
      expect(outcomes).not.toContain(id);
    },
  );

  it.each(Object.entries(FOLLOWED))(
    'is needed to name its cases, and leaves them to other rules when it is removed: %s to %j',
    async (id, next) => {
      expect(rulesOfTransactions).toContain(id);
      expect(new Set(await outcomesWithout(id))).toEqual(new Set(next));
    },
  );
});

describe('a hostile instruction without a transaction', () => {
  const rules = swapRules(decoders);

  it.each(hostileInstructions.map((swapCase) => [swapCase.id, swapCase] as const))(
    'is refused by its rule: %s',
    (_, { instruction, expected, rule }) => {
      expect(
        brokenBy(rules, swapSubject(fromKit(instruction), { ...expected, decoders }))?.id,
      ).toBe(rule);
    },
  );

  it.each(Object.keys(OF_INSTRUCTIONS))(
    'passes in some form without the rule %s, or cannot be read',
    (id) => {
      const remaining = rules.filter((rule) => rule.id !== id);
      const cases = hostileInstructions.filter(({ rule }) => rule === id);
      const outcomes = cases.map(
        ({ instruction, expected }) =>
          brokenBy(remaining, swapSubject(fromKit(instruction), { ...expected, decoders }))?.id,
      );
      // No decoder reads an instruction of an unknown program.
      expect(outcomes).toContain(id === 'swap_program' ? 'swap_user' : undefined);
    },
  );
});
