import { TransportError } from '../../../src/errors.js';
import type { SignedPayment } from '../../../src/journal/types.js';
import type { Rpc, Signed, SignatureInfo } from '../../../src/solana/rpc.js';

/** A transaction of the payer's token account, as one node has it. */
export interface FakeTransaction {
  readonly slot: number;
  readonly memo?: string | null;
  /** What `getTransaction` answers; default: somebody else's. */
  readonly signed?: Partial<Signed> | 'newer' | null | Error;
}

export interface FakeNode {
  readonly slot: number;
  readonly height: bigint;
  readonly firstSlot?: number | Error;
  /** By signature, newest first. */
  readonly history?: Readonly<Record<string, FakeTransaction>>;
  /** Minds no least slot. */
  readonly careless?: boolean;
  readonly down?: boolean;
}

export const refused = () => new TransportError('rpc_unavailable', 'no', { details: { method: 'm' } });

/** An Rpc over nodes that a test describes; each call goes to the first node that is up. */
export function fakeRpc(nodes: readonly FakeNode[], part: Partial<Rpc> = {}): Rpc & { readonly asked: string[] } {
  const asked: string[] = [];
  const make = (alive: readonly FakeNode[]): Rpc => {
    const unused = () => Promise.reject(new Error('not to be called'));
    const answer = <T>(name: string, read: (node: FakeNode) => T): Promise<T> => {
      asked.push(name);
      const node = alive.find(({ down }) => down !== true);
      try {
        return node === undefined ? Promise.reject(refused()) : Promise.resolve(read(node));
      } catch (error) {
        return Promise.reject(error instanceof Error ? error : new Error('unreachable'));
      }
    };
    return {
      accounts: unused,
      tokenAccounts: unused,
      latestBlockhash: unused,
      rent: unused,
      priorityFees: unused,
      simulate: unused,
      send: unused,
      statuses: unused,
      transaction: unused,
      genesisHash: unused,
      isBlockhashValid: unused,
      onSignature: () => () => undefined,
      onAccount: () => ({ subscription: () => undefined, end: () => undefined }),
      close: () => undefined,
      tip: () => answer('tip', ({ slot, height }) => ({ slot, height })),
      firstSlot: () => answer('firstSlot', ({ firstSlot = 0 }) => orThrow(firstSlot)),
      signed: (signature) => answer('signed', (node) => signedOf(node, signature)),
      signaturesFor: (_, options) => answer('signaturesFor', (node) => page(node, options)),
      alone: () => alive.map((node) => make([node])),
      ...part,
    };
  };
  return { ...make(nodes), asked };
}

function signedOf({ history = {} }: FakeNode, signature: string): Signed | 'newer' | null {
  const transaction = history[signature];
  if (transaction === undefined) return null;
  const { signed = {}, slot } = transaction;
  if (signed === null || signed === 'newer') return signed;
  if (signed instanceof Error) throw signed;
  return { slot, error: null, signatures: [signature], ...signed };
}

function page({ history = {}, slot, careless }: FakeNode, options: Parameters<Rpc['signaturesFor']>[1]): SignatureInfo[] {
  const { limit = 1_000, before, minContextSlot = 0 } = options ?? {};
  if (careless !== true && slot < minContextSlot) throw refused();
  const all = Object.entries(history).map(([signature, one]) => ({ signature, slot: one.slot, error: null, memo: one.memo ?? null }));
  const from = before === undefined ? 0 : all.findIndex(({ signature }) => signature === before) + 1;
  return all.slice(from, from + limit);
}

function orThrow<T>(value: T | Error): T {
  if (value instanceof Error) throw value;
  return value;
}

export const OURS = 'payerSignature';

export function payment(part: Partial<SignedPayment> = {}): SignedPayment {
  return {
    header: { name: 'payment-signature', value: 'x' },
    payerSignature: OURS,
    source: 'source',
    memo: 'nonce',
    slot: 1_000,
    blockhash: 'hash',
    lastValidBlockHeight: '500',
    ...part,
  };
}
