import type { SwapDecoder } from '../provider.js';
import { ownAccountRules } from '../accounts/own-account-rules.js';
import { envelopeRules } from './envelope.js';
import { exposureRules } from './exposure.js';
import { innerRules } from './inner-rules.js';
import { swapRules } from './swap-rules.js';
import type { RuleText } from './rule.js';
import { shapeRules } from './shape.js';
import { guardRule, simulationRules } from './simulation.js';
import { surroundingsRules } from './surroundings.js';
import { tableNameRules, tableRules } from './tables.js';

/** All rules for a foreign transaction, in the order of their stages. */
export interface FirewallRules {
  readonly envelope: typeof envelopeRules;
  readonly tableNames: typeof tableNameRules;
  readonly tables: typeof tableRules;
  readonly shape: typeof shapeRules;
  readonly accounts: typeof ownAccountRules;
  readonly surroundings: typeof surroundingsRules;
  readonly instruction: ReturnType<typeof swapRules>;
  readonly exposure: typeof exposureRules;
  readonly simulation: typeof simulationRules;
  readonly inner: typeof innerRules;
}

export function firewallRules(decoders: readonly SwapDecoder[]): FirewallRules {
  return {
    envelope: envelopeRules,
    tableNames: tableNameRules,
    tables: tableRules,
    shape: shapeRules,
    accounts: ownAccountRules,
    surroundings: surroundingsRules,
    instruction: swapRules(decoders),
    exposure: exposureRules,
    simulation: simulationRules,
    inner: innerRules,
  };
}

/** The stages in which a transaction is judged, in order. The chain itself judges `guard`. */
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

const STAGES: readonly Exclude<FirewallStage, 'guard'>[] = [
  ...(['envelope', 'tableNames', 'tables', 'shape', 'accounts', 'surroundings'] as const),
  ...(['instruction', 'exposure', 'simulation', 'inner'] as const),
];

export function ruleTexts(
  rules: FirewallRules,
): { readonly stage: FirewallStage; readonly rule: RuleText }[] {
  return [
    ...STAGES.flatMap((stage) => rules[stage].map((rule: RuleText) => ({ stage, rule }))),
    { stage: 'guard', rule: guardRule },
  ];
}
