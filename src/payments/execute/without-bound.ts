import type { Attempt } from '../../journal/types.js';

/** An attempt without the bound of a swap that was never signed, or can never land. */
export function withoutBound({ swapping: _bound, ...attempt }: Attempt): Attempt {
  return attempt;
}
