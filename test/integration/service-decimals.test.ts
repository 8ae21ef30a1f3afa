import { formatUiAmount, local, type LocalTransport } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { expect, it, onTestFinished } from 'vitest';
import { address } from '@solana/kit';
import { amountWriter } from '../../adapters/amounts.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { served } from '../helpers/served.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** A client of a service that counts tokens in the given decimals, and a token that it holds. */
async function clientOf(decimals: number) {
  const mint = await sandbox.createMint({ decimals: 6, picoUsd: 1_000_000n });
  const { rpcUrl, jupiterUrl } = sandbox;
  const transport = local({ rpcUrl, jupiterUrl });
  onTestFinished(() => transport.close());
  const balance: LocalTransport['balance'] = async (...args) =>
    (await transport.balance(...args)).map((held) =>
      held.mint === mint.address
        ? { ...held, decimals, uiAmount: formatUiAmount(BigInt(held.amount), decimals) }
        : held,
    );
  const { url, close } = await served(createHandler({ ...transport, balance }));
  onTestFinished(close);
  const payer = await payerOn(sandbox, { SOL: '0.1' }, { apiUrl: url });
  await sandbox.chain.fundToken(address(payer.address), mint, 5_000_000n);
  return { client: payer.client, mint: mint.address };
}

it('shows amounts in the decimals of the mint', async () => {
  const { client, mint } = await clientOf(6);
  expect(await client.balance()).toContainEqual(
    expect.objectContaining({ mint, uiAmount: '5', decimals: 6 }),
  );
  expect((await amountWriter(client, [mint]))(mint, '2500000')).toBe(`2.5 of ${mint}`);
});

it('shows no amount in decimals that only a service claims', async () => {
  const { client, mint } = await clientOf(9);
  for (const names of [[mint], undefined]) {
    const { details } = await failureOf(client.balance(names), 'invalid_response');
    expect(details).toMatchObject({ service: 'service' });
  }
  expect((await amountWriter(client, [mint]))(mint, '2500000')).toBe(
    `2500000 base units of ${mint}`,
  );
});

it('shows no token account that is not the one of the wallet', async () => {
  const { rpcUrl, jupiterUrl } = sandbox;
  const transport = local({ rpcUrl, jupiterUrl });
  onTestFinished(() => transport.close());
  const balance: LocalTransport['balance'] = async (...args) =>
    (await transport.balance(...args)).map((held) => ({ ...held, tokenAccount: sandbox.merchant }));
  const { url, close } = await served(createHandler({ ...transport, balance }));
  onTestFinished(close);
  const { client } = await payerOn(sandbox, { SOL: '0.1' }, { apiUrl: url });
  for (const names of [['USDC'], ['SOL'], undefined]) {
    const { details } = await failureOf(client.balance(names), 'invalid_response');
    expect(details.reason).toContain('token account');
  }
});
