import type { Broken } from './judge.js';
import { itemOf } from './plan.js';
import type { Spending } from './truth.js';
import type { World } from './world.js';

/** Checks that the `funds` and `moved` of thrown errors agree with the chain. */
export function fundsAgree(
  { thrown, plan, ledger, traffic }: World,
  outs: readonly Spending[],
): Broken[] {
  // After a fork, a landed transaction may be missing from the final chain.
  const hasFork = plan.parts.some(({ kind }) => kind === 'fork');
  const isFor = (out: Pick<Spending, 'signed'>, item: string) =>
    out.signed.intent.kind === 'payment' && itemOf(out.signed.intent.url) === item;
  // An error before the call's attempt began says nothing of earlier attempts for the item.
  const begun = thrown.filter(({ ids }) => ids.size > 0);
  return begun.flatMap(({ item, at, ids, error: { code, funds, moved } }): Broken[] => {
    const paid = outs.filter((out) => out.payments > 0n && isFor(out, item));
    // A later call may still send a payment that was signed but had not left.
    const left = paid.filter(
      ({ signed: { signature } }) => (traffic.shown.get(signature)?.[0]?.at ?? Infinity) <= at,
    );
    const swapped = outs.filter(
      ({ landed, swaps, attempt }) => swaps > 0n && landed.error === null && ids.has(attempt),
    );
    const lost = moved.filter(({ signature }) => ledger.landed(signature) === undefined);
    const isTrue = {
      untouched: left.length === 0 && swapped.length === 0,
      swapped: left.length === 0 && moved.length > 0,
      uncertain: true,
      spent: hasFork || paid.some(({ landed }) => landed.at <= at),
    }[funds];
    if (isTrue && (hasFork || lost.length === 0)) return [];
    const told = `${code} for item ${item} at ${(at / 1000).toFixed(1)} said ${funds}`;
    return [
      {
        promise: 'errors tell of funds',
        how: `${told}, with ${lost.length} of ${moved.length} transactions unknown: ${left.length} payments that had left by then are on the chain, and ${swapped.length} swaps of its own`,
      },
    ];
  });
}
