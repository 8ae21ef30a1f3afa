import { parseBoolean } from '../config/parse-options.js';
import { parseSwapRequest } from '../config/swap-request.js';
import { parseAmount } from '../amount.js';
import { refuse, refuseUnknown } from '../internal/options.js';
import { isPresentedElsewhere } from '../journal/attempt-names.js';
import { markDelivery } from '../journal/delivery.js';
import type { Attempt } from '../journal/types.js';
import { capsForSpends, type CapUse } from '../policy/cap-use.js';
import { plainHost, readHost } from '../policy/hosts.js';
import { readAddress, readMint } from '../policy/read.js';
import type { Receipt, ReceiptFilter, SwapResult } from '../receipt.js';
import { cleanQuote } from '../swaps/quote/check-quote.js';
import type { SwapQuote, SwapRequest, UiSwapRequest } from '../swaps/types.js';
import { symbolOf } from '../network.js';
import type { TokenBalance } from '../transport.js';
import { newId, ownerOf, type PaymentContext } from './context.js';
import type { SwapOptions } from './engine.js';
import { copyOfReceipt } from './attempt-receipt.js';
import { swapCounted } from './execute/counted-swap.js';
import { claimsReleased, untilGivenUp } from './execute/release-claim.js';
import { runSwap } from './execute/run-swap.js';
import { recordSwaps } from './execute/swap-record.js';
import { workOnceToppedUp } from './once-topped-up.js';
import { checkBalances, checkClaims } from './plan/check-balances.js';
import { usesOf } from './plan/plan.js';
import type { WorstPrice } from './plan/quote-within.js';
import { checkFit } from './plan/swap-quote.js';
import { inBaseUnits } from './plan/ui-amount.js';

/** Fields of a swap. A misspelt field is refused, or a bound would silently have no effect. */
const SWAP_FIELDS: readonly (keyof SwapRequest)[] = [
  'inputMint',
  'outputMint',
  'amount',
  'uiAmount',
  'swapMode',
  'slippageBps',
  'maxAccounts',
];
const SWAP_OPTIONS: readonly (keyof SwapOptions)[] = ['counted', 'noWorseThan', 'signal'];

export async function swap(
  context: PaymentContext,
  request: SwapRequest | UiSwapRequest,
  options: SwapOptions,
): Promise<SwapResult> {
  refuseUnknown(request, SWAP_FIELDS);
  refuseUnknown(options, SWAP_OPTIONS);
  const { noWorseThan, signal } = options;
  const counted = parseBoolean('counted', options.counted ?? false);
  const emit = context.events.emitter(newId(context));
  await context.ready(signal);
  const resolved = parseSwapRequest(await inBaseUnits(context, request, signal), context.config);
  const task = { request: resolved, emit, signal, worst: noWorseThan && readWorst(noWorseThan) };
  const { inputMint, outputMint: mint } = resolved;
  const attempt = { id: newId(context), url: `swap:${inputMint}/${mint}`, mint };
  const swapping = counted
    ? swapCounted(context, attempt, signal, (reservation) => {
        const recorded = { ...task, ...recordSwaps(context, reservation, signal) };
        return workOnceToppedUp(context, () => runSwap(context, recorded), signal);
      })
    : runSwap(context, task);
  const swapped = await untilGivenUp(context, swapping, signal);
  return { ...swapped.record, feeLamports: swapped.feeLamports.toString() };
}

function readWorst({ maxInAmount, minOutAmount }: WorstPrice): WorstPrice {
  // JavaScript may pass anything, and an amount that cannot be read must not allow every price.
  for (const amount of [maxInAmount, minOutAmount])
    if (parseAmount(amount) === undefined)
      throw refuse('noWorseThan', 'must be a quote, or its maxInAmount and minOutAmount.');
  return { maxInAmount, minOutAmount };
}

