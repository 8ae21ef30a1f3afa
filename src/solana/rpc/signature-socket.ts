import { isRecord } from '../../internal/record.js';
import { openLine, webSocketAddress, type Line } from './web-socket.js';

export interface AccountWatch {
  /**
   * Returns the number of the subscription that reports changes from now on; undefined if there is
   * none. After a loss the number never returns. Changes before a subscription, or between two
   * subscriptions, may be missed.
   */
  readonly subscription: () => number | undefined;
  end(): void;
}

/**
 * Reports signatures and accounts over the node's WebSocket. It stays silent if there is none, so
 * each listener polls as well.
 */
export interface SignatureSocket {
  subscribe(signature: string, listener: (error: string | null) => void): () => void;
  watchAccount(address: string, listener: () => void): AccountWatch;
  close(): void;
}

interface Wait {
  readonly kind: Kind;
  /** The signature or the account in base58. */
  readonly name: string;
  readonly listeners: Set<(error: string | null) => void>;
  /**
   * Set once the node has answered. `node` is the node's number, which restarts with each socket;
   * `own` is this client's number, which never repeats.
   */
  subscription: { readonly node: number; readonly own: number } | undefined;
}

/** A kind of subscription, with the names of its RPC methods. */
interface Kind {
  readonly subscribe: string;
  readonly unsubscribe: string;
  readonly notification: string;
  readonly settings: object;
  /** Whether the node ends the subscription with its first notification. */
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
 * Opens a socket for the first subscription, and closes it after the last. A socket that fails is
 * not reopened for the subscriptions that it had.
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
    // Numbers of the node are valid for one socket only.
    for (const wait of waits.values()) wait.subscription = undefined;
  };

  const announce = (wait: Wait) => {
    const { kind, name } = wait;
    line?.call(kind.subscribe, [name, kind.settings], (node) => {
      // If the node refuses, polling still works.
      if (typeof node !== 'number') return;
      // The listeners may have unsubscribed before the node answered.
      if (waits.get(keyOf(kind, name)) !== wait) line?.call(kind.unsubscribe, [node]);
      else wait.subscription = { node, own: (answered += 1) };
    });
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
        for (const wait of waits.values()) announce(wait);
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
    else if (known === undefined && isOpen) announce(wait);
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
          line?.call(kind.unsubscribe, [wait.subscription.node]);
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
  try {
    return {
      subscription: params['subscription'],
      value: error === null || error === undefined ? null : JSON.stringify(error),
    };
  } catch {
    // The error is nested too deeply to be written. Its listener polls as well.
    return undefined;
  }
}
