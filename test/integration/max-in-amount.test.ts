import { createClient } from 'exact-change';
import { expect, test } from 'vitest';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

test('tries the next token when a swap would take more than policy.maxInAmount', async () => {
  const { secretKey, address } = await sandbox.createWallet({ SOL: '1', BONK: '1000000' });
  const { rpcUrl, jupiterUrl } = sandbox;
  const policy = { maxInAmount: { SOL: '1000' } };
  const client = createClient({
    walletSecretKey: secretKey,
    rpcUrl,
    jupiterUrl,
    autoSwap: true,
    policy,
  });

  const refused = client.swap({ inputMint: 'SOL', outputMint: 'USDC', amount: '1001' });
  await expect(refused).rejects.toMatchObject({
    code: 'amount_over_limit',
    funds: 'untouched',
    details: { cap: 'maxInAmount', limit: '1000', amount: '1001' },
  });

  const bonk = await sandbox.balance(address, 'BONK');
  const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
  expect(response.status).toBe(200);
  expect(await sandbox.balance(address, 'BONK')).toBeLessThan(bonk);
  await client.close();
});
