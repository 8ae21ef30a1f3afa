import { TransportError } from '../../../../src/errors.js';
import type { SignedPayment } from '../../../../src/journal/types.js';
import { TOKEN_PROGRAM } from '../../../../src/network.js';
import type {
  Commitment,
  LandedTransaction,
  Rpc,
  SignatureInfo,
  SignatureStatus,
} from '../../../../src/solana/rpc/rpc.js';
import { rpcWith } from '../../solana/rpc/rpc-with.js';

/** A transaction of the payer's token account, as a node shows it. */
export interface FakeTransaction {
  readonly slot: number;
  readonly memo?: string | null;
  readonly error?: string;
  /** Default: its id alone. */
  readonly signatures?: readonly string[];
  /** Base units that the account gains, or loses if negative. Default 0n. */
  readonly change?: bigint;
  /** The slot in the list of signatures. Default: `slot`. */
  readonly listed?: number;
  /** The change that the node shows, whatever the result. Default: the real change. */
  readonly kept?: bigint;
  /** `absent`: the node shows no token balance of the account; `untold`: of no account. */
  readonly tokens?: 'absent' | 'untold';
  /** The answer of the node instead of the transaction. */
  readonly read?: 'newer' | null | Error;
  /** The commitment of the transaction, or the error of the node. Default: `confirmed`. */
  readonly status?: Commitment | Error;
}

export interface FakeNode {
  readonly slot: number;
  readonly height: bigint;
  readonly firstSlot?: number | Error;
  /** Transactions by signature, newest first. */
  readonly history?: Readonly<Record<string, FakeTransaction>>;
  /** The amount in the account. Default: {@link START} plus the changes of the history. */
  readonly held?: bigint;
  /**
   * Whether the blockhash of {@link payment} is valid for the node. Default: up to its last valid
   * height.
   */
  readonly valid?: boolean;
  /** Slot of the node's address index, as its newest vote shows. Default: `slot`. */
  readonly indexed?: number | 'no votes' | 'refused';
  /** Whether the node ignores `minContextSlot`. */
  readonly careless?: boolean;
  readonly down?: boolean;
  /** Whether the node answers, but lists no transactions of an account. */
  readonly unlisted?: boolean;
}

/** The amount in the account before its history. */
export const START = 100n;

export const refused = () =>
  new TransportError('rpc_unavailable', 'no', { details: { method: 'm' } });

/** An Rpc over nodes of a test; each call goes to the first node that is up. */
export function fakeRpc(
  nodes: readonly FakeNode[],
  part: Partial<Rpc> = {},
): Rpc & { readonly asked: string[] } {
  const asked: string[] = [];
  const make = (alive: readonly FakeNode[]): Rpc => {
    const answer = <T>(name: string, read: (node: FakeNode) => T): Promise<T> => {
      asked.push(name);
      const node = alive.find(({ down }) => down !== true);
      try {
        return node === undefined ? Promise.reject(refused()) : Promise.resolve(read(node));
      } catch (error) {
        return Promise.reject(error instanceof Error ? error : new Error('unreachable'));
      }
    };
    let singles: Rpc[] | undefined;
    return rpcWith({
      accounts: (addresses, options) =>
        answer('accounts', (node) => accounts(node, addresses, options?.minContextSlot)),
      statuses: (signatures) =>
        answer('statuses', (node) => signatures.map((signature) => statusOf(node, signature))),
      transaction: (signature) => answer('transaction', (node) => transactionOf(node, signature)),
      isBlockhashValid: (_, options) =>
        answer('isBlockhashValid', (node) => validity(node, options?.minContextSlot)),
      tip: () => answer('tip', ({ slot, height }) => ({ slot, height })),
      firstSlot: () => answer('firstSlot', ({ firstSlot = 0 }) => orThrow(firstSlot)),
      signaturesFor: (address, options) =>
        address === 'source'
          ? answer('signaturesFor', (node) => page(node, options))
          : answer('newest', (node) => busy(node, address)),
      perNode: () => (singles ??= alive.map((node) => make([node]))),
      ...part,
    });
  };
  return { ...make(nodes), asked };
}

