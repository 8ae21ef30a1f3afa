import { refuse, refuseUnknown } from '../../src/internal/options.js';
import type { Layer } from './layer.js';

/** What a variable says of the settings. */
type Reading = (text: string) => Layer;

const list = (text: string) => text.split(',').map((one) => one.trim());

/** Variables that other tools have, too. */
const SHARED: Readonly<Record<string, Reading>> = {
  WALLET_SECRET_KEY: (secretKey) => ({ wallet: { secretKey } }),
  SOLANA_RPC_URL: (text) => ({ rpcUrl: list(text) }),
  JUPITER_URL: (jupiterUrl) => ({ jupiterUrl }),
  JUPITER_API_KEY: (jupiterApiKey) => ({ jupiterApiKey }),
};

const OWN: Readonly<Record<string, Reading>> = {
  EXACT_CHANGE_CONFIG: () => ({}), // Read before: it says where the file is.
  EXACT_CHANGE_PASSPHRASE: () => ({}), // Read when the wallet is unlocked.
  EXACT_CHANGE_SERVICE_KEY: (serviceKey) => ({ serviceKey }),
  EXACT_CHANGE_KEY_FILE: (file) => ({ wallet: { file } }),
  EXACT_CHANGE_NETWORK: (network) => ({ network }),
  EXACT_CHANGE_WS_URL: (wsUrl) => ({ wsUrl }),
  EXACT_CHANGE_JUPITER_URL: (jupiterUrl) => ({ jupiterUrl }),
  EXACT_CHANGE_API_URL: (apiUrl) => ({ apiUrl }),
  EXACT_CHANGE_API_KEY: (apiKey) => ({ apiKey }),
  EXACT_CHANGE_AUTO_SWAP: (text) => ({ autoSwap: flag('EXACT_CHANGE_AUTO_SWAP', text) }),
  EXACT_CHANGE_SWAP_FROM: (text) => ({ swapFrom: list(text) }),
  EXACT_CHANGE_JOURNAL: (journal) => ({ journal }),
  EXACT_CHANGE_MAX_PER_PAYMENT: (maxPerPayment) => ({ policy: { maxPerPayment } }),
  EXACT_CHANGE_MAX_PER_DAY: (maxPerDay) => ({ policy: { maxPerDay } }),
};

/** All variables that the commands read, apart from those of paths and colour. */
export const envVariables: readonly string[] = [...Object.keys(SHARED), ...Object.keys(OWN)];

/**
 * The settings in the environment, in layers. One that is empty counts as absent. Throws
 * `ConfigError` (`invalid_option`), also for a variable that begins with `EXACT_CHANGE_` and is not
 * known: a cap that is misspelt would be none.
 */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>>): Layer[] {
  const set = Object.entries(env).filter(([, text = '']) => text.trim() !== '');
  const own = set.filter(([name]) => name.startsWith('EXACT_CHANGE_'));
  refuseUnknown(Object.fromEntries(own), Object.keys(OWN));
  if (own.some(([name]) => name === 'EXACT_CHANGE_KEY_FILE') && env['WALLET_SECRET_KEY']?.trim())
    throw refuse('EXACT_CHANGE_KEY_FILE', 'and WALLET_SECRET_KEY exclude each other. Give one.');
  return set.map(([name, text = '']) => (SHARED[name] ?? OWN[name])?.(text.trim()) ?? {});
}

function flag(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw refuse(name, 'must be true or false.');
  return text === 'true';
}
