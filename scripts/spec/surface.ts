import type * as exported from '../../src/index.js';
import type { Client } from '../../src/client.js';
import type { ClientOptions, RelayerOptions, Timeouts } from '../../src/config/options.js';
import type { EventDetails, EventName } from '../../src/events.js';
import type { SwapOptions } from '../../src/payments/engine.js';
import type { Payment } from '../../src/payments/pay-header.js';
import type { LimitOptions } from '../../src/policy/limits.js';
import type { TopUpOptions } from '../../src/policy/top-up.js';
import type { ListOptions } from '../../src/policy/lists.js';
import type { Plan } from '../../src/policy/plan.js';
import type { PolicyOptions } from '../../src/policy/policy.js';
import type { FreedReceipt, Receipt, ReceiptFilter, SwapResult } from '../../src/receipt.js';
import type { SwapQuote, SwapRequest } from '../../src/swaps/types.js';

/**
 * Python's counterpart of a TypeScript name: the same name in snake_case (`true`), another name, or
 * the reason why it lacks one. The compiler fails if a new TypeScript name is missing here.
 */
type Place = true | string | { readonly lacks: string };
type Places<Names extends PropertyKey> = Readonly<Record<Names, Place>>;

const socket = 'Python listens to no WebSocket: it polls.';
const service = 'A service is hosted by TypeScript; Python asks one (`Service`, `api_url`).';
const signal = 'A call is given up as Python does: by cancelling its task, or an interrupt.';
const telemetry = 'For OpenTelemetry, which Python has no adapter for.';

const client: Places<keyof Client> = {
  ...{ address: true, plan: true, pay: true, swap: true, quote: true, balance: true, parse: true },
  ...{ receipts: true, resume: true, spent: true, on: true, warm: true, close: true },
  fetch: 'request',
};

const clientOptions: Places<keyof ClientOptions> = {
  ...{ walletSecretKey: true, walletSeed: true, signer: true, apiUrl: true, apiKey: true },
  ...{ rpcUrl: true, jupiterUrl: true, jupiterApiKey: true, network: true, presign: true },
  ...{ autoSwap: true, swapFrom: true, relayer: true, policy: true, journal: true },
  ...{ retryWindow: true, retries: true, timeouts: true, logger: true },
  fetch: 'http_transport',
  wsUrl: { lacks: socket },
  connection: { lacks: 'An object of web3.js.' },
  transport: { lacks: service },
};

const timeouts: Places<keyof Timeouts> = {
  ...{ rpc: true, jupiter: true, service: true, terms: true, payment: true, signer: true },
  journal: true,
};

const relayer: Places<keyof RelayerOptions> = { url: true, apiKey: true, maxFee: true };

const policy: Places<keyof PolicyOptions> = {
  ...{ maxPerPayment: true, maxPerHour: true, maxPerDay: true, maxTotal: true, maxPerHost: true },
  ...{ maxLamportsPerDay: true, maxAmount: true, limits: true, allow: true, deny: true },
  ...{ approve: true, resign: true, maxInAmount: true, minSwap: true, maxSlippageBps: true },
  ...{ maxPriceImpactBps: true, maxSwapLossBps: true, maxFeeLamports: true },
  maxRentLamports: true,
  topUp: true,
};

const limits: Places<keyof LimitOptions> = {
  ...{ usd: true, amount: true, payments: true, swaps: true, lamports: true, per: true },
  ...{ mint: true, host: true, payee: true },
};

const topUp: Places<keyof TopUpOptions> = { token: true, below: true, to: true };

const lists: Places<keyof ListOptions> = {
  ...{ hosts: true, payees: true, mints: true, networks: true, schemes: true },
};

const swapOptions: Places<keyof SwapOptions | keyof SwapRequest | 'uiAmount'> = {
  ...{ inputMint: true, outputMint: true, amount: true, uiAmount: true, swapMode: true },
  ...{ slippageBps: true, maxAccounts: true, counted: true, noWorseThan: true },
  signal: { lacks: signal },
};

const receiptFilter: Places<keyof ReceiptFilter> = {
  ...{ state: true, host: true, payTo: true, mint: true, since: true, until: true },
};

const receipt: Places<keyof Receipt> = {
  ...{ id: true, url: true, method: true, at: true, state: true, payment: true, swap: true },
  ...{ settlement: true, cost: true, timings: true },
};

const paidPayment: Places<keyof Receipt['payment']> = {
  ...{ network: true, mint: true, amount: true, decimals: true, uiAmount: true, symbol: true },
  ...{ payTo: true, payer: true, payerSignature: true, signature: true },
};

const paidSwap: Places<keyof NonNullable<Receipt['swap']>> = {
  ...{ signature: true, inputMint: true, inAmount: true, outputMint: true, outAmount: true },
  ...{ provider: true, relayFee: true },
};

const cost: Places<keyof Receipt['cost']> = {
  ...{ usd: true, parts: true, networkFeeLamports: true, rentLamports: true },
};

const freedReceipt: Places<Exclude<keyof FreedReceipt, 'payment'>> = {
  ...{ id: true, url: true, method: true, at: true, state: true, swap: true, cost: true },
};

const plan: Places<keyof Plan> = {
  ...{ url: true, method: true, status: true, payment: true, swap: true, relayer: true },
  ...{ wrap: true, cost: true, refused: true, maxFeeLamports: true, caps: true },
};

const plannedRelayer: Places<keyof NonNullable<Plan['relayer']>> = {
  ...{ feePayer: true, payTo: true, mint: true, maxAmount: true },
};

