/**
 * The client, the interceptor, and the helpers and types that callers need.
 *
 * @module exact-change
 */
import { createClient } from './create-client.js';
import { Interceptor, type InterceptorOptions } from './interceptor.js';

/**
 * Makes the global fetch pay. The constructor takes effect at once, unless `install` is false.
 * `restore()` or `using` undoes it, also if other code has wrapped fetch since.
 *
 * Throws `ConfigError` (`invalid_option`, `invalid_key`) at once if the options are wrong.
 *
 * @example
 * new HTTPInterceptor({ walletSecretKey, autoSwap: true });
 * const response = await fetch('https://api.example.com/premium');
 */
export class HTTPInterceptor extends Interceptor {
  constructor(options: InterceptorOptions) {
    super(options, createClient);
  }
}

export { createClient };
export { local, type LocalTransport } from '../adapters/local/index.js';
export { remote, type RemoteOptions } from '../adapters/remote/index.js';
export { inspectSwap, type InspectOptions } from './inspect.js';
export {
  receiptOf,
  settled,
  type CostParts,
  type FreedReceipt,
  type Receipt,
  type ReceiptFilter,
  type RelayFee,
  type SwapResult,
} from './receipt.js';
export { explorerUrl, formatReceipt } from './receipt-text.js';
export { memoryJournal } from './memory-journal.js';
export {
  parsePaymentRequired,
  type PaymentRequiredParts,
} from './protocols/x402/parse-payment-required.js';
export { formatUiAmount, parseAmount, parseUiAmount } from './amount.js';
export {
  pinnedMints,
  SOLANA_DEVNET,
  SOLANA_MAINNET,
  SOLANA_TESTNET,
  toNetwork,
  WSOL_MINT,
  type PinnedMint,
} from './network.js';
export {
  ConfigError,
  errorCodes,
  ExactChangeError,
  FundsError,
  isExactChangeError,
  PolicyError,
  ProtocolError,
  QuoteError,
  SettlementError,
  TransactionError,
  TransportError,
  type ErrorCode,
  type ErrorDetails,
  type ErrorInit,
  type Funds,
  type Moved,
  type OfferRefusal,
  type Retry,
} from './errors.js';
export type { Client, PayingRequestInit } from './client.js';
export type { ClientOptions, LocalOptions, RelayerOptions, Timeouts } from './config/options.js';
export type { InterceptorOptions } from './interceptor.js';
export type { SwapOptions } from './payments/engine.js';
export type { Payment, PayOptions } from './payments/pay-header.js';
export type {
  CallName,
  ClientEvent,
  EventDetails,
  EventName,
  Listener,
  Logger,
  StepName,
} from './events.js';
export type { NodeCall } from './solana/rpc/nodes.js';
export type { Fresh, Known } from './journal/account-balance.js';
export type { Reading, Taken } from './journal/account-balance.js';
export type { Ledger } from './journal/balance-ledger.js';
export type { Locks } from './journal/locks.js';
export type { JournalOptions } from './journal/options.js';
export type {
  Endpoint,
  EndpointSecret,
  NextJob,
  Outbox,
  OutboxJob,
  TakeOptions,
  WebhookDetails,
  WebhookEvent,
  WebhookEventName,
} from './outbox/outbox.js';
export type { AttemptState } from './journal/states.js';
export type {
  Along,
  Attempt,
  AttemptFilter,
  CapBlock,
  Claims,
  Coordination,
  Hold,
  Journal,
  KeyTaken,
  Owner,
  SignedPayment,
  SignedSwap,
  SwapAmounts,
  SwapOutcome,
} from './journal/types.js';
export type { CapUse } from './policy/cap-use.js';
export type { Cap, Spend } from './policy/caps.js';
export type { SwapCost, SwapPrices } from './policy/cost.js';
export type { LimitOptions } from './policy/limits.js';
export type { TopUpOptions } from './policy/top-up.js';
export type { ListOptions } from './policy/lists.js';
export type { Plan } from './policy/plan.js';
export type { PolicyOptions } from './policy/policy.js';
export type {
  KeypairObject,
  KitMessageSigner,
  KitModifyingSigner,
  KitSigner,
  KitTransaction,
  KitTransactionSigner,
  MessageSigner,
  Signer,
  SigningIntent,
  TransactionSigner,
} from './solana/signer.js';
export type { AccountMeta, Address, Instruction } from './solana/types.js';
export type { RuleOutcome, SwapVerdict, TokenAmount } from './swaps/firewall/verdict.js';
export type { RuleText } from './swaps/firewall/rule.js';
export type { FirewallStage } from './swaps/firewall/catalog.js';
export type { SwapBuild } from './swaps/provider.js';
export type {
  SwapMode,
  SwapQuote,
  SwapRequest,
  SwapTransaction,
  UiSwapRequest,
} from './swaps/types.js';
export type {
  AutoPayRequest,
  ParsedOffer,
  ParsedPayment,
  PaymentResponseParts,
  PaymentResult,
  TokenBalance,
  Transport,
  TransportOptions,
} from './transport.js';
export type {
  JsonObject,
  JsonValue,
  PaymentRequired,
  PaymentRequirements,
  Settlement,
  X402Version,
} from './protocols/types.js';
