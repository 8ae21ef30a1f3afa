import { isExactChangeError } from '../../../src/errors.js';
import { SOLANA_MAINNET } from '../../../src/network.js';
import { parsePolicy, type Policy, type PolicyOptions } from '../../../src/policy/policy.js';

export const parse = (options: PolicyOptions): Policy => parsePolicy(options, SOLANA_MAINNET);

/** The caps over time of these rules, besides the one on lamports that is there by default. */
export const capsOf = (options: PolicyOptions): Policy['caps'] =>
  parse(options).caps.filter(({ name }) => name !== 'maxLamportsPerDay');

/** The option that is refused; fails if all are taken. */
export function refusedOption(options: unknown): string {
  try {
    parse(options as PolicyOptions);
  } catch (error) {
    if (isExactChangeError(error, 'invalid_option')) return error.details.option;
    throw error;
  }
  throw new Error('It was taken.');
}
