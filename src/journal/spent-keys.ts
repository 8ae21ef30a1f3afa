import { DAY_MS } from '../policy/periods.js';
import type { Receipt } from '../receipt.js';
import { ownerName } from './attempt-names.js';
import { createLargeMap, type LargeMap } from './large-map.js';
import type { Attempt, Owner } from './types.js';

/** Keys are remembered for a day at least, and longer while they are fewer than this. */
const FEWEST = 10_000;

/** A purchase under a key: the attempt in brief, or its place in the archive. */
export type Remembered = string | number;

/**
 * A key and its purchase. `at`: when the purchase was over, or when its generation of keys began.
 * Milliseconds since the epoch.
 */
export interface SpentKey {
  readonly owner: Owner;
  readonly key: string;
  readonly one: Remembered;
  readonly at: number;
}

/** Keys of purchases that are over, which must not be paid again. */
export interface SpentKeys {
  /** @param at - When the purchase was over. Milliseconds since the epoch. */
  add(owner: Owner, key: string, purchase: Remembered, at: number): void;
  /** Returns the purchases under a key, in the order in which they were added. */
  find(owner: Owner, key: string): readonly Remembered[];
  /** Returns all keys, the older generation first. */
  content(): SpentKey[];
}

interface Generation {
  readonly at: number;
  readonly keys: LargeMap<Remembered | readonly Remembered[]>;
}

export function createSpentKeys(): SpentKeys {
  // Number the owners, because a short prefix saves memory if there are many keys.
  const owners: Owner[] = [];
  const numbers = new Map<string, number>();
  /** The last two generations, the older first. */
  let generations: readonly Generation[] = [];

  const numberOf = ({ wallet, network }: Owner): number => {
    const name = ownerName({ wallet, network });
    const number = numbers.get(name) ?? owners.push({ wallet, network }) - 1;
    numbers.set(name, number);
    return number;
  };
  const listOf = (found: Remembered | readonly Remembered[] = []): readonly Remembered[] =>
    typeof found === 'object' ? found : [found];

  return {
    add(owner, key, purchase, at) {
      let last = generations[generations.length - 1];
      if (last === undefined || (at - last.at >= DAY_MS && last.keys.size >= FEWEST)) {
        last = { at, keys: createLargeMap() };
        generations = [...generations.slice(-1), last];
      }
      const name = `${numberOf(owner)} ${key}`;
      const before = last.keys.get(name);
      last.keys.set(name, before === undefined ? purchase : [...listOf(before), purchase]);
    },
    find(owner, key) {
      const name = `${numberOf(owner)} ${key}`;
      return generations.flatMap(({ keys }) => listOf(keys.get(name)));
    },
    content: () =>
      generations.flatMap(({ keys, at }) =>
        [...keys].flatMap(([name, found]) => {
          const space = name.indexOf(' ');
          const owner = owners[Number(name.slice(0, space))];
          return owner === undefined
            ? []
            : listOf(found).map((one) => ({ owner, key: name.slice(space + 1), one, at }));
        }),
      ),
  };
}

/** Whether an attempt must still be found by its key once it is over. */
export function isSpentKey(attempt: Attempt): attempt is Attempt & { idempotencyKey: string } {
  return attempt.state === 'settled' && attempt.idempotencyKey !== undefined;
}

/**
 * Returns a delivered purchase in brief, to remember by its key: what was bought, and what proves
 * the payment. The brief cannot present the payment again. Undefined without a receipt.
 */
export function briefOf({ receipt, ...attempt }: Attempt): string | undefined {
  if (receipt === undefined) return undefined;
  const { id, at, url, method, host, fingerprint, payTo, mint, amount } = attempt;
  const { payerSignature, signature, decimals, uiAmount } = receipt.payment;
  const place = [id, at, url, method, host, fingerprint, payTo, mint, amount];
  return JSON.stringify([...place, payerSignature, signature, decimals, uiAmount, receipt.swap]);
}

type Brief = readonly [
  ...(readonly [id: string, at: number, url: string, method: string, host: string]),
  ...(readonly [fingerprint: string, payTo: string, mint: string, amount: string]),
  ...(readonly [payerSignature: string, signature: string | null, decimals: number]),
  ...(readonly [uiAmount: string, swap: NonNullable<Receipt['swap']> | null]),
];

/** Returns the attempt of a brief, as far as the brief remembers it. */
export function ofBrief(
  { wallet, network }: Owner,
  idempotencyKey: string,
  brief: string,
): Attempt {
  // Written by `briefOf`.
  const [id, at, url, method, host, fingerprint, payTo, mint, amount, ...paid] = JSON.parse(
    brief,
  ) as Brief;
  const [payerSignature, signature, decimals, uiAmount, swap] = paid;
  return {
    ...{ id, wallet, network, state: 'settled', delivered: true, url, method, host, fingerprint },
    ...{ idempotencyKey, at, payTo, mint, amount },
    payment: {
      header: { name: '', value: '' },
      ...{ payerSignature, source: '', slot: 0, blockhash: '', blockhashSlot: 0 },
      lastValidBlockHeight: '0',
    },
    receipt: {
      ...{ id, url, method, at, state: 'settled', timings: {} },
      payment: {
        ...{ network, mint, amount, decimals, uiAmount, payTo, payer: wallet, payerSignature },
        ...(signature === null ? {} : { signature }),
      },
      ...(swap === null ? {} : { swap }),
      cost: { networkFeeLamports: '0', rentLamports: '0' },
    },
  };
}

/** Returns an attempt without the bytes that no call will present or send again. */
export function leanOf(attempt: Attempt): Attempt {
  const { swap, payment, ...rest } = attempt;
  // Keep the bytes: a repeated call under the same key presents a delivered payment again.
  if (isSpentKey(attempt)) return attempt;
  return {
    ...rest,
    ...(swap === undefined ? {} : { swap: { ...swap, transaction: '' } }),
    ...(payment === undefined
      ? {}
      : { payment: { ...payment, header: { ...payment.header, value: '' } } }),
  };
}
