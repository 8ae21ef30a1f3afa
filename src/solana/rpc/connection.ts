import { PublicKey, VersionedTransaction, type Connection } from '@solana/web3.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { isAddress } from '../address.js';
import { readInner } from '../transactions/inner.js';
import { askNodes, inTurn } from './failover.js';
import type { Node } from './failover.js';
import { Fault } from './fault.js';
import { askGenesis, checkedNode } from './genesis.js';
import { tipAt } from './height.js';
import { readLanded } from './landed.js';
import { checkUrls, ownNode, toNode } from './nodes.js';
import {
  errorText,
  rawErrorText,
  readAccount,
  readSimulatedAccount,
  readStatus,
  safeInteger,
} from './reply.js';
import type { CallOptions, Rpc, Tip } from './rpc.js';
import { createSignatureSocket, type SignatureSocket } from './signature-socket.js';
import { COMMITMENT, readBlockhash, readSlot, readTip, settings } from './tip.js';

export type { Connection } from '@solana/web3.js';

export interface ConnectOptions {
  /** The first is the primary, the others take over when it fails. */
  readonly urls: readonly string[];
  /** Where signatures are announced; by default where web3.js supposes it for the primary. */
  readonly wsUrl?: string;
  /** Default: `globalThis.fetch`, looked up for each call. */
  readonly fetch?: typeof fetch | undefined;
  /** For each call, all attempts together. */
  readonly timeoutMs: number;
  /**
   * The caller's own, used as it is instead of `urls`. Its WebSocket is not touched: web3.js prints
   * the errors of it.
   */
  readonly connection?: Connection;
  /** CAIP-2 id: answers of a node that serves another do not count. Default: they all do. */
  readonly network?: string;
}

/** The node's refusal of a transaction whose version is above the greatest that is asked for. */
const NEWER_VERSION = -32015;

/** Connects to one or several RPC nodes. Opens nothing until it is asked something. */
export function connectRpc(options: ConnectOptions): Rpc {
  const { urls, wsUrl, timeoutMs, connection, network } = options;
  if (connection === undefined) checkUrls('rpcUrl', urls, /^https?:$/);
  if (wsUrl !== undefined) checkUrls('wsUrl', [wsUrl], /^wss?:$/);
  const closing = new AbortController();
  const given =
    connection === undefined
      ? urls.map((url) => toNode(url, options.fetch))
      : [ownNode(connection)];
  const nodes =
    network === undefined
      ? given
      : given.map((node) => checkedNode(node, network, timeoutMs, closing.signal));
  const socket = createSignatureSocket(
    connection === undefined ? urls[0] : wsUrl === undefined ? undefined : connection.rpcEndpoint,
    wsUrl,
  );

  return rpcOver({ nodes, timeoutMs, closing, socket });
}

interface Nodes {
  readonly nodes: readonly Node[];
  readonly timeoutMs: number;
  readonly closing: AbortController;
  readonly socket: SignatureSocket;
}

