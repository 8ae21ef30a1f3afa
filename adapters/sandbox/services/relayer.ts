import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Address,
  createSolanaRpc,
  getBase64Decoder,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type KeyPairSigner,
  type ReadonlyUint8Array,
  signBytes,
  type Transaction,
  type Base64EncodedWireTransaction,
} from '@solana/kit';
import { associatedTokenAccount } from '../chain/token.js';
import { SANDBOX_MINTS } from '../mints.js';
import type { Chain, SandboxMint } from '../types.js';
import { FaultBoard, type ServiceControls } from './faults.js';
import { listen, readJson, sendJson, sendPreflight } from './http.js';
import type { Wallet } from './wallets.js';

/** Methods of Kora's JSON-RPC that the relayer serves. */
export type RelayerMethod =
  'getPayerSigner' | 'getConfig' | 'estimateTransactionFee' | 'signTransaction';

/** Controls of the relayer, for every lie that a relayer can tell. */
export interface RelayerControls extends ServiceControls {
  /** Changes or delays the answers of a method; undefined ends the lie. */
  lie(method: RelayerMethod, lie: Lie | undefined): void;
  /**
   * Changes each message before the relayer signs it, as Kora does to add a guard; undefined ends
   * this.
   */
  tamper(change: ((message: Uint8Array) => Uint8Array) | undefined): void;
  /** Sets the mints that pay fees, by address; `'All'`, the default, is any mint with a price. */
  accept(mints: readonly string[] | 'All'): void;
  /** Secret key of the relayer, 64 bytes in base58, because a relayer may sign anything. */
  readonly secretKey: string;
  /** Wire bytes of each transaction that the relayer signed, in order. */
  readonly signed: readonly Uint8Array[];
  /** Ends all lies and faults, accepts every mint, and empties {@link signed}. */
  restore(): void;
}

export interface RelayerService {
  readonly url: string;
  readonly controls: RelayerControls;
  close(): Promise<void>;
}

interface World {
  readonly chain: Chain;
  readonly rpc: ReturnType<typeof createSolanaRpc>;
  readonly key: KeyPairSigner;
  /** Owner of the token accounts that receive fees. */
  readonly payTo: Address;
}

type Lie = (
  result: Record<string, unknown>,
) => Record<string, unknown> | Promise<Record<string, unknown>>;

/** Price in hundredths of the cost: the relayer's margin is 10 %. */
const MARGIN = 110n;

const REFUSED = -32000;
const UNKNOWN_METHOD = -32601;
const NO_REQUEST = -32700;

/** Serves Kora's API: signs as fee payer, in return for a fee in tokens, and sends nothing. */
export async function startRelayer(options: {
  readonly port: number;
  readonly chain: Chain;
  readonly rpcUrl: string;
  readonly wallet: Wallet;
  readonly payTo: Address;
}): Promise<RelayerService> {
  const { chain, wallet, payTo, rpcUrl } = options;
  const key = wallet.signer;
  const world: World = { chain, key, payTo, rpc: createSolanaRpc(rpcUrl) };
  const lies = new Map<string, Lie>();
  const signed: Uint8Array[] = [];
  let tampering: ((message: Uint8Array) => Uint8Array) | undefined;
  let accepted: readonly string[] | 'All' = 'All';

  const answers: Record<RelayerMethod, (params: Params) => Promise<Record<string, unknown>>> = {
    getPayerSigner: async () => ({ signer_address: key.address, payment_address: payTo }),
    getConfig: async () => ({
      fee_payers: [key.address],
      validation_config: {
        max_allowed_lamports: 1_000_000_000,
        max_signatures: 10,
        allowed_spl_paid_tokens: accepted,
        price: { type: 'margin', margin: 0.1 },
      },
      enabled_methods: { estimate_transaction_fee: true, sign_transaction: true },
    }),
    estimateTransactionFee: async ({ transaction, fee_token: mint }) => {
      const lamports = await costOf(world, transaction);
      return {
        fee_in_lamports: Number(lamports),
        fee_in_token: mint === undefined ? null : Number(inToken(lamports, mintOf(mint))),
        signer_pubkey: key.address,
        payment_address: payTo,
      };
    },
    signTransaction: async ({ transaction }) => {
      const read = readTransaction(transaction);
      const cost = await costOf(world, transaction);
      if ((await paidIn(world, read)) < cost)
        throw new Refusal('Invalid transaction: Insufficient token payment.');
      const message = tampering?.(Uint8Array.from(read.messageBytes)) ?? read.messageBytes;
      const wire = await signAs(key, message);
      signed.push(wire);
      return {
        signed_transaction: getBase64Decoder().decode(wire),
        signer_pubkey: key.address,
      };
    },
  };

  const board = new FaultBoard();
  const listener = await listen(
    options.port,
    board,
    (request, response) => void serve(request, response, answers, lies),
  );
  const extra = {
    lie: (method: RelayerMethod, lie: Lie | undefined) =>
      void (lie === undefined ? lies.delete(method) : lies.set(method, lie)),
    tamper: (change: typeof tampering) => void (tampering = change),
    accept: (mints: readonly string[] | 'All') => void (accepted = mints),
    secretKey: wallet.secretKey,
    signed,
    restore: () => {
      board.clearFaults();
      lies.clear();
      tampering = undefined;
      accepted = 'All';
      signed.length = 0;
    },
  };
  return {
    url: listener.url,
    controls: Object.assign(board, extra),
    close: () => listener.stop(),
  };
}

