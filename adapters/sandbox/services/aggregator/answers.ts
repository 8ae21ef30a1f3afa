import {
  getBase58Encoder,
  isSignerRole,
  isWritableRole,
  type createSolanaRpc,
  type Instruction,
} from '@solana/kit';
import type { Chain } from '../../types.js';
import { VENUE } from '../../venue/venue.mjs';
import { key, swapParts, type Quoted, type SwapIntent, type SwapParts } from './instructions.js';
import type { Markets } from './markets.js';
import type { Pools } from './pools.js';
import { badBody, badParameter, Refusal } from './problems.js';
import { quote, readQuoteQuery, VENUE_LABEL, type QuoteResponse } from './quote.js';
import {
  computeBudget,
  DEFAULT_UNIT_PRICE,
  latestBlockhash,
  priorityFeeLamports,
  swapTransaction,
  unitLimitInstruction,
  unitPriceInstruction,
} from './transaction.js';

export interface World {
  readonly chain: Chain;
  readonly pools: Pools;
  readonly markets: Markets;
  readonly rpc: ReturnType<typeof createSolanaRpc>;
}

type Json = Readonly<Record<string, unknown>>;

/** An endpoint: returns the JSON answer to a query and a body, or throws a {@link Refusal}. */
export type Endpoint = (world: World, query: URLSearchParams, body: unknown) => unknown;

/** The aggregator's endpoints by method and path. */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'GET /swap/v1/quote': (world, query) => quoteIn(world, query),
  'POST /swap/v1/swap-instructions': swapInstructions,
  'POST /swap/v1/swap': swap,
  'GET /swap/v1/program-id-to-label': () => ({ [VENUE]: VENUE_LABEL }),
  'GET /swap/v2/build': build,
};

function quoteIn({ markets, pools, chain }: World, query: URLSearchParams): QuoteResponse {
  return quote(readQuoteQuery(query), markets, { ammKey: pools.config, slot: chain.slot });
}

async function swapInstructions(
  world: World,
  _query: URLSearchParams,
  body: unknown,
): Promise<unknown> {
  const request = asObject(body, 'the body');
  const budget = computeBudget(request);
  return {
    tokenLedgerInstruction: null,
    computeBudgetInstructions: [
      unitLimitInstruction(budget.unitLimit),
      unitPriceInstruction(budget.unitPrice),
    ].map(asJson),
    ...partsJson(await swapParts(readIntent(request), world)),
    otherInstructions: [],
    addressLookupTableAddresses: Object.keys(world.pools.lookupTables),
    prioritizationFeeLamports: priorityFeeLamports(budget),
    computeUnitLimit: budget.unitLimit,
    simulationError: null,
  };
}

async function swap(world: World, _query: URLSearchParams, body: unknown): Promise<unknown> {
  const request = asObject(body, 'the body');
  if (request['asLegacyTransaction'] === true)
    throw new Refusal('NOT_SUPPORTED', 'asLegacyTransaction is not supported');
  const intent = readIntent(request);
  const parts = await swapParts(intent, world);
  const user = key(intent.user, 'userPublicKey');
  return swapTransaction(
    world.rpc,
    {
      user,
      parts,
      budget: computeBudget(request),
      dynamicLimit: request['dynamicComputeUnitLimit'] === true,
    },
    world.pools,
  );
}

/** The fields of a quote that an answer of `/swap/v2/build` has. */
const BUILD_FIELDS = [
  ...(['inputMint', 'outputMint', 'inAmount', 'outAmount', 'otherAmountThreshold'] as const),
  ...(['swapMode', 'slippageBps', 'priceImpactPct', 'routePlan'] as const),
] as const;

