import { QuoteError } from '../errors.js';

/** One thing that is refused before a signature. Ids are stable: tests, documentation and `error.details.rule` use them. */
export interface Rule<Subject> {
  readonly id: string;
  /** What it refuses, as the end of the sentence "The swap was refused: ...". */
  readonly refuses: string;
  readonly passes: (subject: Subject) => boolean;
}

/** The error of a rule. Swaps that break one are not worth repeating as they are. */
export function refusal(rule: Pick<Rule<never>, 'id' | 'refuses'>): QuoteError<'unsafe_swap'> {
  return new QuoteError(
    'unsafe_swap',
    `The swap was refused: ${rule.refuses} (rule ${rule.id}). Nothing was signed; take another quote, or another token to swap from.`,
    { details: { rule: rule.id } },
  );
}

/** Throws for the first rule that the subject breaks. */
export function enforce<Subject>(rules: readonly Rule<Subject>[], subject: Subject): void {
  const broken = rules.find((rule) => !rule.passes(subject));
  if (broken !== undefined) throw refusal(broken);
}
