// Swaps and pays with only the packed packages: the sandbox must find its on-chain program in its
// package.
const assert = require('node:assert/strict');

exports.check = async ({ createClient, receiptOf }, { createSandbox }) => {
  const sandbox = await createSandbox();
  try {
    const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
    const { rpcUrl, wsUrl, jupiterUrl, apiUrl } = sandbox;
    const client = createClient({
      walletSecretKey: secretKey,
      rpcUrl,
      wsUrl,
      jupiterUrl,
      autoSwap: true,
    });
    const response = await client.fetch(`${apiUrl}/usdc`);
    assert.equal(response.status, 200);
    const receipt = receiptOf(response);
    assert.equal(receipt.payment.mint, sandbox.mints.USDC.address);
    assert.ok(receipt.swap.signature);
    await client.close();
  } finally {
    await sandbox.close();
  }
  console.log('ok');
};
