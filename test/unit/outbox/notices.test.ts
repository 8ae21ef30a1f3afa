import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventsOf, jobsOf } from '../../../src/outbox/notices.js';
import type { WebhookEvent } from '../../../src/outbox/outbox.js';
import { FROM_SERVICE } from '../../../src/journal/attempt-names.js';
import { attemptStates, type AttemptState } from '../../../src/journal/states.js';
import type { Attempt, SwapOutcome } from '../../../src/journal/types.js';
import { attemptOf, fullAttemptOf, NOW } from '../../helpers/attempts.js';
import { anyText } from '../../helpers/any-text.js';

const STATES = Object.keys(attemptStates) as AttemptState[]; // The keys of a literal.
const { payment, receipt, swap } = fullAttemptOf();
if (payment === undefined || receipt === undefined || swap === undefined)
  throw new Error('a full attempt has a payment, a receipt and a swap');

const settledReceipt = {
  ...receipt,
  payment: { ...receipt.payment, signature: 'signature on chain' },
};
/** Fields of an attempt in each state, as the flow writes them. */
const HAS: Readonly<Record<AttemptState, Partial<Attempt>>> = {
  reserved: {},
  abandoned: {},
  unpaid: {},
  signed: { payment, receipt },
  settled: { payment, receipt: settledReceipt },
  unsettled: { payment, receipt },
};
const inState = (state: AttemptState, over: Partial<Attempt> = {}) =>
  attemptOf({ id: 'one', state, ...HAS[state], ...over });
const typesOf = (events: readonly WebhookEvent[]) => events.map(({ type }) => type);
const swapWith = (signature: string, outcome?: SwapOutcome) => ({
  ...swap,
  signature,
  ...(outcome && { outcome }),
});
const CONFIRMED: SwapOutcome = {
  state: 'confirmed',
  inAmount: '6',
  outAmount: '3',
  feeLamports: '5000',
};
const FAILED: SwapOutcome = { state: 'failed', code: 'swap_expired' };

/**
 * All ways from a state to a final state. Each state appears twice, because it may be written
 * again; 'released' ends a way if the state allows it.
 */
function waysFrom(
  state: AttemptState,
  before: readonly AttemptState[] = [],
): (readonly (AttemptState | 'released')[])[] {
  const way = [...before, state, state];
  const { next, release } = attemptStates[state];
  const further = next
    .filter((following) => following !== state)
    .flatMap((following) => waysFrom(following, way));
  return [
    ...(release ? [[...way, 'released' as const]] : further.length === 0 ? [way] : []),
    ...further,
  ];
}

function eventsAlong(
  way: readonly (AttemptState | 'released')[],
  over: Partial<Attempt> = {},
): WebhookEvent[] {
  const steps = way.map((state) => (state === 'released' ? undefined : inState(state, over)));
  return steps.flatMap((after, index) => eventsOf(steps[index - 1], after, NOW));
}