const swapResult: Places<keyof SwapResult> = {
  ...{ signature: true, inputMint: true, inAmount: true, outputMint: true, outAmount: true },
  ...{ provider: true, feeLamports: true, relayFee: true },
};

const swapQuote: Places<keyof SwapQuote> = {
  ...{ inputMint: true, outputMint: true, swapMode: true, inAmount: true, outAmount: true },
  ...{ minOutAmount: true, maxInAmount: true, slippageBps: true, priceImpactBps: true },
  ...{ platformFeeBps: true, route: true, provider: true, quotedAt: true, raw: true },
};

const payment: Places<keyof Payment> = { header: true, receipt: true };

type Fields<N extends EventName> = Places<keyof EventDetails[N]> | { readonly lacks: string };
/** Details of each event. */
const events: { readonly [N in EventName]: Fields<N> } = {
  'payment.required': { url: true, method: true, offers: true },
  'payment.chosen': {
    ...{ url: true, network: true, mint: true, amount: true, decimals: true, payTo: true },
    refused: true,
  },
  'balance.checked': { mint: true, available: true, required: true, missing: true },
  'swap.quoted': {
    ...{ inputMint: true, inAmount: true, maxInAmount: true, outputMint: true, outAmount: true },
    ...{ minOutAmount: true, provider: true },
  },
  'swap.signed': { signature: true, lastValidBlockHeight: true },
  'swap.confirmed': {
    ...{ signature: true, inputMint: true, inAmount: true, outputMint: true, outAmount: true },
    ...{ provider: true, feeLamports: true, relayFee: true, cost: true },
  },
  'swap.failed': { signature: true, code: true, cost: true },
  'payment.signed': { payerSignature: true, lastValidBlockHeight: true },
  'payment.sent': { url: true, method: true },
  'payment.answered': { status: true, receipt: true },
  'payment.settled': { receipt: true },
  'payment.unsettled': { receipt: true },
  'payment.uncertain': { payerSignature: true, lastValidBlockHeight: true, code: true },
  'payment.failed': { code: true, funds: true, message: true },
  warning: { message: true },
  'rpc.called': { lacks: telemetry },
  'journal.called': { lacks: telemetry },
};

const exportsOfIndex: Places<keyof typeof exported> = {
  createClient: 'Client',
  HTTPInterceptor: 'HTTPInterceptor',
  ...{ inspectSwap: true, receiptOf: true, explorerUrl: true, formatReceipt: true },
  ...{ parsePaymentRequired: true },
  remote: 'Service',
  local: { lacks: service },
  settled: { lacks: 'A method of a client: `client.settled(response)`.' },
  memoryJournal: { lacks: 'Clients without a journal share one in memory for each wallet.' },
  ...{ SOLANA_DEVNET: 'SOLANA_DEVNET', SOLANA_MAINNET: 'SOLANA_MAINNET' },
  ...{ SOLANA_TESTNET: 'SOLANA_TESTNET', WSOL_MINT: 'WSOL_MINT' },
  ConfigError: 'ConfigError',
  ExactChangeError: 'ExactChangeError',
  FundsError: 'FundsError',
  PolicyError: 'PolicyError',
  ProtocolError: 'ProtocolError',
  QuoteError: 'QuoteError',
  SettlementError: 'SettlementError',
  TransactionError: 'TransactionError',
  TransportError: 'TransportError',
  isExactChangeError: { lacks: '`except ExactChangeError`, and `error.code`.' },
  errorCodes: { lacks: 'A literal type, `exact_change.errors.ErrorCode`.' },
  formatUiAmount: { lacks: 'Receipts, plans and balances have `ui_amount`; `Decimal` does the rest.' },
  parseAmount: { lacks: '`int()`: Python has no other numbers for amounts.' },
  parseUiAmount: { lacks: 'Swaps and quotes take `ui_amount`.' },
  pinnedMints: { lacks: 'Options take pinned symbols; receipts and balances say them.' },
  toNetwork: { lacks: 'The option `network` takes names and CAIP-2 ids.' },
};

/** TypeScript's public names by type, with their counterparts in Python. */
export const surface = {
  ...{ client, clientOptions, timeouts, relayer, policy, limits, topUp, lists, swapOptions, receiptFilter },
  ...{ receipt, paidPayment, paidSwap, cost, freedReceipt, plan, plannedRelayer },
  ...{ swapResult, swapQuote, payment, exports: exportsOfIndex, events },
  /** Names that only Python has. */
  pythonOnly: {
    client: {
      ...{ get: 'As of httpx.', options: 'As of httpx.', head: 'As of httpx.' },
      ...{ post: 'As of httpx.', put: 'As of httpx.', patch: 'As of httpx.' },
      ...{ delete: 'As of httpx.', stream: 'As of httpx.' },
      transport: 'Any client of httpx pays.',
      adapter: 'Any session of requests pays.',
      of: 'Makes one of an interceptor.',
      settled: 'A function in TypeScript.',
    },
    clientOptions: { trust_env: 'As of httpx: TypeScript leaves it to `fetch`.' },
    exports: {
      AsyncClient: 'Of asyncio.',
      AsyncService: 'Of asyncio.',
      inspect_swap_async: 'Of asyncio.',
      file_journal: 'A module of its own in TypeScript.',
      postgres_journal: 'A module of its own in TypeScript.',
      __version__: 'As Python packages have it.',
    },
  },
};
