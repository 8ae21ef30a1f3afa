import type { Attempt, SwapOutcome } from '../../../src/journal/types.js';
import { attemptOf, fullAttemptOf } from '../../helpers/attempts.js';

export const OWNER = { wallet: 'wallet', network: 'network' } as const;

const CONFIRMED: SwapOutcome = {
  state: 'confirmed',
  inAmount: '5',
  outAmount: '6',
  feeLamports: '7',
};

/** The course of an attempt: its writes after the reservation, and the expected events. */
interface Life {
  readonly puts: readonly Partial<Attempt>[];
  readonly told: readonly string[];
}

const { payment, receipt, swap } = fullAttemptOf();
const signed = {
  state: 'signed',
  ...(payment && { payment }),
  ...(receipt && { receipt }),
} as const;
const swapped = (outcome?: SwapOutcome) =>
  swap === undefined ? {} : { swap: { ...swap, ...(outcome && { outcome }) } };

/** Seven events for five attempts. */
const LIVES: readonly Life[] = [
  {
    puts: [signed, { ...signed, doubt: 'payment_uncertain' }, { ...signed, state: 'settled' }],
    told: ['payment.uncertain', 'payment.settled'],
  },
  { puts: [{ state: 'abandoned' }], told: ['payment.failed'] },
  { puts: [signed, { ...signed, state: 'unsettled' }], told: ['payment.failed'] },
  { puts: [signed, { ...signed, state: 'settled' }], told: ['payment.settled'] },
  {
    puts: [
      swapped(),
      { ...signed, ...swapped(CONFIRMED) },
      { ...signed, ...swapped(CONFIRMED), state: 'settled' },
    ],
    told: ['swap.confirmed', 'payment.settled'],
  },
];

function lifeOf(index: number): Life {
  return LIVES[index % LIVES.length] ?? { puts: [], told: [] };
}

/** Returns the writes of an attempt in order; `toldAt` holds the number of the write. */
export function writesOf(index: number): Attempt[] {
  const reserved = attemptOf({
    id: `attempt-${index}`,
    ...OWNER,
    fingerprint: `fingerprint ${index}`,
    toldAt: 0,
  });
  return [
    reserved,
    ...lifeOf(index).puts.map((put, step) => ({ ...reserved, ...put, toldAt: step + 1 })),
  ];
}

/** Returns the events that receivers must get in the end, as type and attempt. */
export function toldOf(index: number): string[] {
  return lifeOf(index).told.map((type) => `${type} of attempt-${index}`);
}
