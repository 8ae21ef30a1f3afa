import { address as toAddressType } from '@solana/kit';
import type { Address } from '@solana/kit';
import { FINALITY } from '../chain/blocks.js';
import type { ChainEvent, SandboxChain } from '../chain/chain.js';
import { reaches } from '../chain/history.js';
import { encodeJson } from '../chain/json.js';
import type { Json } from '../chain/json.js';
import type { ChainAccount } from '../types.js';
import { encodeAccount } from './encode.js';
import { invalidParams, RpcError } from './faults.js';
import { contextSlot, Params, toSignature, withContext } from './params.js';
import type { Config } from './params.js';

/** A notification of a subscription, or undefined. After the `last`, the subscription ends. */
type Notice = { readonly result: Json; readonly last?: boolean } | undefined;

interface Subscription {
  readonly method: string;
  /** Called without an event after the subscription was answered, and then on each event. */
  readonly notice: (event: ChainEvent | undefined) => Notice;
}

const GONE: ChainAccount = {
  lamports: 0n,
  data: new Uint8Array(),
  owner: toAddressType('11111111111111111111111111111111'),
  executable: false,
};

function slots(): Subscription {
  return {
    method: 'slotNotification',
    notice: (event) =>
      event?.kind === 'slot'
        ? {
            result: {
              parent: event.block.slot - 1n,
              root: event.block.slot - FINALITY,
              slot: event.block.slot,
            },
          }
        : undefined,
  };
}

function signature(chain: SandboxChain, id: string, config: Config): Subscription {
  const commitment = config.commitment();
  const received = config.flag('enableReceivedNotification');
  const say = (value: Json, last: boolean): Notice => ({
    result: withContext(contextSlot(chain, commitment), value),
    last,
  });
  let isReceivedSent = false;
  return {
    method: 'signatureNotification',
    notice: () => {
      const landed = chain.history.get(id);
      if (!landed) return undefined;
      if (reaches(landed.level, commitment))
        return say({ err: landed.outcome.failure ?? null }, true);
      if (!received || isReceivedSent) return undefined;
      isReceivedSent = true;
      return say('receivedSignature', false);
    },
  };
}

function account(chain: SandboxChain, address: Address, config: Config): Subscription {
  const commitment = config.commitment();
  const read = (key: Address) => chain.account(key);
  const current = () => encodeAccount(read(address) ?? GONE, config, read);
  let lastSent = encodeJson(current());
  return {
    method: 'accountNotification',
    notice: (event) => {
      const written =
        (event?.kind === 'account' && event.address === address) ||
        (event?.kind === 'transaction' &&
          event.level === commitment &&
          event.landed.writable.includes(address));
      const value = written ? current() : null;
      const text = encodeJson(value);
      if (!written || text === lastSent) return undefined;
      lastSent = text;
      return { result: withContext(contextSlot(chain, commitment), value) };
    },
  };
}

/** The subscriptions of a WebSocket connection. */
export class Subscriptions {
  private readonly open = new Map<number, Subscription>();
  private readonly stop: () => void;

  constructor(
    private readonly chain: SandboxChain,
    private readonly nextId: () => number,
    private readonly notify: (text: string) => void,
  ) {
    this.stop = chain.listen((event) => {
      for (const id of [...this.open.keys()]) this.tell(id, event);
    });
  }

  /** Handles a call and returns its result; run `afterwards` when the result was sent. */
  call(method: string, params: unknown): { result: Json; afterwards?: () => void } {
    const args = new Params(params);
    if (method.endsWith('Unsubscribe')) {
      if (!this.open.delete(args.integer(0))) throw invalidParams('Invalid subscription id.');
      return { result: true };
    }
    const subscription = this.make(method, args);
    const id = this.nextId();
    return {
      result: id,
      afterwards: () => {
        this.open.set(id, subscription);
        this.tell(id, undefined);
      },
    };
  }

  close(): void {
    this.stop();
    this.open.clear();
  }

  private make(method: string, params: Params): Subscription {
    switch (method) {
      case 'slotSubscribe':
        return slots();
      case 'signatureSubscribe':
        return signature(this.chain, toSignature(params.get(0)), params.config(1));
      case 'accountSubscribe':
        return account(this.chain, params.address(0), params.config(1));
      default:
        throw new RpcError(-32601, 'Method not found');
    }
  }

  private tell(id: number, event: ChainEvent | undefined): void {
    const subscription = this.open.get(id);
    const notice = subscription?.notice(event);
    if (!subscription || !notice) return;
    if (notice.last) this.open.delete(id);
    this.notify(
      encodeJson({
        jsonrpc: '2.0',
        method: subscription.method,
        params: { result: notice.result, subscription: id },
      }),
    );
  }
}
