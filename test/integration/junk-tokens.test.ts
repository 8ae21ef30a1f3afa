import { address, generateKeyPairSigner } from '@solana/kit';
import { receiptOf } from 'exact-change';
import { expect, it } from 'vitest';
import { mintBytes, TOKEN } from '../helpers/mint-bytes.js';
import { payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** Sends the wallet a trillion of a token without a market. */
async function litter(payer: Payer): Promise<void> {
  const { address: mint } = await generateKeyPairSigner();
  sandbox.chain.setAccount(mint, {
    lamports: 10n ** 9n,
    data: mintBytes(6),
    owner: address(TOKEN),
    executable: false,
  });
  const junk = { ...sandbox.mints.BONK, address: mint, decimals: 6 };
  await sandbox.chain.fundToken(address(payer.address), junk, 10n ** 18n);
}

it('pays with the only token that has a market, out of a wallet full of junk', async () => {
  // The SOL pays the fees, and is too little to be swapped itself.
  const payer = await payerOn(sandbox, { SOL: '0.007', BONK: '1000000' }, { autoSwap: true });
  for (let count = 0; count < 5; count++) await litter(payer);
  const response = await payer.client.fetch(`${sandbox.apiUrl}/usdc`);
  expect(response.status).toBe(200);
  expect(receiptOf(response)?.swap?.inputMint).toBe(sandbox.mints.BONK.address);
});
