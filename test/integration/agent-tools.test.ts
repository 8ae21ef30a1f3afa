import { expect, it, onTestFinished, vi } from 'vitest';

/** What an example prints. It runs here: three more processes would take longer than all it does. */
async function linesOf(example: () => Promise<unknown>): Promise<string> {
  const lines: unknown[][] = [];
  const spy = vi.spyOn(console, 'log').mockImplementation((...line) => void lines.push(line));
  onTestFinished(() => spy.mockRestore());
  await example();
  return lines.map((line) => line.map(String).join(' ')).join('\n');
}

it.each([
  ['the AI SDK', () => import('../../examples/ai-sdk.js'), 'limit is no field of this tool'],
  ['LangChain', () => import('../../examples/langchain.js'), 'did not match expected schema'],
  ['OpenAI', () => import('../../examples/openai.js'), 'limit is no field of this tool'],
] as const)('a model of %s buys within limits that it cannot change', async (_, run, refusal) => {
  const printed = await linesOf(run);
  const [paid = '', ...rest] = printed.split(/\n(?=paid_fetch |I have)/);
  expect(paid).toMatch(/^paid_fetch \{"ok":true,"funds":"spent".*"paid":"0\.01 USDC"/);
  expect(paid).toMatch(/<untrusted-(\w{18})>(\\n|\n)\{\\?"ok\\?":true.*(\\n|\n)<\/untrusted-\1>/);
  expect(rest[0]).toContain(refusal);
  expect(printed).toMatch(/I have bought the answer\.$/);
});
