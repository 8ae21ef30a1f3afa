/** What a person reads of a rule. */
export interface RuleText {
  readonly id: string;
  /** What it refuses, as the end of a sentence such as "The swap was refused: ...". */
  readonly refuses: string;
  /** What could be done to the wallet without it, as a sentence. */
  readonly why: string;
}

/**
 * One thing that is refused before it is signed, or before it leaves. Ids are stable: tests,
 * documentation and `error.details.rule` use them.
 */
export interface Rule<Subject> extends RuleText {
  readonly passes: (subject: Subject) => boolean;
}

/** The first rule that the subject breaks. */
export function brokenBy<Subject>(
  rules: readonly Rule<Subject>[],
  subject: Subject,
): Rule<Subject> | undefined {
  return rules.find((rule) => !rule.passes(subject));
}
