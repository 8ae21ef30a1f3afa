import type { Composition } from '../src/autopay/core.js';
import { parseLocalOptions, type LocalOptions, type LocalSettings } from '../src/config.js';
import type { Rpc } from '../src/solana/rpc.js';
import type { Address } from '../src/solana/types.js';
import type { Transport } from '../src/transport.js';
import type { LocalTransport } from './local-operations.js';

/**
 * A transport in this process: Jupiter for swaps, an RPC node for balances. What `createClient` uses unless it is given another;
 * on its own, what an HTTP service serves. Holds no key and signs nothing.
 *
 * Throws `ConfigError` (`invalid_option`) at once where the options are wrong.
 *
 * @example
 * const transport = local({ rpcUrl: 'https://rpc.example.com' });
 * const quote = await transport.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: '1000000', swapMode: 'ExactOut' });
 */
export function local(options: LocalOptions = {}): Transport {
  return lazily(parseLocalOptions(options));
}

/** @internal The local transport over a client's own settings and connection. */
export const localOver: Composition['local'] = (config, rpc) => lazily(config, rpc, config.signer.address);

/** Loads what does the work, web3.js among it, when it is first needed. */
function lazily(settings: LocalSettings, rpc?: Rpc, wallet?: Address): Transport {
  let loading: Promise<LocalTransport> | undefined;
  const load = () => (loading ??= import('./local-operations.js').then(({ createOperations }) => createOperations(settings, rpc, wallet)));
  return {
    quote: async (request, options) => (await load()).quote(request, options),
    buildSwap: async (request, options) => (await load()).buildSwap(request, options),
    swapInstruction: async (request, options) => (await load()).swapInstruction(request, options),
    balance: async (request, options) => (await load()).balance(request, options),
    parsePayment: async (parts, options) => (await load()).parsePayment(parts, options),
    autoPay: async (request, options) => (await load()).autoPay(request, options),
  };
}
