import { refuse } from '../../src/internal/options.js';
import type { Receipt } from '../../src/receipt.js';
import { refusal, toText, type ToolResult } from './result.js';
import { agentTools, type JsonSchema, type ToolClient, type ToolOptions } from './tools.js';

/** A tool of the AI SDK (the package `ai`, 6 or newer). */
export interface AiSdkTool {
  readonly description: string;
  /** A Standard Schema, which the SDK takes in place of a schema of its own. */
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
 * Creates the tools for `generateText` and `streamText` of the AI SDK. A result is a `ToolResult`
 * with the receipt for the program; the model gets it as text.
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
      // The tool itself checks the input, so that the model gets the tool's own message.
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

/** The class `DynamicStructuredTool` of `@langchain/core/tools`, with the fields that are used. */
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
 * Creates the tools for LangChain with its own class. The receipt of a payment is the artifact.
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

/** A function call, as models of OpenAI make it. */
export interface FunctionCall {
  readonly name: string;
  /** Text that should be JSON, as the model wrote it. */
  readonly arguments: string;
}

export interface OpenAiTools {
  /** `tools` of the Chat Completions API. */
  readonly chat: readonly {
    readonly type: 'function';
    readonly function: {
      readonly name: string;
      readonly description: string;
      readonly parameters: JsonSchema;
    };
  }[];
  /** `tools` of the Responses API. */
  readonly responses: readonly {
    readonly type: 'function';
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonSchema;
    readonly strict: false;
  }[];
  /** Runs the call of a model. The text goes back to the model; the result is for the program. */
  call(
    call: FunctionCall,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<{ readonly text: string; readonly result: ToolResult }>;
}

/**
 * Creates the tools for function calling in the format of OpenAI, which many other services take.
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
    chat: fields.map((definition) => ({ type: 'function', function: definition })),
    responses: fields.map((definition) => ({ type: 'function', ...definition, strict: false })),
    async call({ name, arguments: text }, callOptions) {
      const called = tools.find((tool) => tool.name === name);
      const result =
        called === undefined
          ? refusal('invalid_input', 'There is no such tool.')
          : await called.run(parse(text), callOptions);
      return { text: toText(result), result };
    },
  };
}

/** Parses arguments. Text that is no JSON stays text, and the tool refuses it as no object. */
function parse(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
