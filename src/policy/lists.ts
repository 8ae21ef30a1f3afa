import { refuse, refuseUnknown } from '../internal/options.js';
import { toNetwork } from '../network.js';
import { readListedHost } from './hosts.js';
import { readAddress, readList, readMint } from './read.js';

/**
 * Lists of payments that are allowed, or denied. Each list that is present applies; an empty list
 * names nothing.
 */
export interface ListOptions {
  /**
   * Hosts such as `api.example.com`, as in `maxPerHost`; `*.example.com` names the subdomains of
   * `example.com`, and not `example.com` itself.
   */
  readonly hosts?: readonly string[] | undefined;
  /** Wallets that are paid, base58. */
  readonly payees?: readonly string[] | undefined;
  /** Mint addresses or pinned symbols. */
  readonly mints?: readonly string[] | undefined;
  /** CAIP-2 ids or names of Solana clusters. */
  readonly networks?: readonly string[] | undefined;
  /** Payment schemes such as `exact`, in any case. */
  readonly schemes?: readonly string[] | undefined;
}

export type Kind = keyof ListOptions;

export interface List {
  /** The rule of the policy, such as `deny.hosts`. */
  readonly name: string;
  readonly allows: boolean;
  readonly kind: Kind;
  readonly entries: readonly string[];
}

export interface ListRules {
  /** Lists that deny come first. */
  readonly lists: readonly List[];
}

const READ: Readonly<Record<Kind, (option: string, entry: unknown, network: string) => string>> = {
  hosts: readListedHost,
  payees: (option, entry) => readAddress(option, entry),
  mints: readMint,
  networks: (option, entry) => {
    const known = typeof entry === 'string' ? toNetwork(entry) : undefined;
    if (known === undefined)
      throw refuse(option, 'must be a Solana cluster such as "solana" or its CAIP-2 id.');
    return known;
  },
  schemes: (option, entry) => {
    if (typeof entry !== 'string' || !/^[a-z0-9_-]+$/i.test(entry))
      throw refuse(option, 'must be a scheme such as "exact".');
    return entry.toLowerCase();
  },
};
const KINDS: readonly Kind[] = ['hosts', 'payees', 'mints', 'networks', 'schemes'];

/**
 * Checks the lists under `policy.allow` or `policy.deny`. Throws `ConfigError` (`invalid_option`).
 */
export function readLists(
  side: 'allow' | 'deny',
  lists: ListOptions | undefined,
  network: string,
): readonly List[] {
  if (lists === undefined) return [];
  refuseUnknown(lists, KINDS, `policy.${side}`);
  return KINDS.flatMap((kind) => {
    const [name, list] = [`${side}.${kind}`, lists[kind]];
    if (list === undefined) return [];
    const entries = readList(`policy.${name}`, list, (option, entry) =>
      READ[kind](option, entry, network),
    );
    return [{ name, allows: side === 'allow', kind, entries }];
  });
}
