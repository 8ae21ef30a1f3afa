import { envelopeRules } from './envelope.js';
import { exposureRules } from './exposure.js';
import { innerRules } from './inner-rules.js';
import { swapRules } from './instruction-rules.js';
import { ownAccountRules } from './own-accounts.js';
import type { RuleText } from './rule.js';
import { shapeRules } from './shape.js';
import { guardRule, simulationRules } from './simulation.js';
import { surroundingsRules } from './surroundings.js';
import { tableNameRules, tableRules } from './tables.js';

/** All rules that a foreign transaction is judged by, in the order of their stages. */
export const firewallRules = {
  envelope: envelopeRules,
  tableNames: tableNameRules,
  tables: tableRules,
  shape: shapeRules,
  accounts: ownAccountRules,
  surroundings: surroundingsRules,
  instruction: swapRules,
  exposure: exposureRules,
  simulation: simulationRules,
  inner: innerRules,
};

export type FirewallRules = typeof firewallRules;
/**
 * The stages in which a transaction is judged, in their order; the last is judged by the chain
 * itself.
 */
export type FirewallStage =
  | 'envelope'
  | 'tableNames'
  | 'tables'
  | 'shape'
  | 'accounts'
  | 'surroundings'
  | 'instruction'
  | 'exposure'
  | 'simulation'
  | 'inner'
  | 'guard';

/** The rules of each stage as a person reads them. */
export function ruleTexts(
  rules: FirewallRules = firewallRules,
): { readonly stage: FirewallStage; readonly rule: RuleText }[] {
  const {
    envelope,
    tableNames,
    tables,
    shape,
    accounts,
    surroundings,
    instruction,
    exposure,
    simulation,
    inner,
  } = rules;
  const of = (stage: FirewallStage, list: readonly RuleText[]) =>
    list.map((rule) => ({ stage, rule }));
  return [
    ...[
      ...of('envelope', envelope),
      ...of('tableNames', tableNames),
      ...of('tables', tables),
      ...of('shape', shape),
    ],
    ...[
      ...of('accounts', accounts),
      ...of('surroundings', surroundings),
      ...of('instruction', instruction),
      ...of('exposure', exposure),
    ],
    ...[...of('simulation', simulation), ...of('inner', inner), ...of('guard', [guardRule])],
  ];
}
