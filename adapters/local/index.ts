import type { LocalOptions } from '../../src/config/options.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { lazily, type LocalTransport } from './lazily.js';

export type { LocalTransport } from './lazily.js';

/**
 * Returns a transport in this process: Jupiter for swaps, an RPC node for balances. `createClient`
 * uses it by default, and an HTTP service serves it. It holds no key and signs nothing.
 *
 * With a `journal`, `autoPay` records signed transactions before it sends them, and follows them
 * until the chain has decided.
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
