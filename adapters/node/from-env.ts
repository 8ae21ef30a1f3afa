import type { Client } from '../../src/client.js';
import type { ClientOptions } from '../../src/config/options.js';
import { createClient } from '../../src/index.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { fileJournal } from '../journals/file.js';
import { fromFile } from './key-file.js';

/** What a variable says of the options. */
type Reading = (text: string) => ClientOptions;

const list = (text: string) => text.split(',').map((one) => one.trim());

/** Variables that other tools have, too. */
const SHARED: Readonly<Record<string, Reading>> = {
  WALLET_SECRET_KEY: (walletSecretKey) => ({ walletSecretKey }),
  SOLANA_RPC_URL: (text) => ({ rpcUrl: list(text) }),
  JUPITER_API_KEY: (jupiterApiKey) => ({ jupiterApiKey }),
};

const OWN: Readonly<Record<string, Reading>> = {
  EXACT_CHANGE_KEY_FILE: (path) => ({ signer: fromFile(path) }),
  EXACT_CHANGE_NETWORK: (network) => ({ network }),
  EXACT_CHANGE_WS_URL: (wsUrl) => ({ wsUrl }),
  EXACT_CHANGE_JUPITER_URL: (jupiterUrl) => ({ jupiterUrl }),
  EXACT_CHANGE_API_URL: (apiUrl) => ({ apiUrl }),
  EXACT_CHANGE_API_KEY: (apiKey) => ({ apiKey }),
  EXACT_CHANGE_AUTO_SWAP: (text) => ({ autoSwap: flag('EXACT_CHANGE_AUTO_SWAP', text) }),
  EXACT_CHANGE_SWAP_FROM: (text) => ({ swapFrom: list(text) }),
  EXACT_CHANGE_JOURNAL: (path) => ({ journal: fileJournal(path) }),
  EXACT_CHANGE_MAX_PER_PAYMENT: (maxPerPayment) => ({ policy: { maxPerPayment } }),
  EXACT_CHANGE_MAX_PER_DAY: (maxPerDay) => ({ policy: { maxPerDay } }),
};

/** All variables that {@link clientFromEnv} reads. */
export const envVariables: readonly string[] = [...Object.keys(SHARED), ...Object.keys(OWN)];

/**
 * A client whose options are in the environment: see `.env.example`. What is in `options` counts
 * before it, in `policy` each cap for itself. A variable that is empty counts as absent.
 *
 * Throws `ConfigError` (`invalid_option`, `invalid_key`), also for a variable whose name begins with
 * `EXACT_CHANGE_` and is not known: a cap that is misspelt would be none.
 *
 * @example
 * const client = clientFromEnv();
 */
export function clientFromEnv(
  options: ClientOptions = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Client {
  const set = Object.entries(env).filter(([, text = '']) => text.trim() !== '');
  const own = set.filter(([name]) => name.startsWith('EXACT_CHANGE_'));
  refuseUnknown(Object.fromEntries(own), Object.keys(OWN));
  const { policy, ...rest } = set
    .filter(([name]) => !hasWallet(options) || !WALLETS.includes(name))
    .map(([name, text = '']) => (SHARED[name] ?? OWN[name])?.(text) ?? {})
    .reduce((all, one) => ({ ...all, ...one, policy: { ...all.policy, ...one.policy } }), {});
  return createClient({ ...rest, ...options, policy: { ...policy, ...options.policy } });
}

const WALLETS: readonly string[] = ['WALLET_SECRET_KEY', 'EXACT_CHANGE_KEY_FILE'];

function hasWallet({ signer, walletSecretKey, walletSeed }: ClientOptions): boolean {
  return [signer, walletSecretKey, walletSeed].some((one) => one !== undefined);
}

function flag(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw refuse(name, 'must be true or false.');
  return text === 'true';
}
