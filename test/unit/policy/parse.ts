import { isExactChangeError } from '../../../src/errors.js';
import { SOLANA_MAINNET } from '../../../src/network.js';
import { parsePolicy, type Policy, type PolicyOptions } from '../../../src/policy/policy.js';

export const parse = (options: PolicyOptions): Policy => parsePolicy(options, SOLANA_MAINNET);

/** Caps over time of these rules, without the default cap on lamports. */
export const capsOf = (options: PolicyOptions): Policy['caps'] =>
  parse(options).caps.filter(({ name }) => name !== 'maxLamportsPerDay');

/** The name of the refused option. Throws if the policy accepts all options. */
export function refusedOption(options: unknown): string {
  try {
    parse(options as PolicyOptions);
  } catch (error) {
    if (isExactChangeError(error, 'invalid_option')) return error.details.option;
    throw error;
  }
  throw new Error('The policy accepted all options.');
}
