import { base58 } from '@scure/base';
import { bytesOf, dataOf, rentOf, type Account } from './accounts.js';
import type { Effect } from './execute.js';
import type { Landed, Ledger } from './ledger.js';
import { GENESIS } from './places.js';
import { readMessage, readWire } from './wire.js';

/** Current faults of a node. A plan gives a node at most a single kind of lie. */
export interface NodeState {
  /** Slots by which the whole node is behind; its answers show it. */
  behind: number;
  /** Slots by which its index of addresses is behind; its answers hide it. */
  indexBehind: number;
  /** Slots by which its answers about single transactions are behind; they hide it. */
  statusBehind: number;
  /** Slots by which accounts are older than the slot in the answer. */
  accountsBehind: number;
  /** Error of the last valid block height of a new blockhash. */
  heightOff: number;
  /** Error of the slot of a new blockhash. */
  slotOff: number;
  /** True if the node reports every blockhash as expired. */
  isHasty: boolean;
  isDown: boolean;
  /** Percentage of requests that it refuses, because there are too many. */
  busy: number;
}

export const honest = (): NodeState => ({
  ...{
    behind: 0,
    indexBehind: 0,
    statusBehind: 0,
    accountsBehind: 0,
    heightOff: 0,
    slotOff: 0,
    isHasty: false,
    isDown: false,
    busy: 0,
  },
});

type Json = Readonly<Record<string, unknown>>;
type Commitment = 'processed' | 'confirmed' | 'finalized';

const DEPTH: Readonly<Record<Commitment, number>> = { processed: 0, confirmed: 1, finalized: 32 };
const UNITS = 120_000;
const VOTE_PROGRAM = 'Vote111111111111111111111111111111111111111';

class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Answers a JSON-RPC request as a node with these faults. Errors contain the node's URL. `submit`
 * gets the bytes of each transaction to send.
 */
