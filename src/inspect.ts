import { maxAmount, toAmount } from './amount.js';
import type { LocalOptions, LocalSettings } from './config/options.js';
import { parseLocalOptions } from './config/parse-options.js';
import { refuse, refuseUnknown } from './internal/options.js';
import { readAddress, readMint, readUnits, readWhole } from './policy/read.js';
import type { SwapVerdict } from './swaps/firewall/verdict.js';
import { lazyPart } from './internal/load-once.js';

const inspectEngine = /* @__PURE__ */ lazyPart(() => import('./inspect-engine.js'));

/** What a foreign swap transaction is expected to do, and the node that simulates it. */
export interface InspectOptions extends Pick<
  LocalOptions,
  'rpcUrl' | 'wsUrl' | 'connection' | 'network' | 'fetch' | 'timeouts'
> {
  /** The wallet that is asked to sign; base58. */
  readonly wallet: string;
  /** Mint address, or symbol of a pinned mint; `outputMint` too. */
  readonly inputMint: string;
  readonly outputMint: string;
  /**
   * Base units: the most that may leave the wallet. One base unit more passes, because services and
   * programs round a threshold differently.
   */
  readonly maxInAmount: bigint | string;
  /** Base units: the least that must arrive. One less passes, for the same reason, but never 0. */
  readonly minOutAmount: bigint | string;
  /**
   * The most slippage that the instruction may allow itself, in basis points. By default, only the
   * amounts above bound it.
   */
  readonly slippageBps?: number | undefined;
  /**
   * Lamports that network fees may cost, with the fee of the signature; default as
   * `policy.maxFeeLamports`.
   */
  readonly maxFeeLamports?: bigint | string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Judges a swap transaction that another party built, before a wallet signs it: every instruction,
 * account, lookup table and number, then a simulation on the caller's own node. Signs and sends
 * nothing. A hostile or malformed transaction gives a verdict, not an error.
 *
 * Rejects with `ConfigError` (`invalid_option`) if the options are wrong, `FundsError`
 * (`unknown_mint`, `mint_not_supported`, `account_unusable`) if the tokens or the wallet cannot
 * be used at all, `PolicyError` (`fees_over_limit`), and `TransportError` if the node does not
 * answer.
 *
 * @param transaction Base64 or wire bytes of the unsigned transaction.
 *
 * @example
 * const verdict = await inspectSwap(transaction, {
 *   wallet,
 *   inputMint: 'SOL',
 *   outputMint: 'USDC',
 *   maxInAmount: '10000000',
 *   minOutAmount: '1500000',
 * });
 * console.log(verdict.summary);
 * // A simulated transaction can still turn hostile before it lands: sign only with a guard.
 * const toSign =
 *   verdict.accepted && verdict.guarded ? transaction : verdict.recomposed?.transaction;
 */
export async function inspectSwap(
  transaction: string | Uint8Array,
  options: InspectOptions,
): Promise<SwapVerdict> {
  refuseUnknown(options, NAMES);
  const {
    wallet,
    inputMint,
    outputMint,
    maxInAmount,
    minOutAmount,
    slippageBps = 10_000,
    maxFeeLamports,
    signal,
    ...node
  } = options;
  const settings = parseNode(node, maxFeeLamports);
  const [input, output] = [
    readMint('inputMint', inputMint, settings.network),
    readMint('outputMint', outputMint, settings.network),
  ];
  if (input === output) throw refuse('outputMint', 'must be another token than inputMint.');
  const bounds = {
    wallet: readAddress('wallet', wallet, 'the base58 address of a wallet'),
    ...{ inputMint: input, outputMint: output },
    slippageBps: readWhole('slippageBps', slippageBps, 10_000, 'basis points, a whole number'),
    maxIn: parseUnits('maxInAmount', maxInAmount) + ROUNDING,
    minOut: maxAmount(parseUnits('minOutAmount', minOutAmount) - ROUNDING, 1n),
  };
  // Copy the bytes, because the caller may change them between the verdict and the recomposition.
  const copy = transaction instanceof Uint8Array ? Uint8Array.from(transaction) : transaction;
  const { inspectOver } = await inspectEngine(signal);
  return inspectOver(settings, copy, bounds, signal);
}

const NAMES: readonly (keyof InspectOptions)[] = [
  ...(['rpcUrl', 'wsUrl', 'connection', 'network', 'fetch', 'timeouts'] as const),
  ...([
    'wallet',
    'inputMint',
    'outputMint',
    'maxInAmount',
    'minOutAmount',
    'slippageBps',
    'maxFeeLamports',
    'signal',
  ] as const),
];

function parseNode(
  node: LocalOptions,
  maxFeeLamports: InspectOptions['maxFeeLamports'],
): LocalSettings {
  if (maxFeeLamports === undefined) return parseLocalOptions(node);
  return parseLocalOptions({
    ...node,
    policy: { maxFeeLamports: readUnits('maxFeeLamports', maxFeeLamports, 'lamports') },
  });
}

const ROUNDING = 1n;

function parseUnits(option: string, value: unknown): bigint {
  const amount = toAmount(value);
  if (amount === undefined || amount === 0n)
    throw refuse(
      option,
      'must be base units, from 1 to 2^64-1: a bigint or a whole number as text.',
    );
  return amount;
}
