import { isRecord } from '../../internal/record.js';
import { openLine, webSocketAddress, type Line } from './web-socket.js';

/** What an account's listeners have. */
export interface AccountWatch {
  /**
   * Which subscription tells of what happens from now on: never the same again once one was lost,
   * and what happened before it, or between two, may have been missed. Undefined if there is
   * none.
   */
  readonly subscription: () => number | undefined;
  end(): void;
}

/**
 * Hears of signatures and accounts over the node's WebSocket. Silent if there is none: each
 * listener polls as well.
 */
export interface SignatureSocket {
  subscribe(signature: string, listener: (error: string | null) => void): () => void;
  /** Calls at each change of an account at `confirmed`. */
  watchAccount(address: string, listener: () => void): AccountWatch;
  close(): void;
}

interface Wait {
  readonly kind: Kind;
  /** What is listened to: base58. */
  readonly name: string;
  readonly listeners: Set<(error: string | null) => void>;
  /**
   * The node's number for it, which counts anew with each socket, and ours, which does not; once it
   * has answered.
   */
  subscription: { readonly node: number; readonly own: number } | undefined;
}

/** A kind of subscription, by the names of its calls. */
interface Kind {
  readonly subscribe: string;
  readonly unsubscribe: string;
  readonly notification: string;
  readonly settings: object;
  /** The node ends it with its first notification. */
  readonly once: boolean;
}

const SIGNATURE: Kind = {
  subscribe: 'signatureSubscribe',
  unsubscribe: 'signatureUnsubscribe',
  notification: 'signatureNotification',
  settings: { commitment: 'confirmed' },
  once: true,
};
const ACCOUNT: Kind = {
  subscribe: 'accountSubscribe',
  unsubscribe: 'accountUnsubscribe',
  notification: 'accountNotification',
  settings: { commitment: 'confirmed', encoding: 'base64' },
  once: false,
};
const KINDS = [SIGNATURE, ACCOUNT];

/**
 * Opens a socket with the first subscription and closes it with the last. A socket that fails is
 * not opened again for the subscriptions it had.
 */
export function createSignatureSocket(
  endpoint: string | undefined,
  wsUrl: string | undefined,
): SignatureSocket {
  const waits = new Map<string, Wait>();
  let line: Line | undefined;
  let isOpen = false;
  let answered = 0;

  const shut = () => {
    line?.end();
    line = undefined;
    isOpen = false;
    // Another socket counts anew.
    for (const wait of waits.values()) wait.subscription = undefined;
  };

  const announce = async (wait: Wait) => {
    const { kind, name } = wait;
    const asked = line;
    const node = await asked?.call(kind.subscribe, [name, kind.settings]);
    // If the node refuses, polling finds out.
    if (typeof node !== 'number' || line !== asked) return;
    // Given up before the node had answered.
    if (waits.get(keyOf(kind, name)) !== wait) void asked?.call(kind.unsubscribe, [node]);
    else wait.subscription = { node, own: (answered += 1) };
  };

  const notify = (kind: Kind, params: unknown) => {
    const { subscription, value } = readNotification(params) ?? {};
    for (const [key, wait] of waits) {
      if (
        wait.kind !== kind ||
        subscription === undefined ||
        wait.subscription?.node !== subscription
      )
        continue;
      if (kind.once) waits.delete(key);
      for (const listener of wait.listeners) listener(value ?? null);
    }
    if (waits.size === 0) shut();
  };

  const open = () => {
    const address = wsUrl ?? (endpoint === undefined ? undefined : webSocketAddress(endpoint));
    if (endpoint === undefined || address === undefined) return;
    line = openLine(address, {
      opened() {
        isOpen = true;
        for (const wait of waits.values()) void announce(wait);
      },
      notified(method, params) {
        const kind = KINDS.find(({ notification }) => notification === method);
        if (kind !== undefined) notify(kind, params);
      },
      lost: shut,
    });
  };

  const listen = (
    kind: Kind,
    name: string,
    listener: (error: string | null) => void,
  ): AccountWatch => {
    const key = keyOf(kind, name);
    const known = waits.get(key);
    const wait: Wait = known ?? { kind, name, listeners: new Set(), subscription: undefined };
    waits.set(key, wait);
    wait.listeners.add(listener);
    if (line === undefined) open();
    else if (known === undefined && isOpen) void announce(wait);
    return {
      subscription: () =>
        waits.get(key) === wait && wait.listeners.has(listener)
          ? wait.subscription?.own
          : undefined,
      end() {
        if (!wait.listeners.delete(listener) || wait.listeners.size > 0 || waits.get(key) !== wait)
          return;
        waits.delete(key);
        if (waits.size === 0) shut();
        else if (wait.subscription !== undefined)
          void line?.call(kind.unsubscribe, [wait.subscription.node]);
      },
    };
  };

  return {
    subscribe: (signature, listener) => listen(SIGNATURE, signature, listener).end,
    watchAccount: (address, listener) => listen(ACCOUNT, address, () => listener()),
    close() {
      waits.clear();
      shut();
    },
  };
}

function keyOf({ subscribe }: Kind, name: string): string {
  return `${subscribe} ${name}`;
}

function readNotification(
  params: unknown,
): { subscription: number; value: string | null } | undefined {
  if (
    !isRecord(params) ||
    typeof params['subscription'] !== 'number' ||
    !isRecord(params['result'])
  )
    return undefined;
  const value = params['result']['value'];
  const error = isRecord(value) ? value['err'] : null;
  return {
    subscription: params['subscription'],
    value: error === null || error === undefined ? null : JSON.stringify(error),
  };
}
