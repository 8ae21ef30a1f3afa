import { SLOT_MS, type Ledger } from './ledger.js';
import type { Random } from './random.js';

/** Shares of what the node's WebSocket does wrong. */
export interface SocketState {
  /** Share of connections and subscriptions that it refuses, or never answers. */
  refusing: number;
  /** Share of notices that it drops. */
  silent: number;
  /** Share of slots in which it sends a false notice for each subscription. */
  lying: number;
  /** Share of slots in which it closes the connection. */
  closing: number;
}

interface Subscription {
  readonly number: number;
  readonly name: string;
  readonly method: 'signatureNotification' | 'accountNotification';
  /** Slot up to which its transactions are told. */
  told: number;
}

type Listener = (event: { readonly data: string }) => void;

const METHODS: Readonly<Record<string, Subscription['method']>> = {
  signatureSubscribe: 'signatureNotification',
  accountSubscribe: 'accountNotification',
};

/**
 * Creates the WebSocket class of a process. Its timers are those of the process, so a connection
 * ends with the process.
 */
export function createSockets(ledger: Ledger, state: Readonly<SocketState>, random: Random) {
  return class {
    #isOpen = true;
    #count = random.int(0, 3);
    readonly #listeners: (readonly [type: string, listener: Listener])[] = [];
    readonly #subscriptions = new Map<number, Subscription>();

    constructor() {
      setTimeout(
        () => {
          if (random.chance(state.refusing)) return random.chance(0.5) && this.#lose();
          this.#emit('open');
          this.#live();
        },
        random.int(5, 60),
      );
    }

    addEventListener(type: string, listener: Listener): void {
      this.#listeners.push([type, listener]);
    }

    close(): void {
      this.#isOpen = false;
    }

    send(text: string): void {
      const { id, method, params } = JSON.parse(text) as {
        id: number;
        method: string;
        params: [string | number];
      }; // The library writes a valid request.
      const [name] = params;
      const notification = METHODS[method];
      setTimeout(
        () => {
          if (notification === undefined) this.#subscriptions.delete(Number(name));
          else if (random.chance(state.refusing))
            return (
              random.chance(0.5) && this.#say({ id, error: { code: -32601, message: 'None' } })
            );
          else {
            const number = (this.#count += 1);
            const told = ledger.slot() - 1;
            this.#subscriptions.set(number, {
              ...{ number, name: String(name), method: notification, told },
            });
          }
          this.#say({ id, result: notification === undefined ? true : this.#count });
        },
        random.int(5, 60),
      );
    }

    #live(): void {
      if (!this.#isOpen) return;
      if (random.chance(state.closing)) return this.#lose();
      for (const subscription of this.#subscriptions.values()) this.#tell(subscription);
      setTimeout(() => this.#live(), SLOT_MS);
    }

    #tell(subscription: Subscription): void {
      const { number, name, method, told } = subscription;
      const slot = ledger.slot() - 1;
      subscription.told = slot;
      const landed =
        method === 'accountNotification'
          ? ledger.of(name).filter((each) => each.slot > told && each.slot <= slot)
          : [ledger.landed(name)].filter((each) => each !== undefined && each.slot <= slot);
      const errors = landed.map((each) => each?.error ?? null);
      if (random.chance(state.lying))
        errors.push(random.pick([null, { InstructionError: [0, 1] }]));
      for (const err of errors) {
        if (random.chance(state.silent)) continue;
        if (method === 'signatureNotification') this.#subscriptions.delete(number);
        const value = method === 'signatureNotification' ? { err } : {};
        this.#say({
          method,
          params: { subscription: number, result: { context: { slot }, value } },
        });
      }
    }

    #lose(): void {
      this.#emit('close');
      this.#isOpen = false;
    }

    #say(message: object): void {
      this.#emit('message', JSON.stringify({ jsonrpc: '2.0', ...message }));
    }

    #emit(type: string, data = ''): void {
      if (!this.#isOpen) return;
      for (const [of, listener] of this.#listeners) if (of === type) listener({ data });
    }
  };
}
