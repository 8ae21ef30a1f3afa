import { base64 } from '../../src/internal/bytes.js';
import { U64_MAX } from '../../src/amount.js';
import { connectTo } from '../../src/config/connect.js';
import type { LocalSettings } from '../../src/config/options.js';
import {
  parseMint,
  parseSwapRequest,
  type ResolvedRequest,
} from '../../src/config/swap-request.js';
import { isExactChangeError } from '../../src/errors.js';
import { createPrices } from '../../src/payments/memory.js';
import { autoPayStep } from '../../src/service/auto-pay.js';
import { parsedPayment } from '../../src/service/parse-payment.js';
import { createRecordedAutoPay } from '../../src/service/recorded-auto-pay.js';
import { batchAccounts } from '../../src/solana/rpc/batch-accounts.js';
import { createBlockhashSource } from '../../src/solana/rpc/blockhash.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { assembleTransaction } from '../../src/solana/transactions/transaction.js';
import type { Address } from '../../src/solana/types.js';
import type { SwapProvider, SwapSource } from '../../src/swaps/provider.js';
import { firstRoute } from '../../src/swaps/quote/first-route.js';
import { quoteExactOutput } from '../../src/swaps/quote/sizing.js';
import { decodersOf, swapSources } from '../../src/swaps/sources.js';
import { priorityFee } from '../../src/swaps/transaction/budget.js';
import { swapLimits } from '../../src/swaps/transaction/finish.js';
import { boundsOf, prepareSwap } from '../../src/swaps/transaction/prepare.js';
import type { SwapQuote } from '../../src/swaps/types.js';
import type { Transport } from '../../src/transport.js';
import { checkOrder, checkWallet } from '../check-order.js';
import { allBalances, balancesOf, type AccountReads } from './balance.js';

// Some quotes are given to a taker only; before one is known, an address of no wallet is given.
// What is built is built for the wallet.
const NO_WALLET = '1nc1nerator11111111111111111111111111111111';

/** @internal It has the instruction of a swap at hand, and is not distant. */
export interface LocalOperations extends Required<Omit<Transport, 'distant'>> {
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** What a client has at hand already. */
export interface GivenParts {
  readonly rpc: Rpc;
  readonly sources: readonly SwapSource[] | undefined;
  readonly wallet: Address;
}

/**
 * @internal The operations of the local transport, loaded with web3.js and the rest when first
 *   needed.
 */
export async function createOperations(
  settings: LocalSettings,
  given?: GivenParts,
): Promise<LocalOperations> {
  const { network, policy, runtime } = settings;
  const {
    rpc = connectTo(settings),
    sources = swapSources,
    wallet: taker = NO_WALLET,
  } = given ?? {};
  const decoders = decodersOf(sources);
  const provider = firstRoute(
    await Promise.all(sources.map(({ connect }) => connect(settings, taker))),
  );
  const blockhashes = createBlockhashSource(rpc, runtime);
  // For balances that are asked for alone. What decides on money reads for itself.
  const reads: AccountReads = {
    accounts: batchAccounts(rpc, runtime),
    tokenAccounts: (owner, options) => rpc.tokenAccounts(owner, options),
  };
  const operations: LocalOperations = {
    quote: (request, options) =>
      quote(provider, parseSwapRequest(request, settings), options?.signal),
    async buildSwap({ wallet, quote: asked }, options) {
      checkOrder(wallet, asked);
      const order = {
        bounds: boundsOf(asked),
        build: (signal?: AbortSignal) => provider.build(asked, wallet, signal),
        signal: options?.signal,
      };
      const limits = swapLimits(policy);
      const { message, compute, lifetime } = await prepareSwap(
        { decoders, rpc, runtime, blockhashes, limits },
        wallet,
        order,
      );
      return {
        transaction: base64.encode(assembleTransaction(message, new Map())),
        lastValidBlockHeight: lifetime.lastValidBlockHeight.toString(),
        quote: asked,
        computeUnitLimit: compute.unitLimit,
        priorityFeeLamports: priorityFee(compute).toString(),
      };
    },
    async swapInstruction({ wallet, quote: asked }, options) {
      checkOrder(wallet, asked);
      return provider.build(asked, wallet, options?.signal);
    },
    async balance({ wallet, mint }, options) {
      checkWallet(wallet);
      const signal = { signal: options?.signal };
      if (mint === undefined) return allBalances(reads, wallet, signal);
      const mints = (typeof mint === 'string' ? [mint] : mint).map((one) =>
        parseMint('mint', one, network),
      );
      return balancesOf(reads, wallet, mints, signal);
    },
    parsePayment: (parts) => Promise.resolve(parsedPayment(parts, network)),
    autoPay: (request, options) =>
      recorded === undefined
        ? autoPayStep(deps(), request, options?.signal)
        : recorded.step(request, options?.signal),
    resume: async () => recorded?.resume(),
    async close() {
      await recorded?.close();
      rpc.close();
    },
  };
  const tokenPrices = createPrices();
  const deps = () => ({ settings, sources, rpc, transport: operations, tokenPrices });
  const recorded =
    settings.journal === undefined ? undefined : createRecordedAutoPay(deps(), settings.journal);
  return operations;
}

async function quote(
  provider: SwapProvider,
  request: ResolvedRequest,
  signal: AbortSignal | undefined,
): Promise<SwapQuote> {
  const { inputMint, outputMint, slippageBps, swapMode, maxAccounts } = request;
  const amount = BigInt(request.amount);
  const common = {
    inputMint,
    outputMint,
    slippageBps,
    ...(maxAccounts === undefined ? {} : { maxAccounts }),
  };
  if (swapMode === 'ExactIn') return provider.quote({ ...common, amount, swapMode }, signal);
  try {
    return await provider.quote({ ...common, amount, swapMode }, signal);
  } catch (error) {
    if (!isExactChangeError(error, 'no_route')) throw error;
  }
  // What selling the output would bring is about what it costs: a first guess for sizing the input.
  const reverse = await provider.quote(
    { inputMint: outputMint, outputMint: inputMint, slippageBps, amount, swapMode: 'ExactIn' },
    signal,
  );
  return quoteExactOutput(
    { ...provider, supportsExactOut: false },
    { ...common, target: amount, maxIn: U64_MAX, seedIn: BigInt(reverse.outAmount) },
    signal,
  );
}
