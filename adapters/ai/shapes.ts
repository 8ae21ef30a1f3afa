import { refuse } from '../../src/internal/options.js';
import type { Receipt } from '../../src/receipt.js';
import { toText, type ToolResult } from './result.js';
import { agentTools, type AgentTool, type ToolClient, type ToolOptions } from './tools.js';

type Schema = AgentTool['inputSchema'];

/** A tool of the AI SDK (the package `ai`, 5 to 7). */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: {
    readonly jsonSchema: Schema;
    validate(value: unknown): { readonly success: true; readonly value: unknown };
  };
  execute(
    input: unknown,
    options: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<ToolResult>;
  toModelOutput(result: unknown): { readonly type: 'text'; readonly value: string };
}

/** By which the AI SDK knows a schema of its own, without an import of it. */
const SCHEMA = Symbol.for('vercel.ai.schema');

/**
 * The tools for `generateText` and `streamText` of the AI SDK. A result is a `ToolResult`, with the
 * receipt for the program; the model gets it as text.
 *
 * @example
 * const { text } = await generateText({ model, prompt, tools: aiSdkTools(client) });
 */
export function aiSdkTools(
  client: ToolClient,
  options?: ToolOptions,
): Readonly<Record<string, AiSdkTool>> {
  return byName(client, options, ({ description, inputSchema, run }) => ({
    description,
    // The SDK's own check takes fields that are not known; that of the tool does not.
    inputSchema: {
      [SCHEMA]: true,
      jsonSchema: inputSchema,
      validate: (value) => ({ success: true, value }),
    },
    execute: (input, { abortSignal }) => run(input, { signal: abortSignal }),
    toModelOutput: (given) => ({ type: 'text', value: textOf(given) }),
  }));
}

/** AI SDK 6 hands over an object with the output in it, 5 the output. */
function textOf(given: unknown): string {
  const result = isResult(given) ? given : outputOf(given);
  return result === undefined ? '' : toText(result);
}

function outputOf(given: unknown): ToolResult | undefined {
  if (typeof given !== 'object' || given === null || !('output' in given)) return undefined;
  return isResult(given.output) ? given.output : undefined;
}

function isResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && 'ok' in value && 'funds' in value;
}

/** `tool` of `@langchain/core/tools`, as far as it is used. */
export type LangChainTool<T> = (
  run: (
    input: unknown,
    config?: { readonly signal?: AbortSignal },
  ) => Promise<readonly [string, Receipt | undefined]>,
  fields: {
    readonly name: string;
    readonly description: string;
    readonly schema: Schema;
    readonly responseFormat: 'content_and_artifact';
  },
) => T;

/**
 * The tools for LangChain, made by its own `tool`. The receipt of what was paid is the artifact.
 *
 * @example
 * const model = new ChatOpenAI({ model: 'gpt-5' }).bindTools(langchainTools(client, tool));
 */
export function langchainTools<T>(
  client: ToolClient,
  tool: LangChainTool<T>,
  options?: ToolOptions,
): T[] {
  if (typeof tool !== 'function') throw refuse('tool', 'must be that of @langchain/core/tools.');
  return agentTools(client, options).map(({ name, description, inputSchema, run }) =>
    tool(
      async (input, config) => {
        const result = await run(input, { signal: config?.signal });
        return [toText(result), result.receipt];
      },
      { name, description, schema: inputSchema, responseFormat: 'content_and_artifact' },
    ),
  );
}

/** A call of a function, as models of OpenAI make it. */
export interface FunctionCall {
  readonly name: string;
  /** JSON, or what a model took for it. */
  readonly arguments: string;
}

export interface OpenAiTools {
  /** `tools` of chat completions. */
  readonly chat: readonly {
    readonly type: 'function';
    readonly function: {
      readonly name: string;
      readonly description: string;
      readonly parameters: Schema;
    };
  }[];
  /** `tools` of responses. */
  readonly responses: readonly {
    readonly type: 'function';
    readonly name: string;
    readonly description: string;
    readonly parameters: Schema;
    readonly strict: false;
  }[];
  /** Makes a call of a model; the text goes back to it, the result is for the program. */
  call(
    call: FunctionCall,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<{ readonly text: string; readonly result: ToolResult }>;
}

/**
 * The tools for function calling as OpenAI has it, and many others that speak its format.
 *
 * @example
 * const tools = openaiTools(client);
 * const answer = await openai.responses.create({ model, input, tools: tools.responses });
 */
export function openaiTools(client: ToolClient, options?: ToolOptions): OpenAiTools {
  const tools = agentTools(client, options);
  const fields = tools.map(({ name, description, inputSchema }) => ({
    ...{ name, description, parameters: inputSchema },
  }));
  return {
    chat: fields.map((one) => ({ type: 'function', function: one })),
    responses: fields.map((one) => ({ type: 'function', ...one, strict: false })),
    async call({ name, arguments: text }, callOptions) {
      const found = tools.find((one) => one.name === name);
      const result: ToolResult =
        found === undefined
          ? {
              ...{ ok: false, funds: 'untouched' },
              error: { code: 'invalid_input', message: 'There is no such tool.', retry: 'never' },
            }
          : await found.run(parse(text), callOptions);
      return { text: toText(result), result };
    },
  };
}

/** What is no JSON is no object, and is refused as such. */
function parse(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function byName<T>(
  client: ToolClient,
  options: ToolOptions | undefined,
  make: (tool: AgentTool) => T,
): Readonly<Record<string, T>> {
  return Object.fromEntries(agentTools(client, options).map((one) => [one.name, make(one)]));
}
