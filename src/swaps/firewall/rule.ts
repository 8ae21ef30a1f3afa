import { QuoteError } from '../../errors.js';
import { brokenBy, type Rule, type RuleText } from '../../internal/rule.js';

export { brokenBy, rulesOn, type Rule, type RuleText } from '../../internal/rule.js';

/** Returns the error for a broken rule. An equal swap would break the rule again. */
export function refusal(rule: Pick<RuleText, 'id' | 'refuses'>): QuoteError<'unsafe_swap'> {
  return new QuoteError(
    'unsafe_swap',
    `The swap was refused: ${rule.refuses} (rule ${rule.id}). Nothing was signed; take another quote, or another token to swap from.`,
    { details: { rule: rule.id } },
  );
}

export function enforce<Subject>(rules: readonly Rule<Subject>[], subject: Subject): void {
  const broken = brokenBy(rules, subject);
  if (broken !== undefined) throw refusal(broken);
}
