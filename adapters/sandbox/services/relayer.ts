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

/** The methods of Kora's JSON-RPC that are served. */
export type RelayerMethod =
  'getPayerSigner' | 'getConfig' | 'estimateTransactionFee' | 'signTransaction';

/** What can be done to the relayer: everything that one may lie about. */
export interface RelayerControls extends ServiceControls {
  /** Changes what a method answers, or holds it back; undefined undoes it. */
  lie(method: RelayerMethod, lie: Lie | undefined): void;
  /** Changes a message before the relayer signs it, as Kora does to add a guard; undefined undoes it. */
  tamper(change: ((message: Uint8Array) => Uint8Array) | undefined): void;
  /** The tokens that fees are taken in, by address; `'All'`, the default, is any with a price. */
  accept(mints: readonly string[] | 'All'): void;
  /** Its key, base58 of 64 bytes: a relayer may sign anything. */
  readonly secretKey: string;
  /** Wire bytes of each transaction that it signed, in order. */
  readonly signed: readonly Uint8Array[];
  /** Undoes all of the above, and all faults. */
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
  /** Owner of the accounts that fees go to. */
  readonly payTo: Address;
}

type Lie = (
  result: Record<string, unknown>,
) => Record<string, unknown> | Promise<Record<string, unknown>>;

/** What it earns, in hundredths: 10 percent. */
const MARGIN = 110n;

const REFUSED = -32000;
const UNKNOWN_METHOD = -32601;

/** Serves what Kora does: signs as fee payer for a fee in tokens, and sends nothing. */
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

/** What a caller is told in the error of JSON-RPC. */
class Refusal extends Error {}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  answers: Record<RelayerMethod, (params: Params) => Promise<Record<string, unknown>>>,
  lies: ReadonlyMap<string, Lie>,
): Promise<void> {
  if (request.method === 'OPTIONS') return sendPreflight(request, response);
  const asked = (await readJson(request)) as { id?: unknown; method?: string; params?: Params };
  const frame = { jsonrpc: '2.0', id: asked.id ?? null };
  const method = Object.entries(answers).find(([name]) => name === asked.method);
  try {
    if (method === undefined)
      return sendJson(response, 200, {
        ...frame,
        error: { code: UNKNOWN_METHOD, message: 'Method not found' },
      });
    const [name, answer] = method;
    const result = await answer(asked.params ?? { transaction: '' });
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

/** Lamports that the transaction takes from the relayer, with its margin. */
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
  const mint = Object.values(SANDBOX_MINTS).find((one) => one.address === address);
  if (mint === undefined) throw new Refusal('Unsupported fee token.');
  return mint;
}

const picoOf = (lamports: bigint): bigint => lamports * SANDBOX_MINTS.SOL.picoUsd;

const inToken = (lamports: bigint, { picoUsd }: SandboxMint): bigint =>
  (picoOf(lamports) + picoUsd - 1n) / picoUsd;

const TRANSFER_CHECKED = 12;

/** Lamports that the transaction's transfers to the relayer are worth. */
async function paidIn({ payTo }: World, { messageBytes }: Transaction): Promise<bigint> {
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (message.version !== 0) throw new Refusal('Invalid transaction: not version 0.');
  // By account: a mint may be named through a lookup table.
  const own = new Map<string | undefined, bigint>();
  for (const { address, tokenProgram, picoUsd } of Object.values(SANDBOX_MINTS))
    own.set(await associatedTokenAccount(payTo, address, tokenProgram), picoUsd);
  let pico = 0n;
  for (const { accountIndices = [], data } of message.instructions) {
    if (data?.[0] !== TRANSFER_CHECKED || data.length !== 10) continue;
    const price = own.get(message.staticAccounts[accountIndices[2] ?? -1]) ?? 0n;
    pico += new DataView(Uint8Array.from(data).buffer).getBigUint64(1, true) * price;
  }
  return pico / SANDBOX_MINTS.SOL.picoUsd;
}

async function signature(key: KeyPairSigner, message: ReadonlyUint8Array): Promise<Uint8Array> {
  return Uint8Array.from(await signBytes(key.keyPair.privateKey, message));
}

/** Wire bytes with the relayer's signature; the others are still missing. */
async function signAs(key: KeyPairSigner, message: ReadonlyUint8Array): Promise<Uint8Array> {
  const { header } = getCompiledTransactionMessageDecoder().decode(message);
  const slots = new Uint8Array(64 * header.numSignerAccounts);
  slots.set(await signature(key, message));
  return Uint8Array.from([header.numSignerAccounts, ...slots, ...message]);
}
