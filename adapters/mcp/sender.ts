import { withKnownType } from './forms.js';

/** `params` of a tool call. */
export interface ToolCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The call options that this adapter reads; all options reach the SDK. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** The members of an MCP client, of either SDK, that are used. */
export interface McpLike {
  /** Undefined until the client is connected. */
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
 * Returns a function that sends a call and does not lose its terms. The older SDK checks an answer
 * against the tool's output schema, and would lose terms in its place; a request with our own schema
 * is not checked.
 */
export function senderOf(mcp: McpLike): {
  readonly send: Send;
  /** Finds the call options in the arguments of `callTool` after the call. */
  optionsOf(rest: readonly unknown[]): CallOptions;
} {
  if ('getProtocolEra' in mcp) {
    const callTool = mcp.callTool.bind(mcp);
    let patched: McpLike['transport'];
    return {
      send(call, options) {
        if (mcp.transport !== patched) patched = withTerms(mcp.transport);
        return callTool(call, options);
      },
      optionsOf: ([first]) => optionsIn(first),
    };
  }
  return {
    send: (params, options) =>
      mcp.request({ method: 'tools/call', params: { ...params } }, ANY_RESULT, options),
    // The schema of the result comes before the options.
    optionsOf: ([, second]) => optionsIn(second),
  };
}

/** Makes a transport pass on terms in a form that the SDK knows. */
function withTerms(transport: McpLike['transport']): McpLike['transport'] {
  const receive = transport?.onmessage;
  if (transport === undefined || receive === undefined) return undefined;
  transport.onmessage = (message: never, ...rest: never[]) => {
    Reflect.apply(receive, transport, [withKnownType(message), ...rest]);
  };
  return transport;
}

/** A schema for the older SDK that accepts any result. */
const ANY_RESULT = { safeParse: (data: unknown) => ({ success: true, data }) };

function optionsIn(value: unknown): CallOptions {
  return typeof value === 'object' && value !== null ? value : {};
}
