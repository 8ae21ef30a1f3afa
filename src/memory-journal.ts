import { loadOnce, lazyPart } from './internal/load-once.js';
import { wantsOutbox, type JournalOptions } from './journal/options.js';
import type { Journal } from './journal/types.js';
import type { Outbox } from './outbox/outbox.js';

const outboxInMemory = /* @__PURE__ */ lazyPart(() => import('./outbox/memory.js'));
const journalInMemory = /* @__PURE__ */ lazyPart(() => import('./journal/memory.js'));

/**
 * Creates a journal in memory, for one process; it is lost when the process ends. Throws
 * `ConfigError` (`invalid_option`).
 *
 * @example
 * const client = createClient({ walletSecretKey, journal: memoryJournal() });
 */
export function memoryJournal(options: JournalOptions = {}): Journal {
  const hasOutbox = wantsOutbox(options);
  // Load the code at the first call, because a page may never call the journal.
  const load = loadOnce(async () => {
    const outbox = hasOutbox ? (await outboxInMemory()).memoryOutbox() : undefined;
    return (await journalInMemory()).createMemoryJournal(outbox);
  });
  return {
    reserve: async (...args) => (await load()).reserve(...args),
    put: async (...args) => (await load()).put(...args),
    raise: async (...args) => (await load()).raise(...args),
    release: async (...args) => (await load()).release(...args),
    similar: async (...args) => (await load()).similar(...args),
    used: async (...args) => (await load()).used(...args),
    async *attempts(...args) {
      yield* (await load()).attempts(...args);
    },
    async *owners() {
      yield* (await load()).owners?.() ?? [];
    },
    ...(hasOutbox && { outbox: outboxOf(load) }),
  };
}

function outboxOf(load: () => Promise<Journal>): Outbox {
  const outbox = async (): Promise<Outbox> => {
    const { outbox: loaded } = await load();
    if (loaded === undefined) throw new TypeError('The journal was made without an outbox.');
    return loaded;
  };
  const listen = (subscribe: (outbox: Outbox) => () => void): (() => void) => {
    let isEnded = false;
    let unsubscribe = (): void => undefined;
    // Ignore a failed load: without events, the listener's caller still polls for jobs.
    outbox().then(
      (loaded) => {
        if (!isEnded) unsubscribe = subscribe(loaded);
      },
      () => undefined,
    );
    return () => {
      isEnded = true;
      unsubscribe();
    };
  };
  return {
    take: async (...args) => (await outbox()).take(...args),
    finish: async (...args) => (await outbox()).finish(...args),
    endpoints: async () => (await outbox()).endpoints(),
    addEndpoint: async (...args) => (await outbox()).addEndpoint(...args),
    changeEndpoint: async (...args) => (await outbox()).changeEndpoint(...args),
    removeEndpoint: async (...args) => (await outbox()).removeEndpoint(...args),
    onAdded: (listener) => listen((loaded) => loaded.onAdded(listener)),
    onDropped: (listener) => listen((loaded) => loaded.onDropped(listener)),
  };
}
