import type { LocalSettings } from '../../src/config/options.js';
import { loadOnce, lazyPart } from '../../src/internal/load-once.js';
import type { Parts } from '../../src/payments/context.js';
import { transportClosed } from '../../src/service/closed.js';
import { transportOf, type Transport } from '../../src/transport.js';
import type { ClientParts, LocalOperations } from './operations.js';

const operations = /* @__PURE__ */ lazyPart(() => import('./operations.js'));

/** A transport in this process. */
export interface LocalTransport extends Transport {
  /**
   * Resumes the open attempts that an earlier process left in the journal: sends its swaps again
   * and follows its payments. The first `autoPay` does the same, so a service with few calls should
   * call `resume` at its start. Does nothing without a journal. Rejects if the journal fails.
   */
  resume(): Promise<void>;
  /**
   * Ends the background work and the connection. Open attempts stay in the journal for the next
   * process, and the journal stays open. A transport that is not closed does not keep the process
   * alive.
   */
  close(): Promise<void>;
}

/** Returns the local transport over a client's settings and connection. */
export const localOver: Parts['local'] = (config, rpc, sources) =>
  lazily({ ...config, journal: undefined }, { rpc, sources, wallet: config.signer.address });

/** Returns a transport that loads its operations, with web3.js, with the first call. */
export function lazily(settings: LocalSettings, clientParts?: ClientParts): LocalTransport {
  let loading: Promise<LocalOperations> | undefined;
  let closed: Promise<void> | undefined;
  const start = loadOnce(async () => {
    const { createOperations } = await operations();
    return createOperations(settings, clientParts);
  });
  const load = async (request?: object, signal?: AbortSignal): Promise<LocalOperations> => {
    if (closed !== undefined) throw transportClosed(request);
    loading = start();
    return start(signal);
  };
  return {
    ...transportOf(load),
    swapInstruction: async (request, options) =>
      (await load(request, options?.signal)).swapInstruction(request, options),
    resume: async () => (await load()).resume(),
    close: () =>
      (closed ??= Promise.resolve(loading).then(
        (operations) => operations?.close(),
        () => undefined,
      )),
  };
}
