import { describe, expectTypeOf, it } from 'vitest';
import type { CapUse, Plan, PolicyOptions } from 'exact-change';

type Limit = NonNullable<PolicyOptions['limits']>[number];
type Lists = NonNullable<PolicyOptions['allow']>;

describe('the policy', () => {
  it('accepts readonly lists, and base units as bigint or text', () => {
    expectTypeOf<{ usd: '0.50'; per: 'hour'; host: '*' }>().toExtend<Limit>();
    expectTypeOf<{ amount: bigint; mint: 'USDC'; per: 'payment' }>().toExtend<Limit>();
    expectTypeOf<{ amount: '5'; mint: 'USDC'; per: 'total'; payee: '*' }>().toExtend<Limit>();
    expectTypeOf<readonly [{ payments: 30; per: 'minute' }]>().toExtend<PolicyOptions['limits']>();
    expectTypeOf<{ hosts: readonly string[] }>().toExtend<Lists>();
    expectTypeOf<PolicyOptions['deny']>().toEqualTypeOf<PolicyOptions['allow']>();
  });

  it('passes the plan to its approve hook, which may be synchronous or asynchronous', () => {
    expectTypeOf<NonNullable<PolicyOptions['approve']>>().parameters.toEqualTypeOf<[plan: Plan]>();
    expectTypeOf<() => true>().toExtend<PolicyOptions['approve']>();
    expectTypeOf<(plan: Plan) => Promise<boolean>>().toExtend<PolicyOptions['approve']>();
    expectTypeOf<() => string>().not.toExtend<PolicyOptions['approve']>();
    expectTypeOf<() => undefined>().not.toExtend<PolicyOptions['approve']>();
  });

  it('rejects misspelt fields, and money as a number', () => {
    // @ts-expect-error a limit needs a period
    const endless: Limit = { usd: '1' };
    // @ts-expect-error there is no such period
    const weekly: Limit = { usd: '1', per: 'week' };
    // @ts-expect-error the field `host` is misspelt
    const misspelt: Limit = { usd: '1', per: 'day', hosts: 'a.test' };
    // @ts-expect-error dollars are decimal text
    const dollars: Limit = { usd: 1, per: 'day' };
    // @ts-expect-error base units are a bigint or decimal text
    const units: Limit = { amount: 1, mint: 'USDC', per: 'day' };
    // @ts-expect-error the field `hosts` is misspelt
    const lists: Lists = { host: ['a.test'] };
    // @ts-expect-error at most one more signature
    const policy: PolicyOptions = { resign: 2 };
    expectTypeOf([endless, weekly, misspelt, dollars, units]).items.toEqualTypeOf<Limit>();
    expectTypeOf([lists, policy]).not.toBeAny();
  });

  it('reports used amounts as text', () => {
    expectTypeOf<CapUse['used']>().toEqualTypeOf<string>();
    expectTypeOf<CapUse['windowMs']>().toEqualTypeOf<number | undefined>();
  });
});
