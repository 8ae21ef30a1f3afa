import type { Plan } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { approveOnTerminal } from '../../../adapters/cli/approve.js';
import { createProgress } from '../../../adapters/cli/progress.js';
import { terminalOf } from '../../../adapters/cli/terminal.js';

const TOP_UP: Plan = {
  ...{ url: 'top-up:usdc', method: 'SWAP', status: 0, refused: [], maxFeeLamports: '1', caps: [] },
};

/** Returns the answer for a plan, the terminal output, and the reasons of aborted calls. */
async function approving(plan: Plan, yes: boolean, policy: object = { maxPerPayment: '1' }) {
  const [said, ended] = [new Array<string>(), new Array<unknown>()];
  const { stdin, stdout, stderr, env } = process;
  const terminal = { ...terminalOf({ env, stdin, stdout, stderr }), canAsk: false };
  const settings = { journal: '', configFile: undefined, policy };
  const approve = approveOnTerminal({
    ...{ yes, settings, network: 'solana', abort: (reason: unknown) => void ended.push(reason) },
    terminal: { ...terminal, say: (text: string) => void said.push(text) },
    wallet: {
      ...{ source: '', isEncrypted: false, unlock: async () => undefined },
      signer: { address: '', signMessage: async () => new Uint8Array() },
    },
    progress: createProgress(terminal, true, 'solana'),
  });
  return { answer: await approve(plan).catch((error: unknown) => error), said, ended };
}

describe('the approval on a terminal', () => {
  it('approves a top-up only with --yes, and never asks about it', async () => {
    expect(await approving(TOP_UP, false)).toEqual({ answer: false, said: [], ended: [] });
    expect(await approving(TOP_UP, true)).toEqual({ answer: true, said: [], ended: [] });
  });

  it.each([{}, { maxPerPayment: undefined }, { maxPerPayment: null }])(
    'refuses --yes beside caps that do not limit a payment: %j',
    async (policy) => {
      const refused = approving(TOP_UP, true, policy);
      await expect(refused).rejects.toMatchObject({ code: 'invalid_option' });
    },
  );
});