function rpcOver(all: Nodes): Rpc {
  const { nodes, timeoutMs, closing, socket } = all;
  const ask = <T>(
    method: string,
    call: CallOptions | undefined,
    task: (connection: Connection, node: Node) => Promise<T>,
    unchecked = false,
  ): Promise<T> =>
    askNodes(nodes, timeoutMs, closing.signal, {
      method,
      signal: call?.signal,
      ask: task,
      unchecked,
    });

  /** What each node's last blockhash told of its height. */
  const tips = new Map<Node, Tip>();
  let single: ReadonlyMap<Node, Rpc> | undefined;
  const singles = () =>
    (single ??= new Map(
      nodes.map((node) => [node, nodes.length === 1 ? rpc : rpcOver({ ...all, nodes: [node] })]),
    ));

  const rpc: Rpc = {
    accounts: async (addresses, call) => {
      const keys = toKeys(addresses);
      return ask('getMultipleAccounts', call, async (node) => {
        const { context, value } = await node.getMultipleAccountsInfoAndContext(keys, {
          ...settings(call),
          commitment: call?.commitment ?? COMMITMENT,
        });
        if (value.length !== addresses.length)
          throw new Fault('invalid', 'it has not as many accounts as were asked for');
        return {
          slot: readSlot(context, call),
          accounts: value.map((one) => (one === null ? null : readAccount(one))),
        };
      });
    },

    tokenAccounts: async (owner, call) => {
      const key = toKey(owner);
      const ofProgram = (program: string) =>
        ask('getTokenAccountsByOwner', call, async (node) => {
          const { context, value } = await node.getTokenAccountsByOwner(
            key,
            { programId: toKey(program) },
            settings(call),
          );
          const accounts = value.map(({ pubkey, account }) => ({
            address: pubkey.toBase58(),
            account: readAccount(account),
          }));
          return { slot: readSlot(context, call), accounts };
        });
      const [classic, extended] = await Promise.all([
        ofProgram(TOKEN_PROGRAM),
        ofProgram(TOKEN_2022_PROGRAM),
      ]);
      return {
        slot: Math.min(classic.slot, extended.slot),
        accounts: [...classic.accounts, ...extended.accounts],
      };
    },

    latestBlockhash: (call) =>
      ask('getLatestBlockhash', call, async (connection, node) => {
        const latest = await readBlockhash(connection, tips.get(node), call);
        tips.set(node, tipAt(latest));
        return latest;
      }),

    tip: (commitment, call) =>
      ask('getEpochInfo', call, (connection) => readTip(connection, commitment, call)),

    isBlockhashValid: (blockhash, call) =>
      ask('isBlockhashValid', call, async (node) => {
        const { context, value } = await node.isBlockhashValid(blockhash, {
          ...settings(call),
          commitment: call?.commitment ?? COMMITMENT,
        });
        return { slot: readSlot(context, call), valid: value };
      }),

    firstSlot: (call) =>
      ask('getFirstAvailableBlock', call, async (node) =>
        safeInteger(await node.getFirstAvailableBlock()),
      ),

    rent: (bytes, call) =>
      ask('getMinimumBalanceForRentExemption', call, async (node) => {
        const lamports = safeInteger(
          await node.getMinimumBalanceForRentExemption(bytes, COMMITMENT),
        );
        // What web3.js answers when the node did not.
        if (lamports === 0) throw new Fault('invalid', 'rent is never zero');
        return BigInt(lamports);
      }),

    priorityFees: async (accounts, call) => {
      const lockedWritableAccounts = toKeys(accounts);
      return ask('getRecentPrioritizationFees', call, async (node) => {
        const fees = await node.getRecentPrioritizationFees({ lockedWritableAccounts });
        return fees.map((fee) => BigInt(safeInteger(fee.prioritizationFee)));
      });
    },

    simulate: async (transaction, watch, call) => {
      const parsed = VersionedTransaction.deserialize(transaction);
      return ask('simulateTransaction', call, async (node) => {
        const { context, value } = await node.simulateTransaction(parsed, {
          ...settings(call),
          sigVerify: false,
          replaceRecentBlockhash: true,
          innerInstructions: true,
          accounts: { encoding: 'base64', addresses: [...watch] },
        });
        const accounts = value.accounts ?? [];
        // A transaction that fails before it runs has no accounts to show.
        if (value.err === null && accounts.length !== watch.length)
          throw new Fault('invalid', 'it has not as many accounts as were asked for');
        return {
          slot: readSlot(context, call),
          error: rawErrorText(value.err),
          logs: value.logs ?? [],
          unitsConsumed: BigInt(safeInteger(value.unitsConsumed ?? 0)),
          accounts: watch.map((_, index) => readSimulatedAccount(accounts[index] ?? null)),
          inner: value.innerInstructions ? readInner(value.innerInstructions) : undefined,
        };
      });
    },

    send: async (transaction, call) => {
      const { minContextSlot } = settings(call);
      await ask('sendTransaction', call, (node) =>
        node.sendRawTransaction(transaction, {
          skipPreflight: true,
          maxRetries: 0,
          ...(minContextSlot === undefined ? {} : { minContextSlot }),
        }),
      );
    },

    statuses: (signatures, call) =>
      ask('getSignatureStatuses', call, async (node) => {
        const { context, value } = await node.getSignatureStatuses([...signatures], {
          searchTransactionHistory: call?.history === true,
        });
        readSlot(context, call);
        if (value.length !== signatures.length)
          throw new Fault('invalid', 'it has not as many statuses as were asked for');
        return value.map((one) => (one === null ? null : readStatus(one)));
      }),

    transaction: (signature, call) =>
      ask('getTransaction', call, async (connection, node) => {
        try {
          const found = await connection.getTransaction(signature, {
            commitment: COMMITMENT,
            maxSupportedTransactionVersion: 0,
          });
          return found === null ? null : readLanded(found);
        } catch (error) {
          const fault = error instanceof Fault ? error : node.explain(error);
          if (fault.code === NEWER_VERSION) return 'newer';
          throw fault;
        }
      }),

    signaturesFor: async (address, call) => {
      const key = toKey(address);
      const { minContextSlot } = settings(call);
      return ask('getSignaturesForAddress', call, async (node) => {
        const found = await node.getSignaturesForAddress(
          key,
          {
            ...(minContextSlot === undefined ? {} : { minContextSlot }),
            ...(call?.limit === undefined ? {} : { limit: call.limit }),
            ...(call?.before === undefined ? {} : { before: call.before }),
            ...(call?.until === undefined ? {} : { until: call.until }),
          },
          COMMITMENT,
        );
        return found.map(({ signature, slot, err, memo }) => ({
          signature,
          slot: safeInteger(slot),
          error: errorText(err),
          memo,
        }));
      });
    },

    genesisHash: (call) =>
      ask(
        'getGenesisHash',
        call,
        (connection, node) => node.genesis?.() ?? askGenesis(connection),
        true,
      ),

    onSignature: (signature, listener) => socket.subscribe(signature, listener),

    onAccount: (address, listener) => socket.watchAccount(address, listener),

    alone: () => inTurn(nodes).flatMap((node) => singles().get(node) ?? []),

    close() {
      closing.abort(new Fault('unavailable', 'the connection was closed'));
      socket.close();
    },
  };
  return rpc;
}

function toKey(address: string): PublicKey {
  if (!isAddress(address)) throw new TypeError('Not a Solana address.');
  return new PublicKey(address);
}

function toKeys(addresses: readonly string[]): PublicKey[] {
  if (!addresses.every(isAddress)) throw new TypeError('Not a Solana address.');
  return addresses.map((address) => new PublicKey(address));
}
