import { WSOL_MINT } from '../../network.js';
import type { Signer, SigningIntent } from '../../solana/signer.js';
import { ACCOUNT_BYTES } from '../../solana/tokens/accounts.js';
import type { Address, Lifetime } from '../../solana/types.js';
import { checkSwap, type Relay, type SwapExpectation } from '../firewall/swap-rules.js';
import { relayFeeIn } from '../firewall/relay.js';
import { checkComposed } from '../firewall/self-check.js';
import { fetchLookupTables } from '../firewall/tables.js';
import type { SwapBuild } from '../provider.js';
import type { SwapQuote } from '../types.js';
import { readWallet } from '../accounts/read-wallet.js';
import { readMarket, readRents } from './read-market.js';
import type { ComputeBudget } from './budget.js';
import { composeSwap } from './compose.js';
import { finish, larger, type Finished, type FinishInput } from './finish.js';
import { nothingReserved, type ReservedAmounts, type SwapFacts } from './plan.js';
import { signMessage } from './sign.js';

export interface SwapDeps extends Pick<FinishInput, 'rpc' | 'decoders' | 'blockhashes' | 'limits'> {
  readonly signer: Signer;
  /** CAIP-2. */
  readonly network: string;
}

/** Bounds on what a swap may take and must bring. */
export type SwapBounds = Pick<
  SwapExpectation,
  'inputMint' | 'outputMint' | 'maxIn' | 'minOut' | 'slippageBps'
>;

