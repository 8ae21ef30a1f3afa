import { describe, expectTypeOf, it } from 'vitest';
import type { CapUse, Plan, PolicyOptions } from 'exact-change';

type Limit = NonNullable<PolicyOptions['limits']>[number];
type Lists = NonNullable<PolicyOptions['allow']>;

describe('the policy', () => {
  it('takes lists that are fixed, and amounts of base units as bigint or text', () => {
    expectTypeOf<{ usd: '0.50'; per: 'hour'; host: '*' }>().toExtend<Limit>();
    expectTypeOf<{ amount: bigint; mint: 'USDC'; per: 'payment' }>().toExtend<Limit>();
    expectTypeOf<{ amount: '5'; mint: 'USDC'; per: 'total'; payee: '*' }>().toExtend<Limit>();
    expectTypeOf<readonly [{ payments: 30; per: 'minute' }]>().toExtend<PolicyOptions['limits']>();
    expectTypeOf<{ hosts: readonly string[] }>().toExtend<Lists>();
    expectTypeOf<PolicyOptions['deny']>().toEqualTypeOf<PolicyOptions['allow']>();
  });

  it('shows the plan to its hook, which answers now or later', () => {
    expectTypeOf<NonNullable<PolicyOptions['approve']>>().parameters.toEqualTypeOf<[plan: Plan]>();
    expectTypeOf<() => true>().toExtend<PolicyOptions['approve']>();
    expectTypeOf<(plan: Plan) => Promise<boolean>>().toExtend<PolicyOptions['approve']>();
    expectTypeOf<() => string>().not.toExtend<PolicyOptions['approve']>();
    expectTypeOf<() => undefined>().not.toExtend<PolicyOptions['approve']>();
  });

  it('refuses what is misspelt, and money that is a number', () => {
    // @ts-expect-error a limit says for how long
    const endless: Limit = { usd: '1' };
    // @ts-expect-error there is no such period
    const weekly: Limit = { usd: '1', per: 'week' };
    // @ts-expect-error this one is misspelt
    const misspelt: Limit = { usd: '1', per: 'day', hosts: 'a.test' };
    // @ts-expect-error dollars are decimal text
    const dollars: Limit = { usd: 1, per: 'day' };
    // @ts-expect-error base units are a bigint or decimal text
    const units: Limit = { amount: 1, mint: 'USDC', per: 'day' };
    // @ts-expect-error this one is misspelt
    const lists: Lists = { host: ['a.test'] };
    // @ts-expect-error one more at most
    const policy: PolicyOptions = { resign: 2 };
    expectTypeOf([endless, weekly, misspelt, dollars, units]).items.toEqualTypeOf<Limit>();
    expectTypeOf([lists, policy]).not.toBeAny();
  });

  it('tells what is used as text', () => {
    expectTypeOf<CapUse['used']>().toEqualTypeOf<string>();
    expectTypeOf<CapUse['windowMs']>().toEqualTypeOf<number | undefined>();
  });
});
