import { base58 } from '@scure/base';
import type { SignedSwap } from '../../src/journal/types.js';
import { COMPUTE_BUDGET_PROGRAM, SYSTEM_PROGRAM, WSOL_MINT } from '../../src/network.js';
import { refuse } from '../../src/policy/read.js';
import { decodeTokenAccount } from '../../src/solana/accounts.js';
import { verifySignature } from '../../src/solana/keys.js';
import type { Rpc } from '../../src/solana/rpc.js';
import { assembleTransaction, decodeTransaction, type DecodedTransaction } from '../../src/solana/transaction.js';
import { SIGNATURE_LAMPORTS } from '../../src/swap/budget.js';
import { extractSwap } from '../../src/swap/firewall/extract.js';
import { decodeSwap } from '../../src/swap/firewall/layout.js';
import { priorityFeeOf } from '../../src/swap/firewall/compute-budget.js';

/** A swap that the wallet signed. */
export interface SignedBytes {
  readonly bytes: Uint8Array;
  readonly decoded: DecodedTransaction;
  /** Base58. */
  readonly signature: string;
}

/** Throws `invalid_option` where the wallet has not signed it as the one who pays its fee. */
export function readSigned(wallet: string, bytes: Uint8Array): SignedBytes {
  const decoded = decodeTransaction(bytes);
  const [signature] = decoded?.signatures ?? [];
  if (decoded?.staticAccounts[0] !== wallet || signature === undefined || !verifySignature(decoded.message, signature, wallet)) {
    throw refuse('signedSwap', 'must be the transaction of the step before, signed by the wallet.');
  }
  return { bytes, decoded, signature: base58.encode(signature) };
}

/** What a swap is about, by what its transaction says. */
export interface ReadSwap {
  readonly inputMint: string;
  readonly outputMint: string;
  /** The wallet's token accounts that it takes from and brings to. */
  readonly source: string;
  readonly output: string;
  readonly quoted: SignedSwap['quoted'];
  /** Base units that it takes at most, and brings at least. */
  readonly maxIn: bigint;
  readonly minOut: bigint;
  /** Network and priority fee in lamports, at most. */
  readonly feeLamports: bigint;
}

/** Reads a signed swap. Throws `unsafe_swap` where it is no transaction with one swap of Jupiter, `invalid_option` where that is not the wallet's. */
export async function readSwap(rpc: Rpc, wallet: string, { decoded }: SignedBytes, signal: AbortSignal | undefined): Promise<ReadSwap> {
  const [first] = decoded.instructions;
  // A transaction counts by a nonce where its first instruction advances one: it could land for as long as somebody likes.
  if (first === undefined || decoded.staticAccounts[first.programIndex] === SYSTEM_PROGRAM)
    throw refuse('signedSwap', 'must not begin with an instruction of the System program.');
  const { instruction } = await extractSwap(rpc, assembleTransaction(decoded.message, new Map()), wallet, { signal });
  const feeLamports = feeOf(decoded);
  const call = decodeSwap(instruction);
  if (call?.user !== wallet) throw refuse('signedSwap', 'must be a swap of the wallet.');
  const { source, destinationMint: outputMint, destination: output, inAmount, outAmount, maxIn, minOut } = call;
  const quoted = { inAmount: inAmount.toString(), outAmount: outAmount.toString(), feeLamports: feeLamports.toString() };
  const inputMint = call.sourceMint ?? (await mintOf(rpc, source, signal));
  return { inputMint, outputMint, source, output, quoted, maxIn, minOut, feeLamports };
}

/** Network and priority fee at most. Throws `invalid_option` if the transaction does not say it in the way of a swap. */
function feeOf({ instructions, staticAccounts }: DecodedTransaction): bigint {
  const budget = instructions
    .filter(({ programIndex }) => staticAccounts[programIndex] === COMPUTE_BUDGET_PROGRAM)
    .map(({ data }) => ({ program: COMPUTE_BUDGET_PROGRAM, accounts: [], data }));
  const priority = priorityFeeOf(budget);
  if (priority === undefined) throw refuse('signedSwap', 'must have a compute budget that can be read.');
  return SIGNATURE_LAMPORTS + priority;
}

/** Of which mint an account is; one that is not there yet is made by the swap, for the SOL that it sells. */
async function mintOf(rpc: Rpc, account: string, signal: AbortSignal | undefined): Promise<string> {
  const [found = null] = (await rpc.accounts([account], { signal })).accounts;
  return (found === null ? undefined : decodeTokenAccount(found)?.mint) ?? WSOL_MINT;
}
