import { expect, it } from 'vitest';
import { runExample } from '../helpers/example.js';

it.each([
  ['ai-sdk', 'limit is no field of this tool'],
  ['langchain', 'did not match expected schema'],
  ['openai', 'limit is no field of this tool'],
])(
  'lets the model of examples/%s.ts buy within limits that it cannot change',
  async (name, refusal) => {
    const { code, stdout, stderr } = await runExample(name);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [paid = '', refused] = stdout.split(/\n(?=paid_fetch |I have)/);
    expect(paid).toMatch(/^paid_fetch \{"ok":true,"funds":"spent".*"paid":"0\.01 USDC"/);
    expect(paid).toMatch(/<untrusted-(\w{18})>(\\n|\n)\{\\?"ok\\?":true.*(\\n|\n)<\/untrusted-\1>/);
    expect(refused).toContain(refusal);
    expect(stdout).toMatch(/I have bought the answer\.\n$/);
  },
);
