import { base58 } from '../internal/bytes.js';
import { refuse } from '../internal/options.js';
import type { SignedSwap } from '../journal/types.js';
import { WSOL_MINT } from '../network.js';
import { COMPUTE_BUDGET_PROGRAM, SYSTEM_PROGRAM } from '../solana/programs.js';
import type { PaymentContext } from '../payments/context.js';
import type { SwapTaking } from '../payments/plan/swap-cost-bound.js';
import { verifySignature } from '../solana/keys.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import { decodeTokenAccount } from '../solana/tokens/decode.js';
import { SIGNATURE_LAMPORTS } from '../solana/transactions/compile.js';
import {
  assembleTransaction,
  decodeTransaction,
  type DecodedTransaction,
} from '../solana/transactions/transaction.js';
import { costsOf } from '../swaps/firewall/outlay.js';
import { readCreationCosts, readTemporary } from '../swaps/firewall/read-temporary.js';
import { checkSwap } from '../swaps/firewall/swap-rules.js';
import { priorityFeeOf } from '../swaps/firewall/compute-budget.js';
import { decodeSwap, decoderOf } from '../swaps/firewall/decoders.js';
import { onOwnAccount, readForeign } from '../swaps/firewall/extract.js';
import { enforce } from '../swaps/firewall/rule.js';
import { createdIn, surroundingsRules } from '../swaps/firewall/surroundings.js';
import { decodersOf } from '../swaps/sources.js';
import { swapLimits } from '../swaps/transaction/finish.js';
import { readRawWallet } from '../swaps/accounts/read-wallet.js';

export interface SignedBytes {
  readonly bytes: Uint8Array;
  readonly decoded: DecodedTransaction;
  /** Signature of the wallet in base58. */
  readonly signature: string;
}

/**
 * Decodes a signed transaction. Throws `invalid_option` unless the wallet signed it, and pays the
 * fee of a swap.
 */
export async function readSigned(
  option: 'signedSwap' | 'signedPayment',
  wallet: string,
  bytes: Uint8Array,
): Promise<SignedBytes> {
  const decoded = decodeTransaction(bytes);
  const position = decoded?.staticAccounts.indexOf(wallet) ?? -1;
  const signature = decoded?.signatures[position];
  if (
    decoded === undefined ||
    signature === undefined ||
    (option === 'signedSwap' && position > 0) ||
    !(await verifySignature(decoded.message, signature, wallet))
  )
    throw refuse(option, 'must be the transaction of the step before, signed by the wallet.');
  return { bytes, decoded, signature: base58.encode(signature) };
}

export type ReadSwap = Pick<
  SignedSwap,
  'inputMint' | 'outputMint' | 'source' | 'output' | 'provider' | 'quoted'
> &
  Pick<SwapTaking, 'maxIn' | 'minOut' | 'lamports'>;

/**
 * Reads a signed swap. Throws `invalid_option` if the swap is not the wallet's. Throws
 * `unsafe_swap` unless the transaction has one swap and only the instructions that belong to it:
 * the budget would not count other instructions that take tokens.
 */
export async function readSwap(
  { rpc, config, sources }: PaymentContext,
  { decoded }: SignedBytes,
  signal: AbortSignal | undefined,
): Promise<ReadSwap> {
  const wallet = config.signer.address;
  const decoders = decodersOf(sources);
  const [first] = decoded.instructions;
  // A transaction uses a durable nonce if its first instruction advances the nonce. It would never
  // expire.
  if (first === undefined || decoded.staticAccounts[first.programIndex] === SYSTEM_PROGRAM)
    throw refuse('signedSwap', 'must not begin with an instruction of the System program.');
  const foreign = await readForeign(rpc, assembleTransaction(decoded.message, new Map()), wallet, {
    signal,
    decoders,
  });
  const call = decodeSwap(decoders, onOwnAccount(foreign, wallet));
  if (call?.user !== wallet) throw refuse('signedSwap', 'must be a swap of the wallet.');
  const {
    source,
    destinationMint: outputMint,
    destination: output,
    inAmount,
    outAmount,
    maxIn,
    minOut,
    slippageBps,
  } = call;
  const inputMint = call.sourceMint ?? (await mintOf(rpc, source, signal));
  const { slot: minContextSlot, legs } = await readRawWallet(
    rpc,
    wallet,
    [inputMint, outputMint, WSOL_MINT],
    { signal },
  );
  const [input, bought] = legs;
  if (input === undefined || bought === undefined) throw new TypeError('a leg was not read');
  const temporary = await readTemporary(rpc, foreign.temporary, {
    signal,
    minContextSlot,
  });
  const programs = {
    inputProgram: input.token.tokenProgram,
    outputProgram: bought.token.tokenProgram,
  };
  const expected = {
    decoders,
    wallet,
    inputMint,
    outputMint,
    ...programs,
    maxIn,
    minOut,
    slippageBps,
    temporary: temporary?.leg.address,
  };
  const { instructions, swapAt } = foreign;
  const { maxPriorityFeeLamports: maxPriorityFee } = swapLimits(config.policy);
  enforce(surroundingsRules, { instructions, swapAt, expected, maxPriorityFee, temporary });
  checkSwap(foreign.swap, expected);
  const makings = await readCreationCosts(
    rpc,
    wallet,
    createdIn({ instructions, swapAt, expected }),
    legs,
    { signal },
  );
  const rents = new Map([...makings].map(([address, { takes }]) => [address, takes]));
  const { networkFee, priorityFee, rent } = costsOf({ instructions, swapAt, expected }, rents);
  const fee = networkFee + priorityFee;
  const quoted = {
    inAmount: inAmount.toString(),
    outAmount: outAmount.toString(),
    feeLamports: fee.toString(),
  };
  const provider = decoderOf(decoders, foreign.swap.program)?.id ?? 'unknown';
  return {
    ...{ inputMint, outputMint, source, output, provider, quoted },
    ...{ maxIn, minOut, lamports: fee + rent },
  };
}

/** Returns the highest network and priority fee, as far as the compute budget can be read. */
export function mostFee({ header, instructions, staticAccounts }: DecodedTransaction): bigint {
  const budget = instructions
    .filter(({ programIndex }) => staticAccounts[programIndex] === COMPUTE_BUDGET_PROGRAM)
    .map(({ data }) => ({ program: COMPUTE_BUDGET_PROGRAM, accounts: [], data }));
  return SIGNATURE_LAMPORTS * BigInt(header.numRequiredSignatures) + (priorityFeeOf(budget) ?? 0n);
}

/**
 * Returns the mint of a token account. A missing account counts as wrapped SOL: the swap creates it
 * for the SOL that it sells.
 */
async function mintOf(rpc: Rpc, account: string, signal: AbortSignal | undefined): Promise<string> {
  const [found = null] = (await rpc.accounts([account], { signal })).accounts;
  return (found === null ? undefined : decodeTokenAccount(found)?.mint) ?? WSOL_MINT;
}
