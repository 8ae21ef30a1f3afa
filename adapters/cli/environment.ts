import {
  clientVariables,
  commandVariables,
  readVariables,
  type Readings,
} from '../node/variables.js';
import type { Layer } from './layer.js';

const READINGS: Readings<Layer> = {
  ...clientVariables,
  WALLET_SECRET_KEY: (secretKey) => ({ wallet: { secretKey } }),
  JUPITER_URL: (jupiterUrl) => ({ jupiterUrl }),
  EXACT_CHANGE_SERVICE_KEY: (serviceKey) => ({ serviceKey }),
  EXACT_CHANGE_KEY_FILE: (file) => ({ wallet: { file } }),
  EXACT_CHANGE_JOURNAL: (journal) => ({ journal }),
};

/** All variables that the commands read, except the variables for paths and colour. */
export const envVariables: readonly string[] = [
  ...new Set([...Object.keys(READINGS), ...commandVariables]),
];

/** Returns the settings of the environment, in layers. Throws `ConfigError` (`invalid_option`). */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>>): Layer[] {
  return readVariables(env, READINGS);
}
