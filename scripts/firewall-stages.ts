import type { FirewallStage } from '../src/swaps/firewall/catalog.js';

/** Texts of a firewall stage in SECURITY.md: its subject, and the tests of its rules. */
export interface StageText {
  readonly looksAt: string;
  /** Test files or folders; at least one of them names each rule of the stage. */
  readonly provedBy: readonly string[];
}

const corpus = ['test/corpus/hostile', 'test/unit/swaps/firewall/corpus.test.ts'];
const taken = ['test/integration/firewall-transport.test.ts'];
const inspected = ['test/integration/inspect.test.ts'];

export const stageTexts: Readonly<Record<FirewallStage, StageText>> = {
  envelope: { looksAt: 'the transaction as bytes', provedBy: corpus },
  tableNames: { looksAt: 'the lookup tables that it names', provedBy: [...corpus, ...taken] },
  tables: {
    looksAt: 'the lookup tables as your own RPC node has them',
    provedBy: [...corpus, ...taken],
  },
  shape: { looksAt: 'its instructions, their accounts spelled out', provedBy: corpus },
  accounts: {
    looksAt:
      'token accounts of the wallet, before (elsewhere such an account is `account_unusable`)',
    provedBy: [...corpus, ...inspected, 'test/integration/firewall-accounts.test.ts'],
  },
  surroundings: {
    looksAt:
      'what stands around the swap: for `inspectSwap`, and for what the client itself has composed',
    provedBy: [...corpus, ...inspected, 'test/unit/swaps/firewall/self-check.test.ts'],
  },
  instruction: {
    looksAt: 'the one swap instruction',
    provedBy: [...corpus, ...taken, 'test/unit/swaps/firewall/rules.test.ts'],
  },
  exposure: {
    looksAt: 'all other accounts that the swap names, as your own RPC node has them',
    provedBy: [...corpus, 'test/unit/swaps/firewall/rules.test.ts'],
  },
  simulation: {
    looksAt: 'the accounts after a simulation on your own RPC node',
    provedBy: [
      ...inspected,
      'test/unit/swaps/firewall/simulate-check.test.ts',
      'test/integration/firewall-venue.test.ts',
    ],
  },
  inner: {
    looksAt: 'what programs call inside, in the simulation',
    provedBy: [
      ...inspected,
      'test/integration/inner-rules.test.ts',
      'test/unit/swaps/firewall/inner-rules.test.ts',
      'test/unit/swaps/firewall/temporary.test.ts',
    ],
  },
  guard: {
    looksAt: 'the landing itself, on chain, and the simulation before it',
    provedBy: [
      'test/integration/firewall-venue.test.ts',
      'test/integration/firewall-accounts.test.ts',
      ...inspected,
    ],
  },
};
