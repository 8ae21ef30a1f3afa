import { expect, it } from 'vitest';
import { runExample, type ExampleRun } from '../helpers/example.js';
import { blockWith, isShownAs } from '../helpers/guides.js';

const demo = (...args: readonly string[]) => runExample('demo', ...args);

/** Returns the lines that a step of the demo printed, without their times. */
const step = ({ stdout }: ExampleRun, name: string): string[] =>
  stdout.split('\n').flatMap((line) => {
    const match = /^ *\d+ ms {2}(\S+) +(.*)$/.exec(line);
    return match?.[1] === name ? [match[2] ?? ''] : [];
  });

it('prints every step of a call that swaps and pays, as the README shows it', async () => {
  const run = await demo();
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const order = [
    'sandbox',
    'agent',
    'fetch',
    '402',
    'terms',
    'balance',
    'quote',
    'swap',
    'payment',
    'answer',
    'settlement',
    'merchant',
  ];
  for (const name of order) expect(step(run, name), name).not.toEqual([]);

  const [signed = '', confirmed = ''] = step(run, 'swap');
  const [claimed = '', shown = ''] = step(run, 'settlement');
  const signature = /: (\S+)$/;
  const receipt: unknown = JSON.parse(/^receipt (\{.*?^\})$/ms.exec(run.stdout)?.[1] ?? 'null');
  expect(receipt).toMatchObject({
    state: 'settled',
    swap: {
      signature: signature.exec(signed)?.[1],
      inputMint: 'So11111111111111111111111111111111111111112',
    },
    payment: { amount: '10000', signature: signature.exec(shown)?.[1] },
    settlement: { success: true, transaction: signature.exec(claimed)?.[1] },
  });
  expect(confirmed).toContain('became 0.05 USDC');
  expect(step(run, 'answer')).toEqual([
    '200 {"ok":true,"path":"/usdc","method":"GET","body":null}',
  ]);
  const [, before = '', after = ''] = step(run, 'agent');
  expect([before, after]).toEqual([
    expect.stringContaining('0 USDC'),
    expect.stringContaining('0.04 USDC'),
  ]);
  expect(step(run, 'merchant')[0]).toMatch(/ got 0\.01 USDC$/);

  const lines = run.stdout.split('\n').map((line) => line.replace(/^ *\d+ ms {2}/, ''));
  const documented = blockWith('README.md', 'npm run demo').printed.trim().split('\n');
  expect(documented.length).toBeGreaterThan(4);
  expect(documented.filter((text) => !lines.some((line) => isShownAs(line, text)))).toEqual([]);
});

it('fails when no facilitator settles', async () => {
  const run = await demo('--without-facilitator');
  expect(run.code).not.toBe(0);
  expect(step(run, 'answer')).toEqual([]);
  expect(run.stderr).toContain('payment_rejected');
});
