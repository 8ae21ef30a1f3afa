import { describe, expect, it } from 'vitest';
import { stateTexts } from '../../../scripts/state-texts.js';
import { attemptStates, mayFollow, type AttemptState } from '../../../src/journal/states.js';

const STATES = Object.keys(attemptStates) as AttemptState[];
/** Decided by the chain, for ever. */
const FINAL: readonly AttemptState[] = ['settled', 'unsettled'];

/** All states that an attempt can get to, however many steps that takes. */
function reachable(from: AttemptState): Set<AttemptState> {
  const found = new Set<AttemptState>([from]);
  for (const state of found) for (const next of attemptStates[state].next) found.add(next);
  return found;
}

describe('the states of an attempt', () => {
  it('begin with reserved, and all can be reached from it', () => {
    expect([...reachable('reserved')].sort()).toEqual([...STATES].sort());
  });

  it.each(STATES)('let one that is %s be written again as it is', (state) => {
    expect(mayFollow(state, state)).toBe(true);
  });

  it('never lead back: not from what is decided, and not from a signed payment to one that may be forgotten', () => {
    for (const state of FINAL) expect([...reachable(state)]).toEqual([state]);
    for (const state of reachable('signed')) expect(attemptStates[state].release).toBe(false);
    expect([...reachable('abandoned')]).toEqual(['abandoned', 'unpaid']);
    expect([...reachable('unpaid')]).toEqual(['unpaid']);
  });

  it('free the price only if no payment of it can land any more', () => {
    expect(STATES.filter((state) => !attemptStates[state].counts).sort()).toEqual([
      'abandoned',
      'unpaid',
      'unsettled',
    ]);
  });

  it('lead to a settled or unsettled payment only through its signature, written first', () => {
    for (const from of STATES)
      for (const to of FINAL) if (from !== to) expect(mayFollow(from, to)).toBe(from === 'signed');
  });

  it('say of each what it means, and what a crash and a repeated call make of it', () => {
    for (const { meaning, onCrash, onRepeat } of Object.values(stateTexts))
      for (const text of [meaning, onCrash, onRepeat]) expect(text).toMatch(/^[A-Z].+\.$/);
  });
});
