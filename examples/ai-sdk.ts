// A model of the AI SDK buys goods within limits that it cannot change. The model follows a script;
// the rest is real and runs on this machine: `npx tsx examples/ai-sdk.ts`.
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { createClient } from 'exact-change';
import { aiSdkTools } from 'exact-change/ai';
import { createSandbox } from 'exact-change-sandbox';

const sandbox = await createSandbox();
const { rpcUrl, jupiterUrl, apiUrl } = sandbox;
const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
const client = createClient({
  ...{ walletSecretKey: secretKey, rpcUrl, jupiterUrl, autoSwap: true },
  policy: { maxPerDay: '1.00' },
});

const calls = [
  { name: 'paid_fetch', input: { url: `${apiUrl}/usdc` } },
  // A model may request a higher limit than the policy allows.
  { name: 'paid_fetch', input: { url: `${apiUrl}/usdc`, limit: '1000' } },
  { name: 'budget', input: {} },
];
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
let step = 0;
const model = new MockLanguageModelV3({
  doGenerate: async () => {
    const call = calls[step++];
    return {
      ...{ usage, warnings: [] },
      finishReason: { unified: call === undefined ? 'stop' : 'tool-calls', raw: undefined },
      content: [
        call === undefined
          ? { type: 'text', text: 'I have bought the answer.' }
          : {
              ...{ type: 'tool-call', toolCallId: `${step}`, toolName: call.name },
              input: JSON.stringify(call.input),
            },
      ],
    };
  },
});

try {
  const { text, steps } = await generateText({
    model,
    prompt: 'Buy the answer.',
    // The sandbox sells on this machine; by default a model may not call private hosts.
    tools: aiSdkTools(client, { privateHosts: true }),
    stopWhen: stepCountIs(5),
  });
  for (const { toolName, output } of steps.flatMap(({ toolResults }) => toolResults))
    console.log(toolName, JSON.stringify(output));
  console.log(text);
} finally {
  await client.close();
  await sandbox.close();
}
