import { describe, expect, it } from 'vitest';
import { stateTexts } from '../../../scripts/state-texts.js';
import { attemptStates, mayFollow, type AttemptState } from '../../../src/journal/states.js';

const STATES = Object.keys(attemptStates) as AttemptState[];
/** States that the chain decided, for ever. */
const FINAL: readonly AttemptState[] = ['settled', 'unsettled'];

/** All states that an attempt can reach in any number of steps. */
function reachable(from: AttemptState): Set<AttemptState> {
  const found = new Set<AttemptState>([from]);
  for (const state of found) for (const next of attemptStates[state].next) found.add(next);
  return found;
}

describe('the state machine of an attempt', () => {
  it('starts in reserved, and reaches every state from there', () => {
    expect([...reachable('reserved')].sort()).toEqual([...STATES].sort());
  });

  it.each(STATES)('allows the state %s to be written again', (state) => {
    expect(mayFollow(state, state)).toBe(true);
  });

  it('never leads back from a decided state, nor from signed to a state that may be released', () => {
    for (const state of FINAL) expect([...reachable(state)]).toEqual([state]);
    for (const state of reachable('signed')) expect(attemptStates[state].release).toBe(false);
    expect([...reachable('abandoned')]).toEqual(['abandoned', 'unpaid']);
    expect([...reachable('unpaid')]).toEqual(['unpaid']);
  });

  it('frees the price only in states in which no payment can land', () => {
    expect(STATES.filter((state) => !attemptStates[state].counts).sort()).toEqual([
      'abandoned',
      'unpaid',
      'unsettled',
    ]);
  });

  it('reaches settled and unsettled only from signed', () => {
    for (const from of STATES)
      for (const to of FINAL) if (from !== to) expect(mayFollow(from, to)).toBe(from === 'signed');
  });

  it('describes the meaning of each state, and the effect of a crash and of a repeated call', () => {
    for (const { meaning, onCrash, onRepeat } of Object.values(stateTexts))
      for (const text of [meaning, onCrash, onRepeat]) expect(text).toMatch(/^[A-Z].+\.$/);
  });
});
