import type { Client } from '../../src/client.js';
import type { ClientOptions } from '../../src/config/options.js';
import { createClient, isExactChangeError, type ExactChangeError } from '../../src/index.js';
import { refuse } from '../../src/internal/options.js';
import { fileJournal } from '../journals/file.js';
import { fromFile } from './key-file.js';
import {
  clientVariables,
  readVariables,
  withoutPartsOfOthers,
  type Readings,
} from './variables.js';

const READINGS: Readings<ClientOptions> = {
  ...clientVariables,
  WALLET_SECRET_KEY: (walletSecretKey) => ({ walletSecretKey }),
  EXACT_CHANGE_KEY_FILE: (path) => ({ signer: fromFile(path) }),
  EXACT_CHANGE_JOURNAL: (path) => ({ journal: fileJournal(path) }),
};

/** All variables that {@link clientFromEnv} reads. */
export const envVariables: readonly string[] = Object.keys(READINGS);

/**
 * Returns a client with the options of the environment: see `.env.example`. `options` override the
 * environment; in `policy`, each cap by itself. An empty variable counts as absent.
 *
 * Throws `ConfigError` (`invalid_option`, `invalid_key`), also for an unknown variable with a name
 * that begins with `EXACT_CHANGE_`: a misspelt cap would have no effect.
 *
 * @example
 * const client = clientFromEnv();
 */
export function clientFromEnv(
  options: ClientOptions = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Client {
  const replaced = REPLACES.flatMap(([option, names]) =>
    options[option] === undefined ? [] : names,
  );
  const read = Object.entries(env).filter(([name]) => !replaced.includes(name));
  const readings = readVariables(Object.fromEntries(read), READINGS);
  const lower = withoutPartsOfOthers(readings.reduce<ClientOptions>(joined, {}), options);
  try {
    return createClient(joined(lower, options));
  } catch (error) {
    throw isExactChangeError(error, 'invalid_option') ? byVariable(error, options) : error;
  }
}

/** Names the variable in an error for an option that the caller did not give. */
function byVariable(
  error: ExactChangeError<'invalid_option'>,
  options: ClientOptions,
): ExactChangeError {
  const { option } = error.details;
  const name = option.replace('policy.', '');
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  const variable = ['', 'EXACT_CHANGE_', 'SOLANA_']
    .map((prefix) => prefix + snake)
    .find((known) => envVariables.includes(known));
  if (variable === undefined || name in { ...options, ...options.policy }) return error;
  return refuse(variable, error.message.replace(`Option ${option} `, ''), 'Variable');
}

function joined(lower: ClientOptions, higher: ClientOptions): ClientOptions {
  const policy = { ...lower.policy, ...given(higher.policy) };
  return { ...lower, ...given(higher), policy };
}

/** Leaves out undefined fields, because they would undo a cap of the environment. */
function given<T extends object>(fields: T | undefined): Partial<T> {
  const copy: Partial<T> = { ...fields };
  for (const name of Object.keys(copy))
    if (Reflect.get(copy, name) === undefined) Reflect.deleteProperty(copy, name);
  return copy;
}

const WALLETS = ['WALLET_SECRET_KEY', 'EXACT_CHANGE_KEY_FILE'];

/** Variables that an option replaces, because their options and this option exclude each other. */
const REPLACES: readonly (readonly [option: keyof ClientOptions, names: readonly string[]])[] = [
  ['signer', WALLETS],
  ['walletSecretKey', WALLETS],
  ['walletSeed', WALLETS],
  ['connection', ['SOLANA_RPC_URL', 'EXACT_CHANGE_WS_URL']],
  ['transport', ['EXACT_CHANGE_API_URL', 'EXACT_CHANGE_API_KEY']],
];