export function answerRpc(
  ledger: Ledger,
  state: NodeState,
  address: string,
  body: string,
  submit: (bytes: Uint8Array) => void,
): string {
  const { id, method, params } = JSON.parse(body) as {
    id: unknown;
    method: string;
    params?: readonly unknown[];
  }; // web3.js writes a valid request.
  try {
    return JSON.stringify({
      jsonrpc: '2.0',
      id,
      result: answer(ledger, state, method, params ?? [], submit),
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return JSON.stringify({
      jsonrpc: '2.0',
      id,
      error: { code: error.code, message: `${error.message}, at ${address}` },
    });
  }
}

function answer(
  ledger: Ledger,
  state: NodeState,
  method: string,
  params: readonly unknown[],
  submit: (bytes: Uint8Array) => void,
): unknown {
  const tip = ledger.slot() - state.behind;
  const options = optionsIn(params);
  const slot = tip - DEPTH[options.commitment];
  if (options.minContextSlot > slot)
    throw new Refusal(-32016, 'Minimum context slot has not been reached');
  const context = { slot };
  switch (method) {
    case 'getGenesisHash':
      return GENESIS;
    case 'getLatestBlockhash': {
      const lastValidBlockHeight = ledger.heightAt(slot) + 150 + state.heightOff;
      return {
        context: { slot: slot + state.slotOff },
        value: { blockhash: ledger.hashAt(slot), lastValidBlockHeight },
      };
    }
    case 'getEpochInfo': {
      const blockHeight = ledger.heightAt(slot);
      return {
        absoluteSlot: slot,
        blockHeight,
        epoch: 700,
        slotIndex: slot % 432_000,
        slotsInEpoch: 432_000,
      };
    }
    case 'isBlockhashValid': {
      const height = ledger.heightOf(String(params[0])) ?? -Infinity;
      const age = ledger.heightAt(slot) - height;
      return { context, value: !state.isHasty && age >= 0 && age <= 150 };
    }
    case 'getFirstAvailableBlock':
      return 1;
    case 'getMinimumBalanceForRentExemption':
      return Number(rentOf(Number(params[0])));
    case 'getRecentPrioritizationFees':
      return [{ slot, prioritizationFee: 2_000 }];
    case 'getMultipleAccounts': {
      const from = slot - state.accountsBehind;
      return {
        context,
        value: (params[0] as string[]).map((address) => accountJson(ledger.account(address, from))),
      };
    }
    case 'getTokenAccountsByOwner': {
      const { programId } = params[1] as { programId: string };
      const value = [...ledger.addresses()].flatMap((pubkey) => {
        const account = ledger.account(pubkey, slot - state.accountsBehind);
        return account?.token?.owner === params[0] && account?.owner === programId
          ? [{ pubkey, account: accountJson(account) }]
          : [];
      });
      return { context, value };
    }
    case 'simulateTransaction':
      return simulate(ledger, slot, params);
    case 'sendTransaction': {
      const bytes = Buffer.from(String(params[0]), 'base64');
      submit(bytes);
      return base58.encode(bytes.subarray(1, 65));
    }
    case 'getSignatureStatuses': {
      const seen = tip - state.statusBehind;
      return {
        context,
        value: (params[0] as string[]).map((id) => statusOf(ledger.landed(id), seen)),
      };
    }
    case 'getTransaction': {
      const found = ledger.landed(String(params[0]));
      return found === undefined || found.slot > slot - state.statusBehind
        ? null
        : transactionJson(found);
    }
    case 'getSignaturesForAddress':
      return signaturesFor(
        ledger,
        slot - state.indexBehind,
        String(params[0]),
        params[1] as Json | undefined,
      );
    default:
      throw new Refusal(-32601, `Method not found: ${method}`);
  }
}

function optionsIn(params: readonly unknown[]): { commitment: Commitment; minContextSlot: number } {
  const options = params.filter(
    (param): param is Json => typeof param === 'object' && param !== null && !Array.isArray(param),
  );
  const value = (name: string): unknown =>
    options.map((option) => option[name]).find((setting) => setting !== undefined);
  const commitment = value('commitment');
  return {
    commitment: commitment === 'processed' || commitment === 'finalized' ? commitment : 'confirmed',
    minContextSlot: Number(value('minContextSlot') ?? 0),
  };
}

function accountJson(account: Account | undefined): unknown {
  if (account === undefined) return null;
  const { lamports, owner } = account;
  return {
    lamports: Number(lamports),
    owner,
    data: [dataOf(account), 'base64'],
    executable: false,
    rentEpoch: 0,
    space: bytesOf(account),
  };
}

function simulate(ledger: Ledger, slot: number, params: readonly unknown[]): unknown {
  const message = readMessage(readWire(Buffer.from(String(params[0]), 'base64')).message);
  const effect = ledger.simulate(message, slot);
  const { addresses } = (params[1] as { accounts: { addresses: string[] } }).accounts;
  const after = (address: string) =>
    effect.changes.has(address) ? effect.changes.get(address) : ledger.account(address, slot);
  return {
    context: { slot },
    value: {
      err: effect.fee < 0n ? 'InsufficientFundsForFee' : effect.error,
      logs: [],
      accounts: addresses.map((address) => accountJson(after(address))),
      unitsConsumed: UNITS,
      returnData: null,
      innerInstructions: innerJson(effect),
    },
  };
}

function innerJson({ inner }: Effect): unknown {
  const outers = [...new Set(inner.map(({ outer }) => outer))];
  return outers.map((index) => ({
    index,
    instructions: inner
      .filter(({ outer }) => outer === index)
      .map(({ program, source, destination, authority, mint, amount }) => ({
        program: 'spl-token',
        programId: program,
        parsed: {
          type: 'transferChecked',
          info: {
            source,
            destination,
            authority,
            mint,
            tokenAmount: { amount: amount.toString() },
          },
        },
        stackHeight: 2,
      })),
  }));
}

function statusOf(landed: Landed | undefined, tip: number): unknown {
  if (landed === undefined || landed.slot > tip) return null;
  const depth = tip - landed.slot;
  const confirmationStatus =
    depth >= DEPTH.finalized ? 'finalized' : depth >= DEPTH.confirmed ? 'confirmed' : 'processed';
  const confirmations = confirmationStatus === 'finalized' ? null : depth;
  return { slot: landed.slot, confirmations, err: landed.error, status: {}, confirmationStatus };
}

function signaturesFor(ledger: Ledger, slot: number, address: string, options: Json = {}): unknown {
  // A cluster has votes in each slot, and the library asks only for the newest.
  if (address === VOTE_PROGRAM)
    return [{ signature: `vote ${slot}`, slot, err: null, memo: null, blockTime: null }];
  const listed = [...ledger.of(address)].reverse().filter((landed) => landed.slot <= slot);
  const { before, until, limit = 1_000 } = options;
  const from = before === undefined ? 0 : listed.findIndex(({ id }) => id === before) + 1;
  const end = until === undefined ? -1 : listed.findIndex(({ id }) => id === until);
  const page = listed.slice(from, end === -1 ? undefined : end).slice(0, Number(limit));
  const isFinal = (landed: Landed) => slot - landed.slot >= DEPTH.finalized;
  return page.map((landed) => ({
    ...{
      signature: landed.id,
      slot: landed.slot,
      err: landed.error,
      memo: landed.memo,
      blockTime: null,
    },
    confirmationStatus: isFinal(landed) ? 'finalized' : 'confirmed',
  }));
}

function transactionJson({
  slot,
  message,
  signatures,
  error,
  fee,
  before,
  after,
}: Landed): unknown {
  const [numRequiredSignatures, numReadonlySignedAccounts, numReadonlyUnsignedAccounts] =
    message.header;
  const balances = (accounts: readonly (Account | undefined)[]) =>
    accounts.flatMap((account, accountIndex) =>
      account?.token === undefined
        ? []
        : [
            {
              ...{
                accountIndex,
                mint: account.token.mint,
                owner: account.token.owner,
                programId: account.owner,
              },
              uiTokenAmount: {
                amount: account.token.amount.toString(),
                decimals: 0,
                uiAmount: null,
                uiAmountString: '0',
              },
            },
          ],
    );
  return {
    slot,
    blockTime: null,
    version: 0,
    transaction: {
      signatures,
      message: {
        header: { numRequiredSignatures, numReadonlySignedAccounts, numReadonlyUnsignedAccounts },
        accountKeys: message.keys,
        recentBlockhash: message.blockhash,
        instructions: message.compiled.map(({ programIdIndex, accounts, data }) => ({
          programIdIndex,
          accounts,
          data: base58.encode(data),
        })),
        addressTableLookups: [],
      },
    },
    meta: {
      ...{
        err: error,
        fee: Number(fee),
        innerInstructions: null,
        logMessages: null,
        loadedAddresses: { writable: [], readonly: [] },
      },
      preBalances: before.map((account) => Number(account?.lamports ?? 0n)),
      postBalances: after.map((account) => Number(account?.lamports ?? 0n)),
      preTokenBalances: balances(before),
      postTokenBalances: balances(after),
      computeUnitsConsumed: UNITS,
    },
  };
}