describe('eventsOf', () => {
  it.each(waysFrom('reserved').map((way) => [way.join(' > '), way] as const))(
    'returns a single final event of the payment on the way %s',
    (_, way) => {
      const ends = typesOf(eventsAlong(way));
      expect(ends).toEqual([way.includes('settled') ? 'payment.settled' : 'payment.failed']);
    },
  );

  it('is tested with every state and with a release', () => {
    const steps = new Set(waysFrom('reserved').flat());
    expect(steps).toEqual(new Set([...STATES, 'released']));
  });

  it('returns the event of each transition, and no event without a transition', () => {
    const meanings: Record<string, readonly string[]> = {
      'reserved > abandoned': ['payment.failed'],
      'reserved > unpaid': ['payment.failed'],
      'reserved > released': ['payment.failed'],
      'signed > settled': ['payment.settled'],
      'signed > unsettled': ['payment.failed'],
    };
    for (const from of STATES) {
      for (const to of [
        ...attemptStates[from].next,
        ...(attemptStates[from].release ? (['released'] as const) : []),
      ]) {
        const after = to === 'released' ? undefined : inState(to);
        expect(typesOf(eventsOf(inState(from), after, NOW)), `${from} > ${to}`).toEqual(
          meanings[`${from} > ${to}`] ?? [],
        );
      }
      expect(eventsOf(undefined, inState(from), NOW)).toEqual([]);
    }
    expect(eventsOf(undefined, undefined, NOW)).toEqual([]);
  });

  it('returns no event when a service releases an attempt, because its bytes may come again', () => {
    const over = { fingerprint: `${FROM_SERVICE}payment` };
    expect(eventsOf(inState('reserved', over), undefined, NOW)).toEqual([]);
    expect(typesOf(eventsAlong(['reserved', 'unpaid'], over))).toEqual(['payment.failed']);
    expect(typesOf(eventsAlong(['reserved', 'signed', 'settled'], over))).toEqual([
      'payment.settled',
    ]);
  });

  it('returns only the end of the swap of an attempt that is a swap alone', () => {
    const topUp = { url: 'top-up:mint', amount: '0', payTo: '' };
    const steps = [
      inState('reserved', topUp),
      inState('reserved', { ...topUp, swap: swapWith('s1') }),
      inState('unpaid', { ...topUp, swap: swapWith('s1', CONFIRMED) }),
    ];
    const events = steps.flatMap((after, index) => eventsOf(steps[index - 1], after, NOW));
    expect(events.map(({ type, data }) => [type, data.url])).toEqual([
      ['swap.confirmed', 'top-up:mint'],
    ]);
    expect(eventsOf(inState('reserved', topUp), undefined, NOW)).toEqual([]);
  });

  it('returns the purpose of a payment, and the fields to find it by', () => {
    const about = {
      id: 'one',
      wallet: 'wallet',
      network: 'network',
      url: 'https://api.test/',
      method: 'GET',
    };
    const price = { mint: 'mint', amount: '10000', payTo: 'payee' };
    const timestamp = new Date(NOW).toISOString();
    expect(eventsOf(inState('signed'), inState('settled'), NOW)).toEqual([
      {
        ...{ id: 'one_payment_settled', type: 'payment.settled', timestamp },
        data: {
          ...about,
          ...price,
          payerSignature: 'payer signature',
          signature: 'signature on chain',
        },
      },
    ]);
    const failed = { id: 'one_payment_failed', type: 'payment.failed', timestamp };
    expect(eventsOf(inState('signed'), inState('unsettled'), NOW)).toEqual([
      { ...failed, data: { ...about, ...price, payerSignature: 'payer signature' } },
    ]);
    expect(eventsOf(inState('reserved'), undefined, NOW)).toEqual([
      { ...failed, data: { ...about, ...price } },
    ]);
    expect(
      eventsOf(inState('signed'), inState('signed', { doubt: 'payment_rejected' }), NOW),
    ).toEqual([
      {
        ...{ id: 'one_payment_uncertain', type: 'payment.uncertain', timestamp },
        data: {
          ...about,
          ...price,
          payerSignature: 'payer signature',
          lastValidBlockHeight: '0',
          code: 'payment_rejected',
        },
      },
    ]);
  });

  it('returns payment.uncertain once, and only while the chain has not decided', () => {
    const doubt = 'payment_uncertain';
    expect(
      eventsOf(inState('signed', { doubt }), inState('signed', { doubt: 'payment_rejected' }), NOW),
    ).toEqual([]);
    expect(typesOf(eventsOf(inState('signed'), inState('settled', { doubt }), NOW))).toEqual([
      'payment.settled',
    ]);
    expect(
      typesOf(eventsOf(inState('signed', { doubt }), inState('unsettled', { doubt }), NOW)),
    ).toEqual(['payment.failed']);
    expect(eventsOf(inState('reserved'), inState('signed'), NOW)).toEqual([]);
  });

  it.each([
    [
      CONFIRMED,
      'swap.confirmed',
      { inputMint: 'in', inAmount: '6', outputMint: 'out', outAmount: '3', feeLamports: '5000' },
    ],
    [FAILED, 'swap.failed', { inputMint: 'in', outputMint: 'out', code: 'swap_expired' }],
  ] as const)(
    'returns the end of a swap once, when %j is known, whatever else is written',
    (outcome, type, details) => {
      const undecided = { swap: swapWith('s1') };
      const decided = { swap: swapWith('s1', outcome) };
      for (const state of ['reserved', 'signed', 'abandoned'] as const) {
        const [first] = eventsOf(inState('reserved', undecided), inState(state, decided), NOW);
        expect(first).toMatchObject({
          id: `one_${type.replace('.', '_')}_s1`,
          type,
          data: { signature: 's1', provider: 'provider', ...details },
        });
      }
      expect(eventsOf(inState('reserved', decided), inState('signed', decided), NOW)).toEqual([]);
      expect(typesOf(eventsOf(inState('reserved', decided), undefined, NOW))).toEqual([
        'payment.failed',
      ]);
      expect(eventsOf(inState('reserved'), inState('reserved', undecided), NOW)).toEqual([]);
    },
  );

  it('returns an event for each of two swaps, before the event of the payment', () => {
    const steps = [
      inState('reserved'),
      inState('reserved', { swap: swapWith('s1') }),
      inState('reserved', { swap: swapWith('s1', FAILED) }),
      inState('reserved', { swap: swapWith('s2') }),
      inState('abandoned', { swap: swapWith('s2', CONFIRMED) }),
    ];
    const events = steps.flatMap((after, index) => eventsOf(steps[index - 1], after, NOW));
    expect(events.map(({ id }) => id)).toEqual([
      'one_swap_failed_s1',
      'one_swap_confirmed_s2',
      'one_payment_failed',
    ]);
  });

  it('gives an event the same id in any process at any time, and another event another id', () => {
    const before = inState('signed', { swap: swapWith('s1') });
    const afters = [
      inState('settled', { swap: swapWith('s1', CONFIRMED) }),
      inState('unsettled', { swap: swapWith('s1', FAILED) }),
    ];
    const ids = (now: number, over: Partial<Attempt> = {}) =>
      afters.flatMap((after) =>
        eventsOf({ ...before, ...over }, { ...after, ...over }, now).map(({ id }) => id),
      );
    expect(ids(NOW + 1)).toEqual(ids(NOW));
    const allIds = [...ids(NOW), ...ids(NOW, { id: 'two' }), ...ids(NOW, { id: 'one_swap' })];
    expect(new Set(allIds).size).toBe(allIds.length);
  });

  it('returns an event that is due at once as a job', () => {
    const [event] = eventsOf(inState('reserved'), undefined, NOW);
    expect(jobsOf(inState('reserved'), undefined, NOW)).toEqual([
      { event, failures: 0, dueAt: NOW },
    ]);
  });
});