export async function quote(
  context: PaymentContext,
  request: SwapRequest | UiSwapRequest,
  signal: AbortSignal | undefined,
): Promise<SwapQuote> {
  refuseUnknown(request, SWAP_FIELDS);
  const resolved = parseSwapRequest(await inBaseUnits(context, request, signal), context.config);
  const answer = await context.transport.quote(resolved, { signal });
  checkFit(answer, resolved);
  return cleanQuote(answer);
}

export async function balance(
  context: PaymentContext,
  names: readonly string[] | undefined,
  signal: AbortSignal | undefined,
): Promise<TokenBalance[]> {
  const { transport } = context;
  const { network, signer } = context.config;
  const mints = names?.map((name) => readMint('mint', name, network));
  const balances = await transport.balance(
    { wallet: signer.address, ...(mints === undefined ? {} : { mint: mints }) },
    { signal },
  );
  checkBalances(balances, mints, network);
  await checkClaims(context, balances, signal);
  return balances.map((holding) => ({ ...holding, ...symbolOf(network, holding.mint) }));
}

export async function spent(context: PaymentContext): Promise<CapUse[]> {
  const { policy } = context.config;
  await claimsReleased(context, undefined);
  const spends: Attempt[] = [];
  // Only a cap for each host or payee needs the attempts, because they name hosts and payees.
  if (policy.caps.some(({ host, payTo }) => host === '*' || payTo === '*')) {
    for await (const attempt of context.journal.attempts(ownerOf(context))) spends.push(attempt);
  }
  return usesOf(context, capsForSpends(policy, spends));
}

/** Fields of {@link ReceiptFilter}. A misspelt field is refused, or it would filter nothing. */
const FIELDS: readonly (keyof ReceiptFilter)[] = [
  'state',
  'host',
  'payTo',
  'mint',
  'since',
  'until',
];

const STATES: readonly string[] = ['pending', 'settled', 'unsettled', 'uncertain'];

/** Checks a filter, because a value of another form would match nothing, or everything. */
function readFilter(filter: ReceiptFilter, network: string): ReceiptFilter {
  refuseUnknown(filter, FIELDS, 'filter');
  const { state, host, payTo, mint, since, until } = filter;
  for (const [name, time] of Object.entries({ since, until }))
    if (time !== undefined && (typeof time !== 'number' || Number.isNaN(time)))
      throw refuse(`filter.${name}`, 'must be milliseconds since the epoch.');
  if (state !== undefined && !STATES.includes(state))
    throw refuse('filter.state', `must be one of ${STATES.join(', ')}.`);
  return {
    ...filter,
    ...(host === undefined ? {} : { host: readHost('filter.host', host) }),
    ...(payTo === undefined ? {} : { payTo: readAddress('filter.payTo', payTo) }),
    ...(mint === undefined ? {} : { mint: readMint('filter.mint', mint, network) }),
  };
}

/** Lists the wallet's receipts in the journal that match a filter, oldest first. */
export async function* listReceipts(
  context: PaymentContext,
  filter: ReceiptFilter,
): AsyncGenerator<Receipt> {
  const wanted = readFilter(filter, context.config.network);
  const { since } = wanted;
  for await (const attempt of context.journal.attempts(
    ownerOf(context),
    since === undefined ? {} : { since },
  )) {
    const { receipt, delivered } = attempt;
    if (receipt === undefined || !matches(receipt, wanted)) continue;
    const copy = copyOfReceipt(receipt);
    yield isPresentedElsewhere(attempt) ? copy : markDelivery(copy, delivered);
  }
}

function matches(
  receipt: Receipt,
  { state, host, payTo, mint, since, until }: ReceiptFilter,
): boolean {
  if (since !== undefined && receipt.at < since) return false;
  if (until !== undefined && receipt.at >= until) return false;
  if (host !== undefined && plainHost(new URL(receipt.url).host) !== host) return false;
  const fields: readonly (readonly [wanted: string | undefined, actual: string])[] = [
    [state, receipt.state],
    [payTo, receipt.payment.payTo],
    [mint, receipt.payment.mint],
  ];
  return fields.every(([wanted, actual]) => wanted === undefined || wanted === actual);
}
