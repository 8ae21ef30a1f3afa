import {
  address,
  appendTransactionMessageInstructions,
  type AccountMeta,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createKeyPairFromBytes,
  createSolanaRpc,
  createTransactionMessage,
  decompileTransactionMessage,
  fetchAddressesForLookupTables,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransaction,
} from '@solana/kit';
import type { MintSymbol, Sandbox, SandboxWallet } from 'exact-change-sandbox';
import { type ChainTransaction, landed, rpc, tokenAmount } from './chain.js';
import { secretBytes } from './payer.js';

/** A request to another swap builder; `body` is merged into the body of its build call. */
export interface SwapWish {
  readonly from: MintSymbol;
  readonly to: MintSymbol;
  /** Base units of the input, or of the output if `exactOut` is set. */
  readonly amount: bigint;
  readonly exactOut?: boolean;
  /** Default 50. */
  readonly slippageBps?: number;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** A transaction that a service built, with the amounts of its quote in base units. */
export interface ForeignSwap {
  /** Base64, unsigned. */
  readonly transaction: string;
  readonly quotedIn: bigint;
  readonly quotedOut: bigint;
  /** Bounds by the threshold in the quote. */
  readonly maxIn: bigint;
  readonly minOut: bigint;
  /** Bounds by the instruction itself, which contains the slippage and no threshold. */
  readonly mostIn: bigint;
  readonly leastOut: bigint;
}

/** Gets a quote and a transaction for it from the aggregator, as wallets do. */
export async function buildForeign(
  sandbox: Sandbox,
  user: string,
  wish: SwapWish,
): Promise<ForeignSwap> {
  const { jupiterUrl, mints } = sandbox;
  const { slippageBps = 50 } = wish;
  const query = new URLSearchParams({
    ...{
      inputMint: mints[wish.from].address,
      outputMint: mints[wish.to].address,
      amount: wish.amount.toString(),
      slippageBps: String(slippageBps),
    },
    ...{ swapMode: wish.exactOut === true ? 'ExactOut' : 'ExactIn', instructionVersion: 'V2' },
  });
  const quoteResponse = await json(await fetch(`${jupiterUrl}/swap/v1/quote?${query.toString()}`));
  const { swapTransaction } = await json(
    await fetch(`${jupiterUrl}/swap/v1/swap`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ userPublicKey: user, quoteResponse, ...wish.body }),
    }),
  );
  const amount = (name: string) => BigInt(String(quoteResponse[name]));
  const [quotedIn, quotedOut, threshold] = [
    amount('inAmount'),
    amount('outAmount'),
    amount('otherAmountThreshold'),
  ];
  const bounds =
    wish.exactOut === true
      ? {
          maxIn: threshold,
          minOut: quotedOut,
          mostIn: (quotedIn * BigInt(10_000 + slippageBps) + 9_999n) / 10_000n,
          leastOut: quotedOut,
        }
      : {
          maxIn: quotedIn,
          minOut: threshold,
          mostIn: quotedIn,
          leastOut: (quotedOut * BigInt(10_000 - slippageBps)) / 10_000n,
        };
  return { transaction: String(swapTransaction), quotedIn, quotedOut, ...bounds };
}

async function json(response: Response): Promise<Record<string, unknown>> {
  // Every answer of the aggregator is an object.
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok)
    throw new Error(`the aggregator answers ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}

const bytesOf = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'));

/** Returns the transaction with other instructions; kit compiles it with the same lookup tables. */
export async function altered(
  { rpcUrl }: Sandbox,
  transaction: string,
  change: (instructions: readonly Instruction[]) => readonly Instruction[],
): Promise<string> {
  const compiled = getCompiledTransactionMessageDecoder().decode(
    getTransactionDecoder().decode(bytesOf(transaction)).messageBytes,
  );
  if (compiled.version !== 0) throw new Error('it is no v0 transaction');
  const names = (compiled.addressTableLookups ?? []).map(
    ({ lookupTableAddress }) => lookupTableAddress,
  );
  const tables = await fetchAddressesForLookupTables(names, createSolanaRpc(rpcUrl));
  const message = decompileTransactionMessage(compiled, {
    addressesByLookupTableAddress: tables,
    lastValidBlockHeight: 2n ** 40n,
  });
  if (!('blockhash' in message.lifetimeConstraint)) throw new Error('it lives on a durable nonce');
  const lifetime = message.lifetimeConstraint;
  const { feePayer, instructions } = message;
  const anew = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(feePayer.address, draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
    (draft) => appendTransactionMessageInstructions(change(instructions), draft),
    (draft) => compressTransactionMessageUsingAddressLookupTables(draft, tables),
  );
  return getBase64EncodedWireTransaction(compileTransaction(anew));
}

/** Makes an instruction from plain bytes. */
export function instruction(
  program: string,
  accounts: readonly AccountMeta[],
  data: readonly number[],
): Instruction {
  return { programAddress: address(program), accounts, data: Uint8Array.from(data) };
}

/** Signs the transaction with the wallet's key by kit, and lands it without a preflight. */
export async function signAndLand(
  { rpcUrl }: Sandbox,
  { secretKey }: SandboxWallet,
  transaction: string,
): Promise<ChainTransaction> {
  const pair = await createKeyPairFromBytes(secretBytes(secretKey));
  const signed = await signTransaction(
    [pair],
    getTransactionDecoder().decode(bytesOf(transaction)),
  );
  const wire = getBase64EncodedWireTransaction(signed);
  await rpc(rpcUrl, 'sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }]);
  return landed(rpcUrl, getSignatureFromTransaction(signed));
}

/**
 * Returns the wallet's lamports and the base units in its associated accounts. `SOL` is wrapped
 * SOL.
 */
export async function possessions(
  sandbox: Sandbox,
  owner: string,
): Promise<Readonly<Record<MintSymbol | 'lamports', bigint>>> {
  const { mints, rpcUrl, chain } = sandbox;
  const amount = (symbol: MintSymbol) => tokenAmount(rpcUrl, owner, mints[symbol]);
  const [SOL, USDC, USDT, PYUSD, BONK] = [
    amount('SOL'),
    amount('USDC'),
    amount('USDT'),
    amount('PYUSD'),
    amount('BONK'),
  ];
  const lamports = chain.account(address(owner))?.lamports ?? 0n;
  return {
    lamports,
    SOL: await SOL,
    USDC: await USDC,
    USDT: await USDT,
    PYUSD: await PYUSD,
    BONK: await BONK,
  };
}
