import type { SwapQuote, SwapTransaction } from '../src/swaps/types.js';
import type { ParsedOffer, ParsedPayment, PaymentResult, TokenBalance } from '../src/transport.js';
import type { OperationId } from '../src/wire/operations.js';
import type { WebhookDetails, WebhookEventName } from '../src/outbox/outbox.js';
import { webhookEvents } from '../src/wire/webhook-events.js';
import type { WebhookOperationId } from '../src/wire/webhooks.js';
import type { Problem } from '../src/wire/problem.js';
import { problemOf, serviceProblem } from '../src/wire/problem.js';
import { ConfigError, FundsError, QuoteError } from '../src/errors.js';

interface Example {
  /** Body of a POST, or query of a GET as an object. */
  readonly request: object;
  readonly answer: object;
  readonly problem: Problem;
}

export const WALLET = '7fUAJdStEuGbc3sM84cKRL6yYaaSstyLSU4ve5oovLS7';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const WSOL = 'So11111111111111111111111111111111111111112';
/** Not a real transaction: it only shows the format. */
const TRANSACTION = `AQ${'A'.repeat(86)}gAEC`;

const quote: SwapQuote = {
  inputMint: WSOL,
  outputMint: USDC,
  swapMode: 'ExactOut',
  inAmount: '66667',
  outAmount: '10000',
  minOutAmount: '10000',
  maxInAmount: '67001',
  slippageBps: 50,
  priceImpactBps: 1,
  platformFeeBps: 0,
  route: ['Whirlpool'],
  provider: 'jupiter-v1',
  quotedAt: 1_767_225_600_000,
  raw: { routePlan: [{ percent: 100 }] },
};

const swap: SwapTransaction = {
  transaction: TRANSACTION,
  lastValidBlockHeight: '370000150',
  quote,
  computeUnitLimit: 180_000,
  priorityFeeLamports: '9000',
};

const balance: TokenBalance = {
  mint: USDC,
  amount: '2500000',
  decimals: 6,
  uiAmount: '2.5',
  tokenProgram: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  tokenAccount: 'FGETo8T8wMcN2wCjav8VK6eh3dLk63evNDPxzLSJra8B',
  slot: 370_000_000,
};

export const offer = {
  index: 0,
  x402Version: 2 as const,
  payable: true,
  network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  mint: USDC,
  amount: '10000',
  payTo: 'GsbwXfJraMomNxBcjYLcG3mxkBUiyWXAB32fGbSMQRdW',
  feePayer: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4',
} satisfies ParsedOffer;

const url = 'https://api.example.com/premium';
export const terms = {
  x402Version: 2,
  resource: { url },
  accepts: [
    {
      scheme: 'exact',
      network: offer.network,
      amount: offer.amount,
      asset: offer.mint,
      payTo: offer.payTo,
      maxTimeoutSeconds: 60,
      extra: { feePayer: offer.feePayer },
    },
  ],
};
export const paymentRequired = {
  url,
  status: 402,
  headers: { 'PAYMENT-REQUIRED': Buffer.from(JSON.stringify(terms)).toString('base64') },
  body: '{}',
};
const parsed: ParsedPayment = { x402Version: 2, offers: [offer] };
const step: PaymentResult = { state: 'swap_required', offer, swap };

const wrongAmount = new ConfigError(
  'invalid_option',
  'Field amount must be base units as a decimal string.',
  {
    details: { option: 'amount' },
  },
);
const noRoute = new QuoteError(
  'no_route',
  `Jupiter has no route from ${WSOL} to ${USDC} for this amount. Swap from another token.`,
  {
    details: { inputMint: WSOL, outputMint: USDC },
  },
);
const unknownMint = new FundsError(
  'unknown_mint',
  `There is no token mint at ${WALLET} on this network. Check the mint.`,
  {
    details: { mint: WALLET },
  },
);
const secret = serviceProblem(
  'secret_refused',
  'The request has a field that is named as a private key. Send none.',
);
const swapParameters = { inputMint: WSOL, outputMint: USDC, amount: '10000', swapMode: 'ExactOut' };

