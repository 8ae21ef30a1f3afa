import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import type { Client } from '../../src/client.js';
import { isExactChangeError } from '../../src/errors.js';
import { untilAborted } from '../../src/internal/abort.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { isRecord } from '../../src/internal/record.js';
import { pinnedMints, SOLANA_MAINNET } from '../../src/network.js';
import type { SwapOptions } from '../../src/payments/engine.js';
import type { Receipt, ReceiptFilter } from '../../src/receipt.js';
import type { SwapQuote, UiSwapRequest } from '../../src/swaps/types.js';
import { amountWriter } from '../amounts.js';
import { checkClient } from '../check-client.js';
import { planData, quoteData, receiptData, swapData } from './data.js';
import { fenced } from './fence.js';
import { paidFetch, refusedRequest, requestOf, type CallLimits } from './paid-fetch.js';
import { abortedResult, failure, withoutUntrusted, refusal, type ToolResult } from './result.js';
import * as inputs from './schemas.js';

/** The members of a client that the tools use. */
export type ToolClient = Pick<
  Client,
  'fetch' | 'plan' | 'balance' | 'quote' | 'swap' | 'receipts' | 'spent'
>;

export interface ToolOptions {
  /** Characters of a seller's answer that a model gets; default 20000. */
  readonly maxAnswer?: number | undefined;
  /** Lets models call hosts of this machine and of private networks; default false. */
  readonly privateHosts?: boolean | undefined;
  /**
   * Called with the price of a swap that a model ordered, before it is signed. `true` approves this
   * price or a better price. The bounds of a quote that was approved before approve that price. Any
   * other answer refuses the swap. Default: swaps within the caps are approved. The client's
   * `policy.approve` decides on payments.
   */
  readonly approveSwap?:
    ((quote: Omit<SwapQuote, 'raw'>) => SwapApproval | Promise<SwapApproval>) | undefined;
}

/** Whether a swap is approved, or the bounds within which it is approved. */
export type SwapApproval = boolean | NonNullable<SwapOptions['noWorseThan']>;

/** A JSON Schema of the fields of a tool. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool for a model. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object that allows only known fields. */
  readonly inputSchema: JsonSchema;
  /** Whether the tool may move money. */
  readonly spends: boolean;
  /** Checks the input of a model and runs the tool. It never rejects: a failure is a result too. */
  run(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<ToolResult>;
}

interface Context extends CallLimits {
  readonly client: ToolClient;
  readonly approveSwap: NonNullable<ToolOptions['approveSwap']>;
}

/**
 * Creates the tools that a model needs to buy: `paid_fetch`, `plan`, `balance`, `quote`, `swap`,
 * `receipts` and `budget`. The client's policy sets the limits. No tool takes a limit, and swaps
 * count against the limits too (`counted`).
 *
 * Throws `ConfigError` (`invalid_option`) at once if the client or the options are wrong.
 *
 * @example
 * for (const { name, description, inputSchema } of agentTools(client)) console.log(name);
 */
export function agentTools(client: ToolClient, options: ToolOptions = {}): readonly AgentTool[] {
  checkClient(client, 'swap');
  refuseUnknown(options, ['maxAnswer', 'privateHosts', 'approveSwap']);
  const { maxAnswer = 20_000, privateHosts = false, approveSwap = () => true } = options;
  if (!Number.isInteger(maxAnswer) || maxAnswer < 0)
    throw refuse('maxAnswer', 'must be a whole number of characters.');
  if (typeof privateHosts !== 'boolean') throw refuse('privateHosts', 'must be true or false.');
  if (typeof approveSwap !== 'function') throw refuse('approveSwap', 'must be a function.');
  const context: Context = { client, maxAnswer, privateHosts, approveSwap };
  return [
    tool(context, 'paid_fetch', {
      spends: true,
      input: inputs.paidFetchInput,
      description:
        'Calls an address over HTTP. If it asks for payment (402), pays it on Solana within the limits of the person, swapping tokens if need be, and returns the answer with a receipt. The limits cannot be changed by any tool.',
      run: async (input, { signal }) =>
        refusedRequest(input, context) ?? (await paidFetch(client, input, context, signal)),
    }),
    tool(context, 'plan', {
      spends: false,
      input: inputs.planInput,
      description: 'Says what paid_fetch would pay and swap for a call. Signs and pays nothing.',
      async run(input, { signal }) {
        const refused = refusedRequest(input, context);
        if (refused !== undefined) return refused;
        const init = { ...requestOf(input), ...(signal === undefined ? {} : { signal }) };
        const plan = await client.plan(input.url, init);
        const { payment, swap, refused: offers } = plan;
        const mints = [payment?.mint, swap?.inputMint, swap?.outputMint];
        const write = await amountWriter(
          client,
          mints.filter((mint) => mint !== undefined),
        );
        const texts = offers.flatMap(({ untrusted = {} }) => Object.values(untrusted));
        const { host } = new URL(input.url);
        return {
          ...done(planData(plan, write)),
          ...(texts.length === 0
            ? {}
            : { untrusted: fenced(host, texts.join('\n'), context.maxAnswer) }),
        };
      },
    }),
    tool(context, 'balance', {
      spends: false,
      input: inputs.balanceInput,
      description: 'What the wallet holds: of some tokens, or of all.',
      async run({ tokens }, options) {
        const balances = await client.balance(tokens?.map(mintOf), options);
        const rows = balances.map(({ mint, symbol, uiAmount }) => ({ mint, symbol, uiAmount }));
        return done({ balances: rows });
      },
    }),
    tool(context, 'quote', {
      spends: false,
      input: inputs.swapInput,
      description: 'The price of a swap of tokens. Signs nothing.',
      async run(input, options) {
        const quote = await client.quote(swapRequest(input), options);
        const write = await amountWriter(client, [quote.inputMint, quote.outputMint]);
        return done(quoteData(quote, write));
      },
    }),
    tool(context, 'swap', {
      spends: true,
      input: inputs.swapInput,
      description:
        'Swaps tokens of the wallet. What it loses, and all of it if the output is a token that is not well known, counts against the limits of the person. paid_fetch swaps by itself: this is for other reasons to swap.',
      run: (input, options) => swap(context, swapRequest(input), options),
    }),
    tool(context, 'receipts', {
      spends: false,
      input: inputs.receiptsInput,
      description: 'What was paid, the newest last.',
      async run({ last = 20, host, state }) {
        const filter: ReceiptFilter = {
          ...(host === undefined ? {} : { host }),
          ...(state === undefined ? {} : { state }),
        };
        const receipts: Receipt[] = [];
        for await (const receipt of client.receipts(filter)) {
          receipts.push(receipt);
          if (receipts.length > last) receipts.shift();
        }
        return done({ receipts: receipts.map(receiptData) });
      },
    }),
    tool(context, 'budget', {
      spends: false,
      input: inputs.budgetInput,
      description: 'How much of each limit of the person is used.',
      run: async () => done({ caps: await client.spent() }),
    }),
  ];
}

