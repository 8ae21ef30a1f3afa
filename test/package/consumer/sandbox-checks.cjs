// A swap and a payment with the packed package alone: the sandbox finds its on-chain program in the
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
