// A model buys goods by function calling, in the format of OpenAI. The model is a script behind a
// URL on this machine; the rest is real: `npx tsx examples/openai.ts`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from 'exact-change';
import { openaiTools } from 'exact-change/ai';
import { createSandbox } from 'exact-change-sandbox';
import OpenAI from 'openai';

const sandbox = await createSandbox();
const { rpcUrl, jupiterUrl, apiUrl } = sandbox;
const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
const client = createClient({
  ...{ walletSecretKey: secretKey, rpcUrl, jupiterUrl, autoSwap: true },
  policy: { maxPerDay: '1.00' },
});

const callOf = (args: object) => ({
  ...{ role: 'assistant', content: null },
  tool_calls: [
    {
      ...{ id: 'call', type: 'function' },
      function: { name: 'paid_fetch', arguments: JSON.stringify(args) },
    },
  ],
});
const script = [
  callOf({ url: `${apiUrl}/usdc` }),
  // A model may request a higher limit than the policy allows.
  callOf({ url: `${apiUrl}/usdc`, limit: '1000' }),
  { role: 'assistant', content: 'I have bought the answer.' },
];
const provider = createServer((request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ id: 'c', choices: [{ index: 0, message: script.shift() }] }));
});
await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
const { port } = provider.address() as AddressInfo; // Bound to TCP, so never a pipe's name or null.

const openai = new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}` });
// The sandbox sells on this machine; by default a model may not call private hosts.
const tools = openaiTools(client, { privateHosts: true });
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'user', content: 'Buy the answer.' },
];
try {
  for (;;) {
    const { choices } = await openai.chat.completions.create({
      ...{ model: 'a-model', messages },
      tools: [...tools.chat],
    });
    const message = choices[0]?.message;
    if (message === undefined) break;
    messages.push(message);
    for (const call of message.tool_calls ?? []) {
      if (call.type !== 'function') continue;
      const { text } = await tools.call(call.function);
      messages.push({ role: 'tool', tool_call_id: call.id, content: text });
      console.log(call.function.name, text);
    }
    if (message.tool_calls !== undefined) continue;
    console.log(message.content);
    break;
  }
} finally {
  provider.close();
  await client.close();
  await sandbox.close();
}
