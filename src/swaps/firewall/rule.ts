import { QuoteError } from '../../errors.js';

/**
 * One thing that is refused before a signature. Ids are stable: tests, documentation and
 * `error.details.rule` use them.
 */
export interface Rule<Subject> extends RuleText {
  readonly passes: (subject: Subject) => boolean;
}

/** What a person reads of a rule. */
export interface RuleText {
  readonly id: string;
  /** What it refuses, as the end of the sentence "The swap was refused: ...". */
  readonly refuses: string;
  /** What could be done to the wallet without it, as a sentence. */
  readonly why: string;
}

/** The error of a rule. Swaps that break one are not worth repeating as they are. */
export function refusal(rule: Pick<RuleText, 'id' | 'refuses'>): QuoteError<'unsafe_swap'> {
  return new QuoteError(
    'unsafe_swap',
    `The swap was refused: ${rule.refuses} (rule ${rule.id}). Nothing was signed; take another quote, or another token to swap from.`,
    { details: { rule: rule.id } },
  );
}

/** The first rule that the subject breaks. */
export function brokenBy<Subject>(
  rules: readonly Rule<Subject>[],
  subject: Subject,
): Rule<Subject> | undefined {
  return rules.find((rule) => !rule.passes(subject));
}

/** Throws for the first rule that the subject breaks. */
export function enforce<Subject>(rules: readonly Rule<Subject>[], subject: Subject): void {
  const broken = brokenBy(rules, subject);
  if (broken !== undefined) throw refusal(broken);
}
