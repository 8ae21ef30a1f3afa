import type { ClientOptions } from '../../src/config/options.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';

/** Parsers of variables, by name. Each returns the options that its variable sets. */
export type Readings<T> = Readonly<Record<string, (text: string) => T>>;

type VariableOptions = Pick<
  ClientOptions,
  | ('rpcUrl' | 'wsUrl' | 'jupiterUrl' | 'jupiterApiKey' | 'apiUrl' | 'apiKey')
  | ('network' | 'autoSwap' | 'swapFrom' | 'policy')
>;

const list = (text: string) => text.split(',').map((item) => item.trim());

/** Variables with the same meaning for `clientFromEnv` and for the command. */
export const clientVariables: Readings<VariableOptions> = {
  SOLANA_RPC_URL: (text) => ({ rpcUrl: list(text) }),
  JUPITER_API_KEY: (jupiterApiKey) => ({ jupiterApiKey }),
  EXACT_CHANGE_NETWORK: (network) => ({ network }),
  EXACT_CHANGE_WS_URL: (wsUrl) => ({ wsUrl }),
  EXACT_CHANGE_JUPITER_URL: (jupiterUrl) => ({ jupiterUrl }),
  EXACT_CHANGE_API_URL: (apiUrl) => ({ apiUrl }),
  EXACT_CHANGE_API_KEY: (apiKey) => ({ apiKey }),
  EXACT_CHANGE_AUTO_SWAP: (text) => ({ autoSwap: flag('EXACT_CHANGE_AUTO_SWAP', text) }),
  EXACT_CHANGE_SWAP_FROM: (text) => ({ swapFrom: list(text) }),
  EXACT_CHANGE_MAX_PER_PAYMENT: (maxPerPayment) => ({ policy: { maxPerPayment } }),
  EXACT_CHANGE_MAX_PER_DAY: (maxPerDay) => ({ policy: { maxPerDay } }),
};

/** Variables of the command only. `clientFromEnv` ignores them and does not refuse them. */
export const commandVariables: readonly string[] = [
  'EXACT_CHANGE_CONFIG',
  'EXACT_CHANGE_PASSPHRASE',
  'EXACT_CHANGE_SERVICE_KEY',
];

/**
 * Returns the options of each set variable. An empty variable counts as absent. Throws
 * `ConfigError` (`invalid_option`) for an unknown variable that begins with `EXACT_CHANGE_`: a
 * misspelt cap would have no effect.
 */
export function readVariables<T>(
  env: Readonly<Record<string, string | undefined>>,
  readings: Readings<T>,
): T[] {
  const set = Object.entries(env).flatMap(([name, text = '']) =>
    text.trim() === '' ? [] : [[name, text.trim()] as const],
  );
  const prefixed = set.filter(([name]) => name.startsWith('EXACT_CHANGE_'));
  const names = [...Object.keys(readings), ...commandVariables];
  refuseUnknown(
    Object.fromEntries(prefixed),
    names.filter((name) => name.startsWith('EXACT_CHANGE_')),
  );
  const given = set.map(([name]) => name);
  if (given.includes('EXACT_CHANGE_KEY_FILE') && given.includes('WALLET_SECRET_KEY'))
    throw refuse('EXACT_CHANGE_KEY_FILE', 'excludes WALLET_SECRET_KEY. Give one.');
  return set.flatMap(([name, text]) => {
    const options = readings[name]?.(text);
    return options === undefined ? [] : [options];
  });
}

function flag(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw refuse(name, 'must be true or false.');
  return text === 'true';
}

/** Options for addresses, each with an option that belongs to that address alone. */
const PARTS = [
  ['rpcUrl', 'wsUrl'],
  ['apiUrl', 'apiKey'],
  ['jupiterUrl', 'jupiterApiKey'],
] as const;

type AddressOptions = Pick<ClientOptions, (typeof PARTS)[number][number]>;

/**
 * Returns the options of a source without what belongs to an address that a higher source replaces.
 * A key goes to no other address than the one that it was given for, and a WebSocket may be of
 * another cluster.
 */
export function withoutPartsOfOthers<T extends AddressOptions>(
  lower: T,
  higher: AddressOptions,
): T {
  const copy = { ...lower };
  for (const [address, part] of PARTS)
    if (higher[address] !== undefined) Reflect.deleteProperty(copy, part);
  return copy;
}
