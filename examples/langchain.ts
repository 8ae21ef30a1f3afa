// A model of LangChain buys goods; the program gets the receipt of each payment as an artifact. The
// model follows a script; the rest is real: `npx tsx examples/langchain.ts`.
import { AIMessageChunk, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { DynamicStructuredTool } from '@langchain/core/tools';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { createClient } from 'exact-change';
import { langchainTools } from 'exact-change/ai';
import { createSandbox } from 'exact-change-sandbox';

const sandbox = await createSandbox();
const { rpcUrl, jupiterUrl, apiUrl } = sandbox;
const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
const client = createClient({
  ...{ walletSecretKey: secretKey, rpcUrl, jupiterUrl, autoSwap: true },
  policy: { maxPerDay: '1.00' },
});

const callOf = (args: object) => ({
  name: 'paid_fetch',
  args: JSON.stringify(args),
  id: 'call',
  index: 0,
});
const script = [
  new AIMessageChunk({ content: '', tool_call_chunks: [callOf({ url: `${apiUrl}/usdc` })] }),
  // A model may request a higher limit than the policy allows.
  new AIMessageChunk({
    content: '',
    tool_call_chunks: [callOf({ url: `${apiUrl}/usdc`, limit: '1000' })],
  }),
  new AIMessageChunk('I have bought the answer.'),
];

// The sandbox sells on this machine; by default a model may not call private hosts.
const tools = langchainTools(client, DynamicStructuredTool, { privateHosts: true });
const messages: BaseMessage[] = [];
try {
  for (const chunk of script) {
    const model = new FakeStreamingChatModel({ chunks: [chunk] });
    const stream = await model.bindTools(tools).stream(messages);
    for await (const message of stream) {
      messages.push(message);
      for (const call of message.tool_calls ?? []) {
        const answer: unknown = await tools
          .find(({ name }) => name === call.name)
          ?.invoke({ ...call, type: 'tool_call' })
          // LangChain checks the arguments of a call before the tool, and throws.
          .catch((error: unknown) => new ToolMessage(String(error), call.id ?? ''));
        if (!(answer instanceof ToolMessage)) continue;
        messages.push(answer);
        console.log(call.name, answer.content, JSON.stringify(answer.artifact));
      }
    }
  }
  console.log(messages.at(-1)?.content);
} finally {
  await client.close();
  await sandbox.close();
}
