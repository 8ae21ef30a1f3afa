import { refuse } from '../../src/internal/options.js';
import type { Receipt } from '../../src/receipt.js';
import { refusal, toText, type ToolResult } from './result.js';
import { agentTools, type JsonSchema, type ToolClient, type ToolOptions } from './tools.js';

/** A tool of the AI SDK (the package `ai`, 6 or newer). */
export interface AiSdkTool {
  readonly description: string;
  /** A Standard Schema, which the SDK takes without its own. */
  readonly inputSchema: {
    readonly '~standard': {
      readonly version: 1;
      readonly vendor: 'exact-change';
      validate(value: unknown): { readonly value: unknown };
      readonly jsonSchema: Readonly<Record<'input' | 'output', () => Record<string, unknown>>>;
    };
  };
  execute(
    input: unknown,
    options: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<ToolResult>;
  toModelOutput(given: { readonly output: ToolResult }): {
    readonly type: 'text';
    readonly value: string;
  };
}

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
  const tools = agentTools(client, options).map(
    ({ name, description, inputSchema, run }): [string, AiSdkTool] => {
      const jsonSchema = () => ({ ...inputSchema });
      // What is wrong with the input is the tool's to say: it says it to the model.
      const validate = (value: unknown) => ({ value });
      const standard = { version: 1, vendor: 'exact-change', validate } as const;
      return [
        name,
        {
          description,
          inputSchema: {
            '~standard': { ...standard, jsonSchema: { input: jsonSchema, output: jsonSchema } },
          },
          execute: (input, { abortSignal }) => run(input, { signal: abortSignal }),
          toModelOutput: ({ output }) => ({ type: 'text', value: toText(output) }),
        },
      ];
    },
  );
  return Object.fromEntries(tools);
}

/** `DynamicStructuredTool` of `@langchain/core/tools`, as far as it is used. */
export type LangChainTool<T> = new (fields: {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly responseFormat: 'content_and_artifact';
  func(
    input: unknown,
    manager?: unknown,
    config?: { readonly signal?: AbortSignal },
  ): Promise<[string, Receipt | undefined]>;
}) => T;

/**
 * The tools for LangChain, made by its own class. The receipt of what was paid is the artifact.
 *
 * Throws `ConfigError` (`invalid_option`) at once if the class or the options are wrong.
 *
 * @example
 * const tools = langchainTools(client, DynamicStructuredTool);
 * const model = new ChatOpenAI({ model: 'gpt-5' }).bindTools(tools);
 */
export function langchainTools<T>(
  client: ToolClient,
  Tool: LangChainTool<T>,
  options?: ToolOptions,
): T[] {
  if (typeof Tool !== 'function')
    throw refuse('Tool', 'must be DynamicStructuredTool of @langchain/core/tools.');
  return agentTools(client, options).map(
    ({ name, description, inputSchema, run }) =>
      new Tool({
        ...{ name, description, schema: inputSchema, responseFormat: 'content_and_artifact' },
        async func(input, _, config) {
          const result = await run(input, { signal: config?.signal });
          return [toText(result), result.receipt];
        },
      }),
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
      readonly parameters: JsonSchema;
    };
  }[];
  /** `tools` of responses. */
  readonly responses: readonly {
    readonly type: 'function';
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonSchema;
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
      const result =
        found === undefined
          ? refusal('invalid_input', 'There is no such tool.')
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
