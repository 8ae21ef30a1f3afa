import { isExactChangeError, TransportError } from '../../src/errors.js';
import { bounded } from '../../src/internal/abort.js';
import type { Outbox } from '../../src/outbox/outbox.js';

/** Milliseconds for one call of an outbox. */
const TIMEOUT_MS = 15_000;

/** Wraps an outbox: calls reject with `journal_unavailable` if it fails or does not answer. */
export function guardOutbox(outbox: Outbox): Outbox {
  return {
    take: (options) => call('take', () => outbox.take(options)),
    finish: (job, next) => call('finish', () => outbox.finish(job, next)),
    endpoints: () => call('endpoints', () => outbox.endpoints()),
    addEndpoint: (endpoint, most) => call('endpoints', () => outbox.addEndpoint(endpoint, most)),
    changeEndpoint: (id, change) => call('endpoints', () => outbox.changeEndpoint(id, change)),
    removeEndpoint: (id) => call('endpoints', () => outbox.removeEndpoint(id)),
    onAdded: (listener) => outbox.onAdded(listener),
    onDropped: (listener) => outbox.onDropped(listener),
  };
}

async function call<T>(step: string, work: () => Promise<T>): Promise<T> {
  const timeoutError = () => new Error(`The outbox did not answer within ${TIMEOUT_MS} ms.`);
  try {
    // The async function turns a synchronous throw of the outbox into a rejection.
    return await bounded(TIMEOUT_MS, timeoutError, [], async () => work());
  } catch (cause) {
    if (isExactChangeError(cause)) throw cause;
    throw new TransportError(
      'journal_unavailable',
      'The outbox of the journal could not be read or written. Repair it; what waits in it is told then.',
      {
        details: { step },
        cause,
      },
    );
  }
}