async function build(world: World, query: URLSearchParams): Promise<unknown> {
  const version = query.get('transactionVersion');
  if (version !== null && version !== '0') throw badParameter('transactionVersion', 'expected 0');
  // This endpoint supports only ExactIn and ignores a swapMode in the query.
  query.delete('swapMode');
  query.set('instructionVersion', 'V2');
  const quoted = quoteIn(world, query);
  const parts = await swapParts(
    {
      user: key(query.get('taker'), 'taker'),
      quoted: readQuoted(quoted),
      wrapAndUnwrapSol: query.get('wrapAndUnwrapSol') !== 'false',
      useSharedAccounts: false,
      alwaysCreate: true,
      destinationTokenAccount: query.get('destinationTokenAccount') ?? undefined,
    },
    world,
  );
  const { blockhash, lastValidBlockHeight } = await latestBlockhash(world.rpc);
  return {
    ...Object.fromEntries(BUILD_FIELDS.map((name) => [name, quoted[name]])),
    computeBudgetInstructions: [asJson(unitPriceInstruction(DEFAULT_UNIT_PRICE))],
    ...partsJson(parts),
    otherInstructions: [],
    tipInstruction: null,
    addressesByLookupTableAddress: world.pools.lookupTables,
    blockhashWithMetadata: {
      blockhash: [...getBase58Encoder().encode(blockhash)],
      lastValidBlockHeight: Number(lastValidBlockHeight),
      fetchedAt: { secs_since_epoch: Math.floor(Date.now() / 1000), nanos_since_epoch: 0 },
    },
    transactionVersion: 0,
  };
}

function readIntent(request: Json): SwapIntent {
  const destination = request['destinationTokenAccount'];
  if (
    request['nativeDestinationAccount'] !== undefined &&
    request['nativeDestinationAccount'] !== null
  )
    throw new Refusal('NOT_SUPPORTED', 'nativeDestinationAccount is not supported');
  return {
    user: key(request['userPublicKey'], 'userPublicKey'),
    quoted: readQuoted(request['quoteResponse']),
    wrapAndUnwrapSol: request['wrapAndUnwrapSol'] !== false,
    useSharedAccounts: request['useSharedAccounts'] === true,
    alwaysCreate: request['skipUserAccountsRpcCalls'] === true,
    destinationTokenAccount: typeof destination === 'string' ? destination : undefined,
  };
}

function readQuoted(value: unknown): Quoted {
  const quoted = asObject(value, 'quoteResponse');
  const { inputMint, outputMint, swapMode, slippageBps, platformFee } = quoted;
  if (typeof inputMint !== 'string' || typeof outputMint !== 'string')
    throw badBody('quoteResponse lacks a mint');
  if (swapMode !== 'ExactIn' && swapMode !== 'ExactOut')
    throw badBody('quoteResponse lacks its swapMode');
  if (
    typeof slippageBps !== 'number' ||
    !Number.isInteger(slippageBps) ||
    slippageBps < 0 ||
    slippageBps > 10_000
  )
    throw badBody('quoteResponse lacks its slippageBps');
  if (!Array.isArray(quoted['routePlan']) || quoted['routePlan'].length === 0)
    throw badBody('quoteResponse lacks its routePlan');
  const feeBps =
    typeof platformFee === 'object' && platformFee !== null ? (platformFee as Json)['feeBps'] : 0;
  return {
    inputMint,
    outputMint,
    inAmount: readAmount(quoted, 'inAmount'),
    outAmount: readAmount(quoted, 'outAmount'),
    otherAmountThreshold: readAmount(quoted, 'otherAmountThreshold'),
    swapMode,
    slippageBps,
    platformFeeBps: typeof feeBps === 'number' ? feeBps : 0,
  };
}

function readAmount(quoted: Json, name: string): bigint {
  const value = quoted[name];
  if (typeof value !== 'string' || !/^\d{1,20}$/.test(value))
    throw badBody(`quoteResponse.${name} is no amount`);
  return BigInt(value);
}

function asObject(value: unknown, name: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badBody(`${name} is no object`);
  return value as Json; // The checks above leave only plain objects.
}

function partsJson(parts: SwapParts): Json {
  return {
    setupInstructions: parts.setup.map(asJson),
    swapInstruction: asJson(parts.swap),
    cleanupInstruction: parts.cleanup === undefined ? null : asJson(parts.cleanup),
  };
}

function asJson(instruction: Instruction): Json {
  return {
    programId: instruction.programAddress,
    accounts: (instruction.accounts ?? []).map(({ address, role }) => ({
      pubkey: address,
      isSigner: isSignerRole(role),
      isWritable: isWritableRole(role),
    })),
    data: Buffer.from(instruction.data ?? []).toString('base64'),
  };
}
