import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { isRecord } from '../../src/internal/record.js';
import { hasCode } from '../../src/internal/error-code.js';
import { parseJson } from '../../src/internal/parse.js';
import { toNetwork, SOLANA_MAINNET } from '../../src/network.js';
import { withoutPartsOfOthers } from '../node/variables.js';
import { fromEnvironment } from './environment.js';
import { NODE_NAMES, type Layer, type NodeOptions } from './layer.js';
import { configFolder, stateFolder, expandHome } from './paths.js';

/** The settings of a command, merged from all layers. */
export interface Settings extends Omit<Layer, 'journal'> {
  /** Path of the journal. */
  readonly journal: string;
  /** The path of the configuration file, if there is one. */
  readonly configFile: string | undefined;
}

/** The options that every command takes. */
export interface GlobalFlags {
  readonly config?: string;
  readonly wallet?: string;
  readonly passphraseFd?: number;
  readonly rpcUrl?: readonly string[];
  readonly wsUrl?: string;
  readonly jupiterUrl?: string;
  readonly network?: string;
  readonly journal?: string;
  /** `--no-swap`. */
  readonly swap?: boolean;
  readonly max?: string;
  readonly maxPerDay?: string;
  readonly json?: boolean;
}

/**
 * Returns the settings of a command. Flags override the environment, and both override the
 * configuration file; in `policy`, each cap by itself. A key goes to no address of a higher source,
 * and no WebSocket stays beside a node of it. Throws `ConfigError` (`invalid_option`).
 */
export function readSettings(
  flags: GlobalFlags,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const file = readConfigFile(flags.config ?? (env['EXACT_CHANGE_CONFIG'] || undefined), env);
  const environment = fromEnvironment(env).reduce(joined, {});
  const merged = [file?.layer ?? {}, environment, fromFlags(flags)].reduce(
    (lower, higher) => joined(withoutPartsOfOthers(lower, higher), higher),
    {},
  );
  return {
    autoSwap: true,
    ...merged,
    journal: expandHome(merged.journal ?? join(stateFolder(env), 'payments.jsonl')),
    configFile: file?.path,
  };
}

/** Returns the network of the settings, CAIP-2. */
export function networkOf({ network = '' }: Pick<NodeOptions, 'network'>): string {
  return toNetwork(network) ?? SOLANA_MAINNET;
}

/** Returns the client options of the settings, without wallet and journal. */
export function nodeOptions(settings: Settings): NodeOptions {
  return Object.fromEntries(
    NODE_NAMES.map((name) => [name, settings[name]] as const).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

function joined(lower: Layer, higher: Layer): Layer {
  const defined = Object.entries(higher).filter(([, value]) => value !== undefined);
  const policy = { ...lower.policy, ...higher.policy };
  return { ...lower, ...Object.fromEntries(defined), policy };
}

function fromFlags(flags: GlobalFlags): Layer {
  const { wallet, rpcUrl, wsUrl, jupiterUrl, network, journal, swap, max, maxPerDay } = flags;
  return {
    ...{ rpcUrl, wsUrl, jupiterUrl, network, journal },
    // For each `--no-` option, Commander's default is true, so true is no choice of the person.
    autoSwap: swap === false ? false : undefined,
    wallet: wallet === undefined ? undefined : { file: wallet },
    policy: {
      ...(max === undefined ? {} : { maxPerPayment: max }),
      ...(maxPerDay === undefined ? {} : { maxPerDay }),
      // A top-up swaps, and the client refuses it without swaps.
      ...(swap === false ? { topUp: undefined } : {}),
    },
  };
}

const FILE_NAMES: readonly string[] = [...NODE_NAMES, 'wallet', 'journal', 'serviceKey'];

/** Reads the named configuration file, or else the default file if it exists. */
function readConfigFile(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): { readonly path: string; readonly layer: Layer } | undefined {
  const path = expandHome(named ?? join(configFolder(env), 'config.json'));
  const parsed = readJson(path, named === undefined);
  if (parsed === undefined) return undefined;
  refuseUnknown(parsed, FILE_NAMES, path);
  const { wallet, ...rest }: Record<string, unknown> = parsed;
  if (wallet !== undefined && typeof wallet !== 'string')
    throw refuse(`wallet in ${path}`, 'must be the path of a file.');
  for (const name of ['network', 'journal', 'serviceKey'])
    if (rest[name] !== undefined && typeof rest[name] !== 'string')
      throw refuse(`${name} in ${path}`, 'must be text.');
  if (rest['policy'] !== undefined && !isRecord(rest['policy']))
    throw refuse(`policy in ${path}`, 'must be an object.');
  return {
    path,
    layer: { ...rest, ...(wallet === undefined ? {} : { wallet: { file: wallet } }) },
  };
}

/**
 * Reads a JSON object from a file. Returns undefined if the file is optional and missing. Errors do
 * not quote the content, because it may hold keys.
 */
function readJson(path: string, mayLack: boolean): Record<string, unknown> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (mayLack && hasCode(error, 'ENOENT')) return undefined;
    throw refuse('config', `cannot be read: ${path}. Correct the path, or make the file.`);
  }
  const parsed = parseJson(text);
  if (!isRecord(parsed)) throw refuse('config', `must be a file with a JSON object: ${path}`);
  return parsed;
}
