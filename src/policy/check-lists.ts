import { cleanText, PolicyError } from '../errors.js';
import { toNetwork } from '../network.js';
import { namesHost, plainHost } from './hosts.js';
import type { Kind, ListRules } from './lists.js';

/**
 * Whether the lists let a host be paid, before anything that it asks for is looked at. Returns the
 * refusal (`not_allowed`), or undefined.
 */
export function checkPlace(
  policy: ListRules,
  host: string,
): PolicyError<'not_allowed'> | undefined {
  return refusedBy(policy, { hosts: plainHost(host) });
}

/** Whether the lists let an offer be paid. Returns the refusal (`not_allowed`), or undefined. */
export function checkOffer(
  policy: ListRules,
  {
    payTo,
    mint,
    network,
    scheme,
  }: {
    readonly payTo: string;
    readonly mint: string;
    readonly network: string;
    readonly scheme: string;
  },
): PolicyError<'not_allowed'> | undefined {
  return refusedBy(policy, {
    payees: payTo,
    mints: mint,
    networks: toNetwork(network) ?? network,
    schemes: scheme.trim().toLowerCase(),
  });
}

function refusedBy(
  { lists }: ListRules,
  values: Readonly<Partial<Record<Kind, string>>>,
): PolicyError<'not_allowed'> | undefined {
  for (const { name, allows, kind, entries } of lists) {
    const value = values[kind];
    if (
      value === undefined ||
      entries.some((entry) => (kind === 'hosts' ? namesHost(entry, value) : entry === value)) ===
        allows
    )
      continue;
    return new PolicyError(
      'not_allowed',
      `Refused by policy.${name}, which ${allows ? 'does not name' : 'names'} what is in details.value. Change the list to allow it.`,
      { details: { list: name, value: cleanText(value) } },
    );
  }
  return undefined;
}