interface Definition<S extends v.GenericSchema> {
  readonly description: string;
  readonly spends: boolean;
  readonly input: S;
  run(
    input: v.InferOutput<S>,
    options: { readonly signal?: AbortSignal | undefined },
  ): Promise<ToolResult>;
}

function tool<S extends v.GenericSchema>(
  { maxAnswer }: Context,
  name: string,
  { input, run, ...facts }: Definition<S>,
): AgentTool {
  return {
    ...{ name, ...facts, inputSchema: { ...toJsonSchema(input, { errorMode: 'ignore' }) } },
    async run(modelInput, options = {}) {
      const parsed = v.safeParse(input, modelInput ?? {});
      if (!parsed.success) return refusal('invalid_input', complaint(parsed.issues));
      try {
        return await run(parsed.output, options);
      } catch (error) {
        // After an abort, the error is the signal's reason, or an error that a fetch makes of it.
        const isEnded = options.signal?.aborted === true && !isExactChangeError(error);
        return facts.spends && isEnded
          ? abortedResult()
          : failure(error, (text) => fenced('the seller', text, maxAnswer));
      }
    },
  };
}

/** Says what is wrong with each field of the input. Repeats names of fields, but no values. */
function complaint(issues: readonly v.BaseIssue<unknown>[]): string {
  const lines = issues.slice(0, 5).map((issue) => {
    const path = v.getDotPath(issue) ?? 'the input';
    if (issue.type === 'strict_object' && issue.expected === 'never')
      return `${path} is no field of this tool. Limits are set by the person, and not by a model.`;
    if (issue.received === 'undefined') return `${path} is missing.`;
    return `${path}: expected ${issue.expected ?? 'another form'}.`;
  });
  return lines.join(' ');
}

async function swap(
  { client, approveSwap }: Context,
  request: UiSwapRequest,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<ToolResult> {
  const { raw: _raw, ...quote } = await client.quote(request, options);
  // A hook in JavaScript may return anything. One that fails has not approved.
  const ask = async (): Promise<unknown> => approveSwap(quote);
  const answer = await untilAborted(
    ask().catch(() => false),
    options.signal,
  );
  const noWorseThan = answer === true ? quote : readBounds(answer);
  if (noWorseThan === undefined)
    return refusal('approval_refused', 'The person did not approve the swap. Nothing was signed.');
  const swapped = await client.swap(request, {
    signal: options.signal,
    counted: true,
    noWorseThan,
  });
  const write = await amountWriter(client, [swapped.inputMint, swapped.outputMint]);
  return { ...done(swapData(swapped, write)), funds: 'swapped' };
}

/** Reads the bounds of an approval; `client.swap` checks their amounts. */
function readBounds(answer: unknown): SwapOptions['noWorseThan'] {
  if (!isRecord(answer)) return undefined;
  const { maxInAmount, minOutAmount } = answer;
  return typeof maxInAmount === 'string' && typeof minOutAmount === 'string'
    ? { maxInAmount, minOutAmount }
    : undefined;
}

function swapRequest({
  input,
  output,
  amount,
  exactOut = false,
}: v.InferOutput<typeof inputs.swapInput>): UiSwapRequest {
  return {
    ...{ inputMint: mintOf(input), outputMint: mintOf(output), uiAmount: amount },
    swapMode: exactOut ? 'ExactOut' : 'ExactIn',
  };
}

/** Returns a pinned symbol in its own case, because models write symbols in any case. */
function mintOf(text: string): string {
  const symbol = text.toUpperCase();
  return pinnedMints(SOLANA_MAINNET).some((pinned) => pinned.symbol === symbol) ? symbol : text;
}

function done(data: object): ToolResult {
  return { ok: true, funds: 'untouched', data: withoutUntrusted(data) };
}
