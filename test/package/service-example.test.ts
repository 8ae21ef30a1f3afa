import { expect, it } from 'vitest';
import { runExample, type ExampleRun } from '../helpers/example.js';

/** Returns the lines that the service or the agent printed, in order. */
const said = ({ stdout }: ExampleRun, speaker: string): string[] =>
  stdout
    .split('\n')
    .flatMap((line) => (line.startsWith(speaker) ? [line.slice(speaker.length).trim()] : []));

it('calls the service once for the swap, and not again for the next payment', async () => {
  const run = await runExample('service');
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(said(run, 'service')).toEqual(['POST /pay/api/x402/auto-pay']);
  expect(said(run, 'agent')).toEqual([
    expect.stringContaining('holds 0.5 SOL'),
    'was answered 200 {"ok":true,"path":"/usdc","method":"GET","body":null}',
    expect.stringMatching(/^paid 0\.01 USDC: [1-9A-HJ-NP-Za-km-z]{64,88}$/),
    expect.stringMatching(/^after a swap that it signed itself: [1-9A-HJ-NP-Za-km-z]{64,88}$/),
    'paid once more, from what the swap had brought',
  ]);
});

it('fails when the service does not know the API key, and does not print the key', async () => {
  const run = await runExample('service', '--wrong-key');
  expect(run.code).not.toBe(0);
  expect(run.stderr).toContain('The caller is not known');
  expect(run.stdout + run.stderr).not.toContain('some-other-key');
});