describe('an event', () => {
  const allEvents = (over: Partial<Attempt>): WebhookEvent[] => [
    ...eventsOf(inState('reserved', over), undefined, NOW),
    ...eventsOf(
      inState('signed', { ...over, swap: swapWith('s1') }),
      inState('settled', { ...over, swap: swapWith('s1', CONFIRMED) }),
      NOW,
    ),
    ...eventsOf(
      inState('signed', { ...over, swap: swapWith('s2') }),
      inState('signed', { ...over, swap: swapWith('s2', FAILED) }),
      NOW,
    ),
    ...eventsOf(
      inState('signed', over),
      inState('signed', { ...over, doubt: 'payment_rejected' }),
      NOW,
    ),
    ...eventsOf(inState('signed', over), inState('unsettled', over), NOW),
  ];

  it('has each of the five types in these tests', () => {
    expect(new Set(typesOf(allEvents({}))).size).toBe(5);
  });

  it('has the URL of the payment without user, query and fragment', () => {
    const url = 'https://user:word@api.test:8443/a/b%20c;d?key=secret&x#part';
    for (const { data } of allEvents({ url }))
      expect(data.url).toBe('https://api.test:8443/a/b%20c;d');
    for (const { data } of allEvents({ url: 'swap:in/out?x#y' }))
      expect(data.url).toBe('swap:in/out');
    for (const { data } of allEvents({ url: 'not an address' })) expect(data.url).toBe('');
  });

  it('has nothing that can be presented or sent, and no word of the seller', () => {
    const secrets = {
      swap: { ...swapWith('s1', CONFIRMED), transaction: 'TRANSACTION' },
      payment: { ...payment, header: { name: 'PAYMENT-SIGNATURE', value: 'HEADER' }, memo: 'MEMO' },
      receipt: {
        ...settledReceipt,
        settlement: {
          success: false,
          transaction: 'WORD1',
          network: 'WORD2',
          errorReason: 'WORD3',
        },
      },
      idempotencyKey: 'KEY',
      fingerprint: 'FINGERPRINT',
    };
    const events = [
      ...eventsOf(
        inState('signed', { ...secrets, swap: swapWith('s1') }),
        inState('settled', secrets),
        NOW,
      ),
      ...eventsOf(
        inState('signed', secrets),
        inState('signed', { ...secrets, doubt: 'payment_rejected' }),
        NOW,
      ),
      ...eventsOf(inState('signed', secrets), inState('unsettled', secrets), NOW),
      ...eventsOf(inState('reserved', secrets), undefined, NOW),
    ];
    expect(events).toHaveLength(5);
    expect(JSON.stringify(events)).not.toMatch(
      /TRANSACTION|HEADER|PAYMENT-SIGNATURE|MEMO|WORD|KEY|FINGERPRINT|settlement/,
    );
  });

  it('is smaller than 20 kB and has a plain id, whatever the caller asked for', () => {
    const text = fc.oneof(
      anyText(),
      fc.constantFrom('x', 'ü', '🪙', '"', '.').map((character) => character.repeat(50_000)),
    );
    fc.assert(
      fc.property(text, text, anyText({ minLength: 1, maxLength: 300 }), (path, method, id) => {
        for (const url of [`https://api.test/${path}`, path]) {
          for (const event of allEvents({ url, method, id })) {
            expect(event.id).toMatch(/^[A-Za-z0-9_-]{1,256}$/);
            expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(20_000);
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});
