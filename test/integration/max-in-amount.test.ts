import { address } from '@solana/kit';
import { createClient } from 'exact-change';
import { expect, test } from 'vitest';
import { tokenAccount } from '../helpers/chain.js';
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

test('a plan counts the rent of an account if its address only holds lamports', async () => {
  const plain = await sandbox.createWallet({ SOL: '1' });
  const sprinkled = await sandbox.createWallet({ SOL: '1' });
  const at = address(await tokenAccount(sprinkled.address, sandbox.mints.USDC));
  const owner = address('11111111111111111111111111111111');
  const lamports = { lamports: 5_000n, data: new Uint8Array(), owner, executable: false };
  sandbox.chain.setAccount(at, lamports);
  const costs = await Promise.all(
    [plain, sprinkled].map(async ({ secretKey }) => {
      const { rpcUrl, jupiterUrl } = sandbox;
      const client = createClient({
        walletSecretKey: secretKey,
        rpcUrl,
        jupiterUrl,
        autoSwap: true,
      });
      const plan = await client.plan(`${sandbox.apiUrl}/usdc`);
      await client.close();
      return plan.cost;
    }),
  );
  expect(costs[1]).toEqual(costs[0]);
});
