import type { LocalOptions, LocalSettings } from '../../src/config/options.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import type { Parts } from '../../src/payments/context.js';
import { transportClosed } from '../../src/service/closed.js';
import type { Transport } from '../../src/transport.js';
import type { GivenParts, LocalOperations } from './operations.js';

/** A transport in this process. */
export interface LocalTransport extends Transport {
  /**
   * Takes up what an earlier process left in the journal: its swaps are sent on, its payments
   * followed. The first `autoPay` does it too; a service that may wait long for that calls it when
   * it starts. Nothing without a journal. Rejects if the journal does.
   */
  resume(): Promise<void>;
  /**
   * Ends what is done in the background, and the connection; what is open stays in the journal,
   * which stays open too. Without it nothing keeps the process alive either, and what is open is
   * left for the next one.
   */
  close(): Promise<void>;
}

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

/** @internal The local transport over a client's own settings and connection. */
export const localOver: Parts['local'] = (config, rpc, sources) =>
  lazily({ ...config, journal: undefined }, { rpc, sources, wallet: config.signer.address });

/** Loads what does the work, web3.js among it, when it is first needed. */
function lazily(settings: LocalSettings, given?: GivenParts): LocalTransport {
  let loading: Promise<LocalOperations> | undefined;
  let closed: Promise<void> | undefined;
  const load = (): Promise<LocalOperations> => {
    if (closed !== undefined) throw transportClosed();
    return (loading ??= import('./operations.js').then(({ createOperations }) =>
      createOperations(settings, given),
    ));
  };
  return {
    quote: async (request, options) => (await load()).quote(request, options),
    buildSwap: async (request, options) => (await load()).buildSwap(request, options),
    swapInstruction: async (request, options) => (await load()).swapInstruction(request, options),
    balance: async (request, options) => (await load()).balance(request, options),
    parsePayment: async (parts, options) => (await load()).parsePayment(parts, options),
    autoPay: async (request, options) => (await load()).autoPay(request, options),
    resume: async () => (await load()).resume(),
    close: () => (closed ??= Promise.resolve(loading).then((operations) => operations?.close())),
  };
}
