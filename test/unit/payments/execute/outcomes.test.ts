import { describe, expect, it } from 'vitest';
import { outcomeTexts } from '../../../../scripts/state-texts.js';
import {
  outcomeOf,
  outcomes,
  type AnswerOutcome,
} from '../../../../src/payments/execute/outcomes.js';
import type { Settlement } from '../../../../src/protocols/types.js';

const settled: Settlement = { success: true, transaction: '', network: 'solana' };
const failed: Settlement = {
  success: false,
  transaction: '',
  network: 'solana',
  errorReason: 'no luck',
};

type Case = [
  status: number,
  settlement: Settlement | undefined,
  reason: string | undefined,
  hasTerms?: boolean | undefined,
];

const read = ([status, settlement, reason, hasTerms = false]: Case) =>
  outcomeOf(status, { settlement, reason, hasTerms });

/** Answers that lead to each outcome, and similar answers that do not. */
const CASES: Readonly<Record<Exclude<AnswerOutcome, 'lost'>, readonly Case[]>> = {
  success: [
    [200, settled, undefined],
    [200, undefined, undefined],
    [200, failed, undefined],
    [201, undefined, undefined],
    [204, undefined, undefined],
    [299, undefined, undefined],
    [304, settled, undefined],
    [304, undefined, undefined],
  ],
  failure: [
    [302, undefined, undefined],
    [303, settled, undefined],
    [400, undefined, undefined],
    [400, settled, undefined],
    [404, settled, undefined],
    [409, settled, undefined],
    [429, settled, undefined],
    [404, failed, undefined],
    [429, undefined, undefined],
    [500, settled, undefined],
    [500, undefined, undefined],
    [504, settled, undefined],
    // The status that fetch gives for a redirect that a browser hides.
    [0, undefined, undefined],
  ],
  pending: [
    [402, failed, 'settlement_pending'],
    [402, undefined, 'settlement_pending'],
    [402, failed, 'invalid_exact_svm_payload_settlement_pending'],
    [402, settled, 'settlement_pending'],
    [402, { ...failed, errorReason: 'settlement_pending' }, 'Payment required', true],
  ],
  duplicate: [
    [402, failed, 'duplicate_settlement'],
    [402, undefined, 'duplicate_settlement'],
    [402, failed, 'exact_svm_duplicate_settlement'],
  ],
  unsettled: [
    [402, failed, undefined],
    [402, failed, 'transaction_failed'],
    [402, settled, undefined],
    [402, failed, 'settlement_pending_not'],
    [402, failed, 'no duplicate_settlement here'],
    [402, failed, 'notsettlement_pending'],
    // Bare answers, or version 1, in which refusals and failed settlements look alike.
    [402, undefined, undefined],
    [402, undefined, 'insufficient_funds'],
    [402, failed, 'Payment required', true],
  ],
  refused: [
    [402, undefined, undefined, true],
    [402, undefined, 'No matching payment requirements', true],
    [402, undefined, 'insufficient_funds', true],
    [402, undefined, 'SETTLEMENT_PENDING?', true],
  ],
};

for (const [outcome, cases] of Object.entries(CASES)) {
  describe(`the outcome ${outcome}`, () => {
    it.each([...cases])(
      'follows status %i with settlement %j and reason %s',
      (status, settlement, reason, hasTerms) => {
        expect(read([status, settlement, reason, hasTerms])).toBe(outcome);
      },
    );
  });
}

describe('the table of outcomes', () => {
  const rows = Object.entries(outcomes);

  it('has a case for every row', () => {
    expect(rows.map(([name]) => name).sort()).toEqual([...Object.keys(CASES), 'lost'].sort());
  });

  it('has a row for every status of an answer', () => {
    for (let status = 100; status < 600; status += 1)
      for (const settlement of [undefined, settled, failed])
        expect(outcomes).toHaveProperty(read([status, settlement, undefined]));
  });

  it('counts an answer as delivered only if the caller gets it and a retry would not repeat it', () => {
    for (const [name, { delivered, call }] of rows)
      if (delivered) expect([name, call]).toEqual([name, 'the response']);
    for (const status of [301, 302, 400, 404, 429, 500, 502, 503, 504]) {
      const { delivered } = outcomes[read([status, settled, undefined])];
      expect([status, delivered]).toEqual([status, false]);
    }
  });

  it('allows another signature only after a 402 that says nothing of a settlement', () => {
    expect(rows.filter(([, { resign }]) => resign).map(([name]) => name)).toEqual(['refused']);
  });

  it('asks the chain within the call only if the seller says that the payment is or may be settled', () => {
    expect(rows.filter(([, { askFirst }]) => askFirst).map(([name]) => name)).toEqual([
      'pending',
      'duplicate',
    ]);
  });

  it('describes in a sentence when each row applies', () => {
    for (const when of Object.values(outcomeTexts)) expect(when).toMatch(/^[A-Z0-9].*\.$/);
  });
});