const endpoint = {
  id: 'ep_2c9f4be81d7a',
  url: 'https://shop.example.com/exact-change',
  events: ['payment.settled', 'payment.failed'],
  wallets: [WALLET],
  createdAt: 1_767_225_600_000,
};
/** A new endpoint with a secret of zeros. */
const newEndpoint = { ...endpoint, secret: `whsec_${'A'.repeat(32)}` };
const registration = { url: endpoint.url, events: endpoint.events, wallets: endpoint.wallets };
const unknownEvent = new ConfigError(
  'invalid_option',
  `Field events[0] must be one of ${webhookEvents.join(', ')}.`,
  {
    details: { option: 'events[0]' },
  },
);
const noEndpoint = serviceProblem(
  'not_found',
  'There is no such endpoint of this caller. See GET /api/webhooks for those that there are.',
);

/** An example call of each operation, with its answer and a problem. */
export const examples: { readonly [O in OperationId | WebhookOperationId]: Example } = {
  quote: {
    request: { ...swapParameters, slippageBps: 50 },
    answer: quote,
    problem: problemOf(wrongAmount),
  },
  buildSwap: {
    request: { wallet: WALLET, ...swapParameters },
    answer: swap,
    problem: problemOf(noRoute),
  },
  balance: {
    request: { wallet: WALLET, mint: [USDC] },
    answer: balance,
    problem: problemOf(unknownMint),
  },
  parsePayment: {
    request: paymentRequired,
    answer: parsed,
    problem: serviceProblem('unsupported_media_type', 'The body is not JSON.'),
  },
  autoPay: {
    request: { paymentRequired, wallet: WALLET, autoSwap: true },
    answer: step,
    problem: secret,
  },
  listWebhooks: {
    request: {},
    answer: [endpoint],
    problem: serviceProblem('unauthorized', 'This service does not know the caller.'),
  },
  registerWebhook: {
    request: registration,
    answer: newEndpoint,
    problem: problemOf(unknownEvent),
  },
  removeWebhook: { request: { id: endpoint.id }, answer: { removed: true }, problem: noEndpoint },
  rotateWebhook: { request: { id: endpoint.id }, answer: newEndpoint, problem: noEndpoint },
};

const about = {
  id: '5b1c0c0e-6d0f-4c57-9a4b-0d7a3a0f5e11',
  wallet: WALLET,
  network: offer.network,
  url,
  method: 'GET',
};
const price = { mint: USDC, amount: offer.amount, payTo: offer.payTo };
/** Not a real signature: it only shows the format. */
const SIGNATURE = '1'.repeat(64);
const swapped = { signature: SIGNATURE, inputMint: WSOL, outputMint: USDC, provider: 'jupiter-v1' };
const detailsOf: WebhookDetails = {
  'swap.confirmed': {
    ...about,
    ...swapped,
    inAmount: '66667',
    outAmount: '10000',
    feeLamports: '14000',
  },
  'swap.failed': { ...about, ...swapped, code: 'swap_expired' },
  'payment.settled': { ...about, ...price, payerSignature: SIGNATURE, signature: SIGNATURE },
  'payment.failed': { ...about, ...price },
  'payment.uncertain': {
    ...about,
    ...price,
    payerSignature: SIGNATURE,
    lastValidBlockHeight: '370000150',
    code: 'payment_uncertain',
  },
};
const bodyOf = (type: WebhookEventName) => ({
  type,
  timestamp: '2026-01-01T00:00:00.000Z',
  data: detailsOf[type],
});

/** Body of an example message for each event. */
export const eventExamples: Readonly<Record<WebhookEventName, object>> = {
  'swap.confirmed': bodyOf('swap.confirmed'),
  'swap.failed': bodyOf('swap.failed'),
  'payment.settled': bodyOf('payment.settled'),
  'payment.failed': bodyOf('payment.failed'),
  'payment.uncertain': bodyOf('payment.uncertain'),
};
