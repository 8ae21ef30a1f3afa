import type { Attempt, SwapOutcome } from '../../../src/journal/types.js';
import { attemptOf, fullAttemptOf } from '../../helpers/attempts.js';

export const OWNER = { wallet: 'wallet', network: 'network' } as const;

const CONFIRMED: SwapOutcome = {
  state: 'confirmed',
  inAmount: '5',
  outAmount: '6',
  feeLamports: '7',
};

/** One attempt's life: what is written after it was reserved, and what is to be told of it. */
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

/** What is to be written of an attempt, one after the other; `toldAt` says how far it has come. */
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

/** What is to be told in the end: an event's type and its attempt. */
export function toldOf(index: number): string[] {
  return lifeOf(index).told.map((type) => `${type} of attempt-${index}`);
}
