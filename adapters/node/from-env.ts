import type { Client } from '../../src/client.js';
import type { ClientOptions } from '../../src/config/options.js';
import { createClient } from '../../src/index.js';
import { fileJournal } from '../journals/file.js';
import { fromFile } from './key-file.js';
import { clientVariables, readVariables, type Readings } from './variables.js';

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
  const readings = hasWallet(options)
    ? { ...READINGS, ...Object.fromEntries(WALLETS.map((name) => [name, () => ({})])) }
    : READINGS;
  const { policy, ...rest } = readVariables<ClientOptions>(env, readings).reduce(
    (merged, reading) => ({
      ...merged,
      ...reading,
      policy: { ...merged.policy, ...reading.policy },
    }),
    {},
  );
  return createClient({ ...rest, ...options, policy: { ...policy, ...options.policy } });
}

const WALLETS: readonly string[] = ['WALLET_SECRET_KEY', 'EXACT_CHANGE_KEY_FILE'];

function hasWallet({ signer, walletSecretKey, walletSeed }: ClientOptions): boolean {
  return [signer, walletSecretKey, walletSeed].some((wallet) => wallet !== undefined);
}
