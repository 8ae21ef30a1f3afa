/**
 * MCP clients that pay for tools.
 *
 * @module exact-change/mcp
 */
import { base64 } from '../../src/internal/bytes.js';
import type { Client } from '../../src/client.js';
import { readUrl } from '../../src/config/addresses.js';
import type { ClientOptions } from '../../src/config/options.js';
import { createClient } from '../../src/index.js';
import { setNewest } from '../../src/internal/newest.js';
import { passOnReceipt } from '../../src/receipt.js';
import { termsInError, termsInResult, settlementIn, type PaymentTerms } from './forms.js';
import { senderOf, type CallOptions, type McpLike, type Send, type ToolCall } from './sender.js';

export type { McpLike, ToolCall } from './sender.js';

export interface WrapMcpOptions extends Omit<ClientOptions, 'fetch'> {
  /**
   * Address of the server: caps and lists for hosts use it, and it is part of what tells purchases
   * apart. With plain http beyond this machine, each payment is refused (`insecure_origin`). Default
   * `http://localhost/mcp`, for a server on this machine.
   */
  readonly url?: string | undefined;
}

/** A tool call that is under way. */
interface Purchase {
  readonly call: ToolCall;
  readonly options: CallOptions;
  /** The form that this call was asked for. */
  takes?: PaymentTerms['takes'];
  result: unknown;
}

/** Forms in which tools take a payment, by name: a call that is paid ahead needs its tool's form. */
type Forms = Map<string, PaymentTerms['takes']>;

const MOST_FORMS = 1_000;

/** Field of an init that names its purchase. No fetch reads it, and no text can forge it. */
const PURCHASE: unique symbol = Symbol('exact-change.purchase');

interface PurchaseInit extends RequestInit {
  readonly [PURCHASE]?: Purchase;
}

/**
 * Makes `callTool` of an MCP client pay tools that ask for payment by x402. Returns the client of
 * this library that pays, with the same caps, journal, swaps and errors as its `fetch`. The result
 * comes as the server gave it; `receiptOf(result)` has the receipt. A call presents its payment
 * once: if the tool asks again after that, the call throws `payment_rejected`. A call that brings a
 * payment of its own (`_meta['x402/payment']`) is only passed on.
 *
 * Takes clients of `@modelcontextprotocol/client` and of `@modelcontextprotocol/sdk`. With the
 * latter, results are not checked against the tool's `outputSchema`: the check would take the terms,
 * or a paid result, for an error.
 *
 * Throws `ConfigError` (`invalid_option`, `invalid_key`) at once if the options are wrong.
 *
 * @example
 * const client = wrapMcp(mcp, { url: 'https://mcp.example.com/mcp', walletSecretKey });
 * const result = await mcp.callTool({ name: 'search', arguments: { query: 'x402' } });
 * console.log(receiptOf(result)?.payment.uiAmount);
 */
export function wrapMcp(
  mcp: McpLike,
  { url = 'http://localhost/mcp', ...options }: WrapMcpOptions,
): Client {
  const server = readUrl('url', url, ['http:', 'https:']);
  const { send, optionsOf } = senderOf(mcp);
  const forms: Forms = new Map();
  const client = createClient({
    ...options,
    fetch: async (input, init: PurchaseInit = {}) =>
      init[PURCHASE] === undefined
        ? globalThis.fetch(input, init)
        : exchange(send, init[PURCHASE], forms, init),
  });
  mcp.callTool = async (given, ...rest) => {
    const callOptions = optionsOf(rest);
    // A call with a payment pays by itself: a refusal of that payment is no reason to pay again.
    if (given._meta?.['x402/payment'] !== undefined) return send(given, callOptions);
    const call = copyOf(given);
    const purchase: Purchase = { call, options: callOptions, result: undefined };
    const { signal } = callOptions;
    const init: PurchaseInit = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: canonical(call.arguments ?? {}),
      ...(signal === undefined ? {} : { signal }),
      [PURCHASE]: purchase,
    };
    const response = await client.fetch(addressOf(server, call.name), init);
    // Read the body to its end, so that the answer counts as delivered.
    await response.arrayBuffer();
    const { result } = purchase;
    if (typeof result === 'object' && result !== null) passOnReceipt(response, result);
    return result;
  };
  return client;
}

/** Sends a call, unpaid or with a payment, and returns the answer as HTTP would have it. */
async function exchange(
  send: Send,
  purchase: Purchase,
  forms: Forms,
  init: RequestInit,
): Promise<Response> {
  const { call, options } = purchase;
  const [headers, signal] = [new Headers(init.headers), init.signal ?? undefined];
  const header = headers.get('payment-signature') ?? headers.get('x-payment');
  const takes = purchase.takes ?? forms.get(call.name);
  const payment = header === null || takes === 'base64' ? header : fromBase64(header);
  const meta = { ...call._meta, ...(payment === null ? {} : { 'x402/payment': payment }) };
  const asked = await send(
    { ...call, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) },
    { ...options, ...(signal === undefined ? {} : { signal }) },
  ).then(
    (result) => {
      purchase.result = result;
      return termsInResult(result);
    },
    (error: unknown) => {
      const askedByError = termsInError(error);
      if (askedByError === undefined) throw error;
      return askedByError;
    },
  );
  if (asked !== undefined) {
    purchase.takes = asked.takes;
    setNewest(forms, call.name, asked.takes, MOST_FORMS);
    return new Response(JSON.stringify(asked.terms), {
      status: 402,
      headers: { 'content-type': 'application/json' },
    });
  }
  const settlement = settlementIn(purchase.result);
  return new Response('{}', {
    // A failed tool is an answer without success, so the chain decides on its payment.
    status: isFailure(purchase.result) ? 500 : 200,
    ...(settlement && { headers: { 'payment-response': toBase64(settlement) } }),
  });
}

function isFailure(result: unknown): boolean {
  return typeof result === 'object' && result !== null && Reflect.get(result, 'isError') === true;
}

/** Returns the address of a tool, so that calls of different tools are different purchases. */
function addressOf(server: URL, name: string): string {
  const address = new URL(server);
  address.pathname = `${address.pathname.replace(/\/$/, '')}/${encodeURIComponent(name)}`;
  return address.href;
}

/** Copies a call, because the caller may change it before it goes out again with the payment. */
function copyOf(call: ToolCall): ToolCall {
  // A call reaches the server as JSON, so this loses nothing of it.
  return JSON.parse(JSON.stringify(call)) as ToolCall;
}

/** Writes JSON with sorted keys, so that equal arguments are the same purchase. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function fromBase64(text: string): unknown {
  return JSON.parse(new TextDecoder().decode(base64.decode(text)));
}

function toBase64(value: object): string {
  return base64.encode(new TextEncoder().encode(JSON.stringify(value)));
}
