export interface RuleText {
  readonly id: string;
  /** What the rule refuses, as the end of a sentence such as "The swap was refused: ...". */
  readonly refuses: string;
  /** The harm to the wallet that the rule prevents, as a sentence. */
  readonly why: string;
}

/**
 * A rule that refuses a subject before it is signed, or before it leaves. Ids are stable: tests,
 * documentation and `error.details.rule` use them.
 */
export interface Rule<Subject> extends RuleText {
  readonly passes: (subject: Subject) => boolean;
}

export function brokenBy<Subject>(
  rules: readonly Rule<Subject>[],
  subject: Subject,
): Rule<Subject> | undefined {
  return rules.find((rule) => !rule.passes(subject));
}

/** Returns a maker of rules on a part of a subject; a subject without the part breaks them. */
export function rulesOn<Subject, Part>(
  partOf: (subject: Subject) => Part | undefined,
): (
  id: string,
  refuses: string,
  why: string,
  passes: (part: Part, subject: Subject) => boolean,
) => Rule<Subject> {
  return (id, refuses, why, passes) => ({
    ...{ id, refuses, why },
    passes(subject) {
      const part = partOf(subject);
      return part !== undefined && passes(part, subject);
    },
  });
}