interface Params {
  readonly transaction: string;
  readonly fee_token?: string;
}

/** A refusal; its message goes into the JSON-RPC error. */
class Refusal extends Error {}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  answers: Record<RelayerMethod, (params: Params) => Promise<Record<string, unknown>>>,
  lies: ReadonlyMap<string, Lie>,
): Promise<void> {
  if (request.method === 'OPTIONS') return sendPreflight(request, response);
  const body = await readJson(request);
  if (typeof body !== 'object' || body === null)
    return sendJson(response, 200, {
      ...{ jsonrpc: '2.0', id: null },
      error: { code: NO_REQUEST, message: 'Parse error' },
    });
  const call: { id?: unknown; method?: string; params?: Params } = body;
  const frame = { jsonrpc: '2.0', id: call.id ?? null };
  const method = Object.entries(answers).find(([name]) => name === call.method);
  try {
    if (method === undefined)
      return sendJson(response, 200, {
        ...frame,
        error: { code: UNKNOWN_METHOD, message: 'Method not found' },
      });
    const [name, answer] = method;
    const result = await answer(call.params ?? { transaction: '' });
    sendJson(response, 200, { ...frame, result: (await lies.get(name)?.(result)) ?? result });
  } catch (error) {
    if (response.destroyed) return;
    const message = error instanceof Error ? error.message : 'Internal error';
    sendJson(response, 200, { ...frame, error: { code: REFUSED, message } });
  }
}

function readTransaction(base64: string): Transaction {
  return getTransactionDecoder().decode(getBase64Encoder().encode(base64));
}

/** Returns the lamports that a transaction takes from the relayer, plus its margin. */
async function costOf({ chain, rpc, key }: World, base64: string): Promise<bigint> {
  const { messageBytes } = readTransaction(base64);
  const [payer] = getCompiledTransactionMessageDecoder().decode(messageBytes).staticAccounts;
  if (payer !== key.address) throw new Refusal('Invalid transaction: Fee payer is not a signer.');
  const message = getBase64Decoder().decode(messageBytes) as never as Parameters<
    typeof rpc.getFeeForMessage
  >[0];
  const { value: fee } = await rpc.getFeeForMessage(message).send();
  const { value } = await rpc
    .simulateTransaction(base64 as Base64EncodedWireTransaction, {
      encoding: 'base64',
      sigVerify: false,
      accounts: { encoding: 'base64', addresses: [key.address] },
    })
    .send();
  if (value.err !== null) throw new Refusal('Invalid transaction: Simulation failed.');
  const before = chain.account(key.address)?.lamports ?? 0n;
  const left = before - BigInt(value.accounts[0]?.lamports ?? 0);
  const outflow = left > (fee ?? 0n) ? left : (fee ?? 0n);
  return (outflow * MARGIN) / 100n;
}

function mintOf(address: string): SandboxMint {
  const mint = Object.values(SANDBOX_MINTS).find((known) => known.address === address);
  if (mint === undefined) throw new Refusal('Unsupported fee token.');
  return mint;
}

const picoOf = (lamports: bigint): bigint => lamports * SANDBOX_MINTS.SOL.picoUsd;

const inToken = (lamports: bigint, { picoUsd }: SandboxMint): bigint =>
  (picoOf(lamports) + picoUsd - 1n) / picoUsd;

const TRANSFER_CHECKED = 12;

/** Returns the value in lamports of the transaction's token transfers to the relayer. */
async function paidIn({ payTo }: World, { messageBytes }: Transaction): Promise<bigint> {
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (message.version !== 0) throw new Refusal('Invalid transaction: not version 0.');
  // Prices by token account, because a lookup table may hide the mint's address.
  const prices = new Map<string | undefined, bigint>();
  for (const { address, tokenProgram, picoUsd } of Object.values(SANDBOX_MINTS))
    prices.set(await associatedTokenAccount(payTo, address, tokenProgram), picoUsd);
  let pico = 0n;
  for (const { accountIndices = [], data } of message.instructions) {
    if (data?.[0] !== TRANSFER_CHECKED || data.length !== 10) continue;
    const price = prices.get(message.staticAccounts[accountIndices[2] ?? -1]) ?? 0n;
    pico += new DataView(Uint8Array.from(data).buffer).getBigUint64(1, true) * price;
  }
  return pico / SANDBOX_MINTS.SOL.picoUsd;
}

/** Returns wire bytes with the relayer's signature; the other signature slots are zero. */
async function signAs(key: KeyPairSigner, message: ReadonlyUint8Array): Promise<Uint8Array> {
  const { header } = getCompiledTransactionMessageDecoder().decode(message);
  const slots = new Uint8Array(64 * header.numSignerAccounts);
  slots.set(await signBytes(key.keyPair.privateKey, message));
  return Uint8Array.from([header.numSignerAccounts, ...slots, ...message]);
}