function heldAt({ history = {}, held }: FakeNode): bigint {
  const left = Object.values(history).reduce(
    (sum, { change = 0n, error }) => (error === undefined ? sum + change : sum),
    START,
  );
  return held ?? left;
}

function accounts(
  node: FakeNode,
  addresses: readonly string[],
  minContextSlot: number | undefined,
) {
  atLeast(node, minContextSlot);
  const data = new Uint8Array(165);
  new DataView(data.buffer).setBigUint64(64, heldAt(node), true);
  data[108] = 1;
  const account = { owner: TOKEN_PROGRAM, lamports: heldAt(node), data, executable: false };
  return { slot: node.slot, accounts: addresses.map(() => account) };
}

function validity(node: FakeNode, minContextSlot: number | undefined) {
  atLeast(node, minContextSlot);
  return { slot: node.slot, valid: node.valid ?? node.height <= BigInt(LAST) };
}

function transactionOf({ history = {} }: FakeNode, id: string): LandedTransaction | 'newer' | null {
  const transaction = history[id];
  if (transaction === undefined) return null;
  const { read, slot, error = null, signatures = [id], kept, tokens } = transaction;
  const change = kept ?? (error === null ? (transaction.change ?? 0n) : 0n);
  if (read === null || read === 'newer') return read;
  if (read instanceof Error) throw read;
  const moved = {
    account: 'source',
    mint: 'mint',
    before: START,
    after: START + change,
  };
  return {
    slot,
    error,
    signatures,
    feeLamports: 5_000n,
    tokenChanges: tokens === undefined ? [moved] : [],
    tellsTokens: tokens !== 'untold',
    lamports: new Map(),
  };
}

function statusOf({ history = {} }: FakeNode, id: string): SignatureStatus | null {
  const transaction = history[id];
  if (transaction === undefined) return null;
  const { status = 'confirmed', slot, error = null } = transaction;
  if (status instanceof Error) throw status;
  return { slot, error, commitment: status };
}

function page(node: FakeNode, options: Parameters<Rpc['signaturesFor']>[1]): SignatureInfo[] {
  const { limit = 1_000, before, minContextSlot } = options ?? {};
  atLeast(node, minContextSlot);
  if (node.unlisted === true) throw refused();
  const all = Object.entries(node.history ?? {}).map(
    ([signature, { slot, listed = slot, error = null, memo = null }]) => ({
      signature,
      slot: listed,
      error,
      memo,
    }),
  );
  const from =
    before === undefined ? 0 : all.findIndex(({ signature }) => signature === before) + 1;
  return all.slice(from, from + limit);
}

/** The newest vote. No other address counts as busy. */
function busy({ slot, indexed = slot }: FakeNode, address: string): SignatureInfo[] {
  if (indexed === 'refused') throw refused();
  return indexed === 'no votes' || !address.startsWith('Vote')
    ? []
    : [{ signature: 'vote', slot: indexed, error: null, memo: null }];
}

function atLeast({ slot, careless }: FakeNode, minContextSlot = 0): void {
  if (careless !== true && slot < minContextSlot) throw refused();
}

function orThrow<T>(value: T | Error): T {
  if (value instanceof Error) throw value;
  return value;
}

export const OURS = 'payerSignature';
const LAST = '500';

/** A payment of 40 out of {@link START}. */
export function payment(part: Partial<SignedPayment> = {}): SignedPayment {
  return {
    header: { name: 'payment-signature', value: 'x' },
    payerSignature: OURS,
    source: 'source',
    memo: 'nonce',
    before: { amount: START.toString(), slot: 990 },
    slot: 1_000,
    blockhash: 'hash',
    blockhashSlot: 1_000,
    lastValidBlockHeight: LAST,
    ...part,
  };
}
