import { withKnownType } from './forms.js';

/** `params` of a call of a tool. */
export interface ToolCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** What of the options of a call is ours to know; all of them reach the SDK. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** What of an MCP client is used, of either SDK. */
export interface McpLike {
  /** Undefined until it is connected. */
  readonly transport?:
    { onmessage?: ((message: never, ...rest: never[]) => void) | undefined } | undefined;
  callTool(call: ToolCall, ...rest: unknown[]): Promise<unknown>;
  request(
    request: { readonly method: 'tools/call'; readonly params: Record<string, unknown> },
    ...rest: unknown[]
  ): Promise<unknown>;
}

export type Send = (call: ToolCall, options: CallOptions) => Promise<unknown>;

/**
 * How a call is made as it is. The older SDK checks what a tool answers against its output schema,
 * and loses terms that stand in its place; a request with a schema of ours is not checked.
 */
export function senderOf(mcp: McpLike): {
  readonly send: Send;
  /** The options among what follows the call in the arguments of `callTool`. */
  optionsOf(rest: readonly unknown[]): CallOptions;
} {
  if ('getProtocolEra' in mcp) {
    const callTool = mcp.callTool.bind(mcp);
    let known: McpLike['transport'];
    return {
      send(call, options) {
        if (mcp.transport !== known) known = withTerms(mcp.transport);
        return callTool(call, options);
      },
      optionsOf: ([first]) => object(first),
    };
  }
  return {
    send: (params, options) =>
      mcp.request({ method: 'tools/call', params: { ...params } }, AS_IT_IS, options),
    // The schema of the result comes first.
    optionsOf: ([, second]) => object(second),
  };
}

/** Has what asks for payment come in as the SDK knows it. */
function withTerms(transport: McpLike['transport']): McpLike['transport'] {
  const receive = transport?.onmessage;
  if (transport === undefined || receive === undefined) return undefined;
  transport.onmessage = (message: never, ...rest: never[]) => {
    Reflect.apply(receive, transport, [withKnownType(message), ...rest]);
  };
  return transport;
}

/** A schema to the older SDK, which takes any result. */
const AS_IT_IS = { safeParse: (data: unknown) => ({ success: true, data }) };

function object(value: unknown): CallOptions {
  return typeof value === 'object' && value !== null ? value : {};
}
