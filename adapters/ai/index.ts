/**
 * Tools with which a model buys: for the AI SDK, LangChain, OpenAI's function calling, or any other
 * loop.
 *
 * @module exact-change/ai
 */
export {
  agentTools,
  type AgentTool,
  type JsonSchema,
  type SwapApproval,
  type ToolClient,
  type ToolOptions,
} from './tools.js';
export { toText, type ToolError, type ToolResult } from './result.js';
export {
  aiSdkTools,
  langchainTools,
  openaiTools,
  type AiSdkTool,
  type FunctionCall,
  type LangChainTool,
  type OpenAiTools,
} from './shapes.js';
