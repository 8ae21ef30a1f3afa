import { memoryJournal, type Journal } from 'exact-change';
import { createCoordination, withCoordination } from '../../src/journal/registry.js';
import type { Coordination } from '../../src/journal/types.js';

/** A call of a journal, or of its coordination. */
export type Step =
  | keyof Pick<Journal, 'reserve' | 'put' | 'raise' | 'release' | 'similar' | 'attempts' | 'used'>
  | keyof Pick<Coordination['ledger'], 'available' | 'take' | 'forget'>
  | 'claim'
  | 'drop'
  | 'live';
/** Whether the journal does the work of a silent step when it speaks again, or had done it before. */
export type Work = 'late' | 'done';

/** Returns a journal in memory that is silent from the steps that a test chooses until `speak`. */
export function silenceable() {
  const shared = createCoordination();
  const inner = withCoordination(memoryJournal(), shared);
  let isSilent = (_step: Step): boolean => false;
  let work: Work = 'late';
  let onSilence = (): void => undefined;
  let spoken = Promise.resolve();
  let speak = (): void => undefined;
  const wait = async (step: Step, when: Work): Promise<void> => {
    if (when !== work || !isSilent(step)) return;
    onSilence();
    await spoken;
  };
  const at =
    <A extends readonly unknown[], T>(step: Step, call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      await wait(step, 'late');
      const result = await call(...args);
      await wait(step, 'done');
      return result;
    };
  const { ledger, claims } = shared;
  const coordination: Coordination = {
    ...shared,
    ledger: {
      ...ledger,
      available: at('available', ledger.available),
      take: at('take', ledger.take),
      forget: at('forget', ledger.forget),
    },
    claims: {
      take: at('claim', claims.take),
      drop: at('drop', claims.drop),
      live: at('live', claims.live),
    },
  };
  const journal: Journal = {
    ...inner,
    reserve: at('reserve', inner.reserve),
    put: at('put', inner.put),
    raise: at('raise', inner.raise),
    release: at('release', inner.release),
    similar: at('similar', inner.similar),
    used: at('used', inner.used),
    async *attempts(owner, filter) {
      await wait('attempts', 'late');
      yield* inner.attempts(owner, filter);
      await wait('attempts', 'done');
    },
    coordination: () => coordination,
  };
  return {
    journal,
    inner,
    /** @param onStart - Called by each step that is silent. */
    silence(steps: (step: Step) => boolean, how: Work, onStart: () => void) {
      [isSilent, work, onSilence] = [steps, how, onStart];
      spoken = new Promise((resolve) => (speak = resolve));
    },
    speak() {
      isSilent = () => false;
      speak();
    },
  };
}
