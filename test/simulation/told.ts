import type { Moved } from '../../src/index.js';
import type { Broken } from './judge.js';
import { SOL, WALLET } from './places.js';
import type { Landed } from './ledger.js';
import { itemOf, type Part } from './plan.js';
import type { Spending } from './truth.js';
import type { World } from './world.js';

type Told = Partial<Omit<Moved, 'kind'>>;

/** Compares the amounts of swaps, as the library tells them, with the chain. */
export function untrueSwaps({ plan, ledger }: World, swaps: readonly Told[]): string[] {
  // Then a swap may have no amounts but those of its quote, or be on a fork.
  const isExempt = ({ kind }: Part) => ['node', 'fork', 'close'].includes(kind);
  if (plan.parts.some(isExempt)) return [];
  return swaps.flatMap(({ signature = '', inputMint = '', inAmount, outputMint, outAmount }) => {
    const landed = ledger.landed(signature);
    if (landed === undefined) return [`the swap ${signature} is not on the chain`];
    if (inputMint === outputMint || inAmount === undefined) return [];
    const [took, brought] = [inputMint, outputMint].map((mint) => changeOf(landed, mint));
    if (took === -BigInt(inAmount) && (outAmount === undefined || brought === BigInt(outAmount)))
      return [];
    return [
      `the swap ${signature} is told as ${inAmount} to ${outAmount}, and was ${took} to ${brought}`,
    ];
  });
}

/**
 * Returns the change of a mint on the wallet's accounts; of SOL, without the network fee and
 * without the rents that a relayer paid.
 */
function changeOf({ message, before, after, fee }: Landed, mint: string | undefined): bigint {
  const isRelayed = message.signers[0] !== WALLET;
  return message.keys.reduce(
    (sum, address, index) => {
      const [had, has] = [before[index], after[index]];
      const token = had?.token ?? has?.token;
      if (address !== WALLET && token?.owner !== WALLET) return sum;
      if (mint === SOL && isRelayed && token !== undefined)
        return token.mint === SOL
          ? sum + (has?.token?.amount ?? 0n) - (had?.token?.amount ?? 0n)
          : sum;
      if (mint === SOL) return sum + (has?.lamports ?? 0n) - (had?.lamports ?? 0n);
      if (token?.mint !== mint) return sum;
      return sum + (has?.token?.amount ?? 0n) - (had?.token?.amount ?? 0n);
    },
    mint === SOL && !isRelayed ? fee : 0n,
  );
}

/** Checks that the `funds` and `moved` of thrown errors agree with the chain. */
export function fundsAgree(world: World, outs: readonly Spending[]): Broken[] {
  const { thrown, plan, ledger, traffic } = world;
  // After a fork, a landed transaction may be missing from the final chain.
  const hasFork = plan.parts.some(({ kind }) => kind === 'fork');
  const isFor = (out: Pick<Spending, 'signed'>, item: string) =>
    out.signed.intent.kind === 'payment' && itemOf(out.signed.intent.url) === item;
  // An error before the call's attempt began says nothing of earlier attempts for the item.
  // Of two equal calls, events do not show which call they are for.
  const isAlone = (item: string) =>
    plan.parts.filter((part) => part.kind === 'buy' && String(part.item) === item).length < 2;
  const begun = thrown.filter(({ ids, item }) => ids.size > 0 && isAlone(item));
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
    const untrue = untrueSwaps(
      world,
      moved.filter(({ kind }) => kind === 'swap'),
    );
    if (isTrue && (hasFork || lost.length === 0) && untrue.length === 0) return [];
    const told = `${code} for item ${item} at ${(at / 1000).toFixed(1)} said ${funds}`;
    return [
      {
        promise: 'errors tell of funds',
        how: `${told}, ${untrue.join()} with ${lost.length} of ${moved.length} transactions unknown: ${left.length} payments that had left by then are on the chain, and ${swapped.length} swaps of its own`,
      },
    ];
  });
}
