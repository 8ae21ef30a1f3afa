import { base64 } from '../../src/internal/bytes.js';
import { maxAmount } from '../../src/amount.js';
import { connectTo } from '../../src/config/connect.js';
import type { LocalSettings } from '../../src/config/options.js';
import { parseSwapRequest, type ResolvedRequest } from '../../src/config/swap-request.js';
import { isExactChangeError } from '../../src/errors.js';
import { untilAborted } from '../../src/internal/abort.js';
import { refuse } from '../../src/internal/options.js';
import { createPrices } from '../../src/payments/memory.js';
import { readMint } from '../../src/policy/read.js';
import { autoPayStep } from '../../src/service/auto-pay.js';
import { parsedPayment } from '../../src/service/parse-payment.js';
import { createRecordedAutoPay } from '../../src/service/recorded-auto-pay.js';
import { resultOf } from '../../src/service/signed-step.js';
import { batchAccounts } from '../../src/solana/rpc/batch-accounts.js';
import { createBlockhashSource } from '../../src/solana/rpc/blockhash.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { assembleTransaction } from '../../src/solana/transactions/transaction.js';
import type { Address } from '../../src/solana/types.js';
import type { SwapProvider, SwapSource } from '../../src/swaps/provider.js';
import { firstRoute } from '../../src/swaps/quote/first-route.js';
import { sizeExactIn } from '../../src/swaps/quote/sizing.js';
import { decodersOf, swapSources } from '../../src/swaps/sources.js';
import { priorityFee } from '../../src/swaps/transaction/budget.js';
import { swapLimits } from '../../src/swaps/transaction/finish.js';
import { boundsOf, prepareSwap } from '../../src/swaps/transaction/prepare.js';
import type { SwapQuote } from '../../src/swaps/types.js';
import type { Transport } from '../../src/transport.js';
import { checkOrder, checkWallet } from '../check-order.js';
import { allBalances, balancesOf, type AccountReads } from './balance.js';

// Some providers quote only for a taker. Without a known wallet, the taker is this address, which
// is no wallet. The swap itself is built for the caller's wallet.
const NO_WALLET = '1nc1nerator11111111111111111111111111111111';

/** @internal All operations of a transport. It is local, so it also has `swapInstruction`. */
export interface LocalOperations extends Required<Omit<Transport, 'distant'>> {
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** The parts that a client shares with its transport. */
export interface ClientParts {
  readonly rpc: Rpc;
  readonly sources: readonly SwapSource[] | undefined;
  readonly wallet: Address;
}

/**
 * @internal Returns the operations of the local transport. Loaded with web3.js by the first call.
 */
export async function createOperations(
  settings: LocalSettings,
  clientParts?: ClientParts,
): Promise<LocalOperations> {
  const { network, policy, runtime } = settings;
  const {
    rpc = connectTo(settings),
    sources = swapSources,
    wallet: taker = NO_WALLET,
  } = clientParts ?? {};
  const decoders = decodersOf(sources);
  const provider = firstRoute(
    await Promise.all(sources.map(({ connect }) => connect(settings, taker))),
  );
  const blockhashes = createBlockhashSource(rpc, runtime);
  // Only `balance` uses these batched reads. Decisions about money read accounts by themselves.
  const reads: AccountReads = {
    accounts: batchAccounts(rpc, runtime),
    tokenAccounts: (owner, options) => rpc.tokenAccounts(owner, options),
  };
  const operations: LocalOperations = {
    quote: (request, options) =>
      quote(provider, parseSwapRequest(request, settings), options?.signal),
    async buildSwap({ wallet, quote: swapQuote }, options) {
      checkOrder(wallet, swapQuote);
      const order = {
        bounds: boundsOf(swapQuote),
        build: (signal?: AbortSignal) => provider.build(swapQuote, wallet, signal),
        signal: options?.signal,
      };
      const limits = swapLimits(policy);
      const { message, compute, lifetime } = await prepareSwap(
        { decoders, rpc, blockhashes, limits },
        wallet,
        order,
      );
      return {
        transaction: base64.encode(assembleTransaction(message, new Map())),
        lastValidBlockHeight: lifetime.lastValidBlockHeight.toString(),
        quote: swapQuote,
        computeUnitLimit: compute.unitLimit,
        priorityFeeLamports: priorityFee(compute).toString(),
      };
    },
    async swapInstruction({ wallet, quote: swapQuote }, options) {
      checkOrder(wallet, swapQuote);
      return provider.build(swapQuote, wallet, options?.signal);
    },
    async balance({ wallet, mint }, options) {
      checkWallet(wallet);
      const signal = { signal: options?.signal };
      if (mint === undefined) return allBalances(reads, wallet, runtime, signal);
      const mints: unknown = typeof mint === 'string' ? [mint] : mint;
      if (!Array.isArray(mints)) throw refuse('mint', 'must be a mint or a list of mints.');
      const addresses = mints.map((text: unknown) => readMint('mint', text, network));
      return balancesOf(reads, wallet, addresses, signal);
    },
    parsePayment: (parts) => Promise.resolve(parsedPayment(parts, network)),
    autoPay(request, { signal } = {}) {
      const step = recorded?.step(request, signal) ?? autoPayStep(deps(), request, signal);
      // Calls of the journal have no signal.
      return untilAborted(resultOf(request, step), signal);
    },
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
  let none: unknown;
  try {
    return await provider.quote({ ...common, amount, swapMode }, signal);
  } catch (error) {
    if (!isExactChangeError(error, 'no_route')) throw error;
    none = error;
  }
  // The proceeds of selling the output are about its price: a first guess for the input amount. They
  // are 0 for an output that is worth less than one base unit of the input.
  const intent = { inputMint: outputMint, outputMint: inputMint, slippageBps, amount } as const;
  const reverse = await provider
    .quote({ ...intent, swapMode: 'ExactIn' }, signal)
    .catch((error: unknown) => {
      // Of both pairs, name the pair of the swap.
      throw isExactChangeError(error, 'no_route') ? none : error;
    });
  const seedIn = maxAmount(BigInt(reverse.outAmount), 1n);
  return sizeExactIn(provider, { ...common, target: amount, seedIn }, signal);
}