export interface SwapOrder {
  readonly bounds: SwapBounds;
  readonly build: (signal?: AbortSignal) => Promise<SwapBuild>;
  /** Whether an output of wrapped SOL stays wrapped, because a payment is made in it. */
  readonly keepWrapped?: boolean | undefined;
  /** Called before signing; if it rejects, the swap is not signed. */
  readonly onPlanned?: ((expected: SwapOutlook) => Promise<void>) | undefined;
  /** Amounts that our other transactions may still take; read before and after the chain is. */
  readonly reserved?: (() => ReservedAmounts | Promise<ReservedAmounts>) | undefined;
  /** The relayer that pays the lamports of the swap, if the wallet does not. */
  readonly relay?: Relay | undefined;
  /** Whether the guard has no leeway: the swap fails if a `reserved` amount leaves meanwhile. */
  readonly isStrict?: boolean | undefined;
  /**
   * Whether payments may begin while the swap lands, from the whole balance of the output. The
   * signed guard lets that balance be missing. The simulated guard does not, so that a venue must
   * bring all that was agreed. The caps count the balance as taken.
   */
  readonly beside?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Bounds and costs of a prepared transaction. Amounts in base units or lamports. */
export interface SwapOutlook extends SwapBounds {
  readonly source: Address;
  readonly output: Address;
  /** Balance of the source before the swap: base units, or the wallet's lamports if it sells SOL. */
  readonly before: { readonly amount: bigint; readonly slot: number };
  /** Amounts that the guard lets be missing, because payments in flight may take them. */
  readonly leeway: ReservedAmounts;
  /** Base units that the output account held before the swap. */
  readonly outputBefore: bigint;
  readonly relay?: Relay | undefined;
  /** Paid by the wallet; 0n, like the priority fee and the rent, if a relayer pays. */
  readonly networkFeeLamports: bigint;
  readonly priorityFeeLamports: bigint;
  /** Rent of accounts that stay. */
  readonly rentLamports: bigint;
}

export interface PreparedSwap {
  /** The serialized v0 message, unsigned. */
  readonly message: Uint8Array;
  readonly lifetime: Lifetime;
  readonly compute: ComputeBudget;
  readonly expected: SwapOutlook;
}

export interface SignedSwap {
  /** Signed wire bytes. Nothing has been sent. */
  readonly bytes: Uint8Array;
  /** Base58: the transaction's id, which is the fee payer's signature. */
  readonly signature: string;
  /** Base58: the wallet's own signature. */
  readonly payerSignature: string;
  readonly lifetime: Lifetime;
  readonly expected: SwapOutlook;
}

/** Returns the bounds that a quote promises. */
export function boundsOf(quote: SwapQuote): SwapBounds {
  const { inputMint, outputMint, slippageBps } = quote;
  return {
    inputMint,
    outputMint,
    slippageBps,
    maxIn: BigInt(quote.maxInAmount),
    minOut: BigInt(quote.minOutAmount),
  };
}

/**
 * Builds, checks, composes and simulates a swap without signing it. Throws what the provider
 * throws, `unsafe_swap`, `transaction_too_large` (quote again with fewer accounts:
 * `maxAccountsLadder`), `insufficient_funds`, `insufficient_sol`, `account_unusable`,
 * `unknown_mint`, `mint_not_supported`, `fees_over_limit`, `simulation_failed` or
 * `self_check_failed`. Signs and sends nothing.
 */
export async function prepareSwap(
  deps: Omit<SwapDeps, 'signer' | 'network'>,
  wallet: Address,
  order: SwapOrder,
): Promise<PreparedSwap> {
  const { rpc, decoders } = deps;
  const { bounds, keepWrapped = false, isStrict = false, beside = false, relay } = order;
  const options = { signal: order.signal };
  const readReserved = async () => order.reserved?.() ?? nothingReserved;
  const before = await readReserved();
  const [{ legs, lamports, slot }, build] = await Promise.all([
    readWallet(rpc, wallet, [bounds.inputMint, bounds.outputMint], options),
    order.build(order.signal),
    // Ask early for rents that `readRents` may need later: the connection keeps these answers.
    rpc.rent(0, options),
    rpc.rent(ACCOUNT_BYTES, options),
  ]);
  const [input, output] = legs;
  if (input === undefined || output === undefined) throw new TypeError('a leg was not read');
  const expected: SwapExpectation = {
    decoders,
    wallet,
    ...bounds,
    relay,
    inputProgram: input.mint.tokenProgram,
    outputProgram: output.mint.tokenProgram,
  };
  const { instruction } = build;
  checkSwap(instruction, expected);
  const later = { ...options, minContextSlot: slot };
  // The first simulation does not wait for the price and the exposure; the signed transaction does.
  const unitPrice = readMarket(rpc, wallet, instruction, [input, output], later);
  unitPrice.catch(() => undefined);
  const [{ walletMinimum, ...rents }, lookupTables] = await Promise.all([
    readRents(rpc, wallet, [input, output], later),
    fetchLookupTables(rpc, build.lookupTables, options),
  ]);
  const facts = { source: input.account, output: output.account, lamports, ...rents };
  const finished = await finish({
    ...{ ...deps, options, unitPrice, beside },
    // A wallet that pays no fee may be empty.
    walletMinimum: relay === undefined ? walletMinimum : 0n,
    readAt: slot,
    // A transaction of ours may land while the chain is read, unseen by that read.
    reserved: async () => larger(before, await readReserved()),
    compose: (compute, blockhash, reserved) => {
      const { plan, ...composed } = composeSwap({
        ...{ expected, instruction, keepWrapped, compute, blockhash, lookupTables },
        facts: { ...facts, reserved, leeway: isStrict ? nothingReserved : reserved },
      });
      return { ...composed, ...plan };
    },
  });
  const { message, floors } = finished.draft;
  const maxPriorityFee = deps.limits.maxPriorityFeeLamports;
  checkComposed(message, { expected, instruction, floors, lookupTables, maxPriorityFee });
  return prepared(finished, { ...bounds, relay }, facts, slot);
}

/**
 * Prepares a swap and has the wallet sign it; sends nothing. Throws what {@link prepareSwap}
 * throws, and `signing_failed`.
 */
export async function signSwap(deps: SwapDeps, order: SwapOrder): Promise<SignedSwap> {
  const { signer, network } = deps;
  const { message, lifetime, expected } = await prepareSwap(deps, signer.address, order);
  await order.onPlanned?.(expected);
  const intent = intentOf(network, expected);
  return { ...(await signMessage(signer, message, intent, order.signal)), lifetime, expected };
}

/** Returns the most that a swap takes and the least that it brings, with the relayer's fee. */
export function swappedAtMost(
  expected: Pick<SwapOutlook, 'inputMint' | 'outputMint' | 'maxIn' | 'minOut' | 'relay'>,
): { readonly maxIn: bigint; readonly minOut: bigint } {
  const { inputMint, outputMint, maxIn, minOut } = expected;
  return {
    maxIn: maxIn + relayFeeIn(expected, inputMint),
    minOut: minOut - relayFeeIn(expected, outputMint),
  };
}

export function intentOf(network: string, expected: SwapOutlook): SigningIntent {
  const { inputMint, outputMint } = expected;
  const { maxIn, minOut } = swappedAtMost(expected);
  const amounts = { maxInAmount: maxIn.toString(), minOutAmount: minOut.toString() };
  return { kind: 'swap', network, inputMint, outputMint, ...amounts };
}

/** @param readAt - The slot as of which the wallet was read. */
function prepared(
  { draft, compute, lifetime }: Finished,
  bounds: SwapBounds & Pick<SwapOrder, 'relay'>,
  facts: Omit<SwapFacts, 'reserved' | 'leeway'>,
  readAt: number,
): PreparedSwap {
  const expected: SwapOutlook = {
    ...bounds,
    source: facts.source.address,
    output: facts.output.address,
    before: {
      amount: bounds.inputMint === WSOL_MINT ? facts.lamports : facts.source.balance,
      slot: readAt,
    },
    leeway: draft.leeway,
    outputBefore: facts.output.balance,
    networkFeeLamports: draft.budget.networkFee,
    priorityFeeLamports: draft.budget.priorityFee,
    rentLamports: draft.budget.rent,
  };
  return { message: draft.message, compute, expected, lifetime };
}
