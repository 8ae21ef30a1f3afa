import type { LocalOptions } from '../../src/config/options.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { lazily, type LocalTransport } from './lazily.js';

export type { LocalTransport } from './lazily.js';

/**
 * A transport in this process: Jupiter for swaps, an RPC node for balances. What `createClient`
 * uses unless it is given another; on its own, what an HTTP service serves. Holds no key and signs
 * nothing.
 *
 * With a `journal`, what `autoPay` is handed is put on record before anything of it leaves, and
 * followed until the chain has decided.
 *
 * Throws `ConfigError` (`invalid_option`) at once if the options are wrong.
 *
 * @example
 * const transport = local({ rpcUrl: 'https://rpc.example.com' });
 * const quote = await transport.quote({
 *   inputMint: 'SOL',
 *   outputMint: 'USDC',
 *   amount: '1000000',
 *   swapMode: 'ExactOut',
 * });
 */
export function local(options: LocalOptions = {}): LocalTransport {
  return lazily(parseLocalOptions(options));
}
