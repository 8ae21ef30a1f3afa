import type { ClientOptions } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { expect, it, onTestFinished } from 'vitest';
import { buildClient } from '../../src/client.js';
import { parts } from '../../src/parts.js';
import { X402_HEADERS } from '../../src/protocols/x402/index.js';
import type { SwapSource } from '../../src/swaps/provider.js';
import { swapSources } from '../../src/swaps/sources.js';
import { decided } from '../helpers/flow.js';
import { openKiosk } from '../helpers/kiosk.js';
import { failureOf, recordingSigner } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

// These tests show that a source of swaps is one folder and one line: the clients below have two
// sources, and only test/helpers/kiosk.ts knows the form of the second.

const sandbox = await useSandbox({ confirmationMs: 20 });
const kiosk = await openKiosk(sandbox);

async function payer(
  sources: readonly SwapSource[],
  funds: Partial<Record<MintSymbol, string>> = { SOL: '0.1', USDT: '5' },
  options: ClientOptions = {},
) {
  kiosk.asked.length = 0;
  kiosk.lie = undefined;
  const { address, secretKey } = await sandbox.createWallet(funds);
  const { signer, signed } = recordingSigner(address, secretKey);
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const client = buildClient(
    { rpcUrl, wsUrl, jupiterUrl, signer, autoSwap: true, ...options },
    {
      headers: X402_HEADERS,
      load: () => Promise.resolve({ ...parts, sources }),
    },
  );
  onTestFinished(() => client.close());
  return { client, signed, address };
}

it.each([
  ['USDT', { SOL: '0.1', USDT: '5' }],
  ['SOL', { SOL: '0.1' }],
] as const)('pays out of %s with the second source alone', async (symbol, funds) => {
  const { client, signed, address } = await payer([kiosk], funds);
  const before = await sandbox.balance(address, symbol);
  const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
  expect(response.status).toBe(200);
  const receipt = await decided(response);
  expect(receipt).toMatchObject({ state: 'settled', swap: { provider: 'kiosk' } });
  expect(await sandbox.balance(address, symbol)).toBeLessThan(before);
  expect(signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
});

it('asks the second source only if the first has no route', async () => {
  // Of two tokens, a client may take the one that is quoted first.
  const { client } = await payer([...swapSources, kiosk], undefined, { swapFrom: ['USDT'] });
  const first = await client.quote({ inputMint: 'USDT', outputMint: 'USDC', amount: '1000000' });
  expect([first.provider === 'kiosk', kiosk.asked]).toEqual([false, []]);
  sandbox.controls.aggregator.noRoute('USDT', 'USDC');
  onTestFinished(() => sandbox.controls.aggregator.restore());
  const second = await client.quote({ inputMint: 'USDT', outputMint: 'USDC', amount: '1000000' });
  expect(second.provider).toBe('kiosk');
  const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
  expect(await decided(response)).toMatchObject({ swap: { provider: 'kiosk' } });
});

it.each([
  ['pays into another account', 2, 'swap_destination'],
  ['takes from another account', 1, 'swap_source'],
  ['brings another token', 4, 'swap_output_mint'],
] as const)('signs no instruction of the second source that %s', async (_, place, rule) => {
  const { client, signed } = await payer([kiosk]);
  kiosk.lie = (instruction) => ({
    ...instruction,
    accounts: instruction.accounts.map((account, index) =>
      index === place ? { ...account, address: sandbox.merchant } : account,
    ),
  });
  const error = await failureOf(client.fetch(`${sandbox.apiUrl}/usdc`), 'unsafe_swap');
  expect([error.details.rule, signed]).toEqual([rule, []]);
});

it('signs no instruction of the second source that breaks the rule of that source', async () => {
  const { client, signed } = await payer([kiosk]);
  kiosk.lie = (instruction) => ({ ...instruction, data: instruction.data.slice(1) });
  const error = await failureOf(client.fetch(`${sandbox.apiUrl}/usdc`), 'unsafe_swap');
  expect([error.details.rule, signed]).toEqual(['kiosk_form', []]);
});

it('signs nothing for a second source that the client does not know', async () => {
  const { decoder } = swapSources[0] ?? kiosk;
  const { client, signed } = await payer([{ ...kiosk, decoder }]);
  const error = await failureOf(client.fetch(`${sandbox.apiUrl}/usdc`), 'unsafe_swap');
  expect([error.details.rule, signed]).toEqual(['swap_program', []]);
});
