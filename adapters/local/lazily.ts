import type { LocalSettings } from '../../src/config/options.js';
import { loadOnce, part } from '../../src/internal/load-once.js';
import type { Parts } from '../../src/payments/context.js';
import { transportClosed } from '../../src/service/closed.js';
import { transportOf, type Transport } from '../../src/transport.js';
import type { GivenParts, LocalOperations } from './operations.js';

const operations = /* @__PURE__ */ part(() => import('./operations.js'));

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

/** The local transport over a client's own settings and connection. */
export const localOver: Parts['local'] = (config, rpc, sources) =>
  lazily({ ...config, journal: undefined }, { rpc, sources, wallet: config.signer.address });

/** Loads what does the work, web3.js among it, when it is first needed. */
export function lazily(settings: LocalSettings, given?: GivenParts): LocalTransport {
  let loading: Promise<LocalOperations> | undefined;
  let closed: Promise<void> | undefined;
  const start = loadOnce(async () => {
    const { createOperations } = await operations();
    return createOperations(settings, given);
  });
  const load = (): Promise<LocalOperations> => {
    if (closed !== undefined) throw transportClosed();
    return (loading = start());
  };
  return {
    ...transportOf(async () => load()),
    swapInstruction: async (request, options) => (await load()).swapInstruction(request, options),
    resume: async () => (await load()).resume(),
    close: () =>
      (closed ??= Promise.resolve(loading).then(
        (operations) => operations?.close(),
        () => undefined,
      )),
  };
}
