import type { RouteConfig } from '@x402/core/server';
import type { MintSymbol, SandboxMint } from '../../types.js';
import { MAINNET } from '../facilitator.js';

/** A paid route of the sandbox's API: what it costs and how it behaves. */
export interface PaidRoute {
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST')[];
  readonly description: string;
  /** Offered tokens with amounts in base units, in the order of the 402. */
  readonly prices: readonly { readonly symbol: MintSymbol; readonly amount: string }[];
  /** `merchant` has an account for every mint; `newcomer` has no token account. */
  readonly payee?: 'merchant' | 'newcomer';
  /** Memo of the seller, which the payment must contain. */
  readonly memo?: string;
  /** True if the 402 contains a blockhash, so that a buyer needs no RPC call for it. */
  readonly blockhash?: boolean;
  /** True if the 402 offers the payment-identifier extension. */
  readonly identified?: boolean;
  /** Behaviour of the handler; by default it answers 200. */
  readonly handler?: 'fails' | 'redirects' | 'slow';
}

const cent = '10000';
const both = ['GET', 'POST'] as const;
const inUsdc = [{ symbol: 'USDC', amount: cent }] as const;

export const PAID_ROUTES: readonly PaidRoute[] = [
  { path: '/usdc', methods: both, description: 'One cent in USDC', prices: inUsdc },
  {
    path: '/usdt',
    methods: both,
    description: 'Two cents in USDT',
    prices: [{ symbol: 'USDT', amount: '20000' }],
  },
  {
    path: '/pyusd',
    methods: both,
    description: 'Three cents in PYUSD (Token-2022)',
    prices: [{ symbol: 'PYUSD', amount: '30000' }],
  },
  {
    path: '/bonk',
    methods: both,
    description: '1234.56789 BONK',
    prices: [{ symbol: 'BONK', amount: '123456789' }],
  },
  {
    path: '/any',
    methods: both,
    description: 'One cent in whatever the buyer prefers',
    prices: [
      { symbol: 'PYUSD', amount: cent },
      { symbol: 'USDT', amount: cent },
      { symbol: 'USDC', amount: cent },
      { symbol: 'BONK', amount: '50000000' },
    ],
  },
  { path: '/echo', methods: ['POST'], description: 'Your JSON body, for one cent', prices: inUsdc },
  {
    path: '/memo',
    methods: both,
    description: 'With a memo of the seller',
    prices: inUsdc,
    memo: 'invoice 2041',
  },
  {
    path: '/blockhash',
    methods: both,
    description: 'With a blockhash of the seller',
    prices: inUsdc,
    blockhash: true,
  },
  {
    path: '/identified',
    methods: both,
    description: 'With a payment identifier',
    prices: inUsdc,
    identified: true,
  },
  {
    path: '/expensive',
    methods: both,
    description: 'Two dollars and a half',
    prices: [{ symbol: 'USDC', amount: '2500000' }],
  },
  {
    path: '/no-account',
    methods: both,
    description: 'To a payee without a token account',
    prices: inUsdc,
    payee: 'newcomer',
  },
  {
    path: '/fails',
    methods: both,
    description: 'Its handler answers 500',
    prices: inUsdc,
    handler: 'fails',
  },
  {
    path: '/redirects',
    methods: both,
    description: 'Its handler answers 303',
    prices: inUsdc,
    handler: 'redirects',
  },
  {
    path: '/slow',
    methods: both,
    description: 'Its handler takes its time',
    prices: inUsdc,
    handler: 'slow',
  },
];

/** Returns the configuration of a route for the official middleware. */
export function middlewareRoute(
  route: PaidRoute,
  payTo: string,
  mints: readonly SandboxMint[],
): RouteConfig {
  return {
    accepts: route.prices.map(({ symbol, amount }) => ({
      scheme: 'exact',
      network: MAINNET,
      payTo,
      price: { amount, asset: mintOf(mints, symbol).address },
      ...(route.memo === undefined ? {} : { extra: { memo: route.memo } }),
    })),
    description: route.description,
    mimeType: 'application/json',
    ...(route.identified === true
      ? { extensions: { 'payment-identifier': identifierDeclaration() } }
      : {}),
  };
}

function mintOf(mints: readonly SandboxMint[], symbol: MintSymbol): SandboxMint {
  const mint = mints.find((known) => known.symbol === symbol);
  if (mint === undefined) throw new Error(`The sandbox has no mint ${symbol}.`);
  return mint;
}

/** Returns the declaration of the payment-identifier extension in a 402: an id is optional. */
function identifierDeclaration(): Record<string, unknown> {
  return {
    info: { required: false },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        required: { type: 'boolean' },
        id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
      },
      required: ['required'],
    },
  };
}
