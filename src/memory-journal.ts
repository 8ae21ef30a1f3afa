import { loadOnce, part } from './internal/load-once.js';
import { wantsOutbox, type JournalOptions } from './journal/options.js';
import type { Journal } from './journal/types.js';
import type { Outbox } from './outbox/outbox.js';

const outboxInMemory = /* @__PURE__ */ part(() => import('./outbox/memory.js'));
const journalInMemory = /* @__PURE__ */ part(() => import('./journal/memory.js'));

/**
 * A journal in memory: right for one process, forgotten when it ends. Throws `ConfigError`
 * (`invalid_option`).
 *
 * @example
 * const client = createClient({ walletSecretKey, journal: memoryJournal() });
 */
export function memoryJournal(options: JournalOptions = {}): Journal {
  const hasOutbox = wantsOutbox(options);
  // Loaded with its first call: a page may never make one.
  const load = loadOnce(async () => {
    const outbox = hasOutbox ? (await outboxInMemory()).memoryOutbox() : undefined;
    return (await journalInMemory()).memoryJournal(outbox);
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
    const { outbox: made } = await load();
    if (made === undefined) throw new TypeError('The journal was made without an outbox.');
    return made;
  };
  const listen = (begin: (outbox: Outbox) => () => void): (() => void) => {
    let isOver = false;
    let end = (): void => undefined;
    // Without it the caller looks at intervals, as it has to for what other processes add.
    outbox().then(
      (made) => {
        if (!isOver) end = begin(made);
      },
      () => undefined,
    );
    return () => {
      isOver = true;
      end();
    };
  };
  return {
    take: async (...args) => (await outbox()).take(...args),
    finish: async (...args) => (await outbox()).finish(...args),
    endpoints: async () => (await outbox()).endpoints(),
    addEndpoint: async (...args) => (await outbox()).addEndpoint(...args),
    changeEndpoint: async (...args) => (await outbox()).changeEndpoint(...args),
    removeEndpoint: async (...args) => (await outbox()).removeEndpoint(...args),
    onAdded: (listener) => listen((made) => made.onAdded(listener)),
    onDropped: (listener) => listen((made) => made.onDropped(listener)),
  };
}
