// An agent holds SOL and BONK, and an API demands USDC. Everything is real and runs on this
// machine: `npm run demo`.
// With `--without-facilitator` no payment settles, so the demo must fail.
import { HTTPInterceptor, formatUiAmount, settled, type ClientEvent } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';

const startedAt = Date.now();
const say = (step: string, text: string) => {
  process.stdout.write(
    `${String(Date.now() - startedAt).padStart(5)} ms  ${step.padEnd(11)} ${text}\n`,
  );
};

const sandbox = await createSandbox();
say(
  'sandbox',
  `Solana node ${sandbox.rpcUrl}, aggregator ${sandbox.jupiterUrl}, facilitator ${sandbox.facilitatorUrl}`,
);
try {
  await run(sandbox);
} finally {
  await sandbox.close();
}

async function run(sandbox: Sandbox): Promise<void> {
  const agent = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
  const held = await balances(sandbox, agent.address);
  const earned = await sandbox.balance(sandbox.merchant, 'USDC');
  say('agent', `${agent.address} holds ${held}`);
  if (process.argv.includes('--without-facilitator')) {
    await sandbox.controls.facilitator.stop();
    say('facilitator', 'stopped: no payment settles now');
  }

  const { rpcUrl, jupiterUrl } = sandbox;
  const interceptor = new HTTPInterceptor({
    walletSecretKey: agent.secretKey,
    rpcUrl,
    jupiterUrl,
    autoSwap: true,
  });
  interceptor.client.on('*', (event) => describe(sandbox, event));
  try {
    const url = `${sandbox.apiUrl}/usdc`;
    say('fetch', url);
    const response = await fetch(url);
    say('answer', `${response.status} ${await response.text()}`);
    const receipt = await settled(response);
    if (receipt?.state !== 'settled') throw new Error('the payment is not settled');
    process.stdout.write(`\nreceipt ${JSON.stringify(receipt, null, 2)}\n\n`);
  } finally {
    interceptor.restore();
    await interceptor.client.close();
  }
  say('agent', `before ${held}`);
  say('agent', `after  ${await balances(sandbox, agent.address)}`);
  const grown = (await sandbox.balance(sandbox.merchant, 'USDC')) - earned;
  say(
    'merchant',
    `${sandbox.merchant} got ${ui(sandbox, sandbox.mints.USDC.address, grown.toString())}`,
  );
}

async function balances(sandbox: Sandbox, address: string): Promise<string> {
  const symbols = ['SOL', 'BONK', 'USDC'] as const;
  const amounts = await Promise.all(symbols.map((symbol) => sandbox.balance(address, symbol)));
  return symbols
    .map((symbol, index) => ui(sandbox, sandbox.mints[symbol].address, String(amounts[index])))
    .join(', ');
}

/** Formats base units as whole tokens, with the symbol. */
function ui(sandbox: Sandbox, mint: string, amount: string): string {
  const token = Object.values(sandbox.mints).find(({ address }) => address === mint);
  return token === undefined
    ? `${amount} of ${mint}`
    : `${formatUiAmount(BigInt(amount), token.decimals)} ${token.symbol}`;
}

function describe(sandbox: Sandbox, event: ClientEvent): void {
  const token = (mint: string, amount: string) => ui(sandbox, mint, amount);
  switch (event.type) {
    case 'payment.required':
      return say('402', `Payment Required, ${event.offers} offer(s)`);
    case 'payment.chosen':
      return say(
        'terms',
        `${token(event.mint, event.amount)} to ${event.payTo} on ${event.network}`,
      );
    case 'balance.checked':
      return say(
        'balance',
        `${token(event.mint, event.available)} held, ${token(event.mint, event.missing)} missing`,
      );
    case 'swap.quoted':
      return say(
        'quote',
        `${token(event.inputMint, event.inAmount)} (at most ${token(event.inputMint, event.maxInAmount)}) for ${token(event.outputMint, event.outAmount)}`,
      );
    case 'swap.signed':
      return say('swap', `checked, signed, sent: ${event.signature}`);
    case 'swap.confirmed':
      return say(
        'swap',
        `confirmed: ${token(event.inputMint, event.inAmount)} became ${token(event.outputMint, event.outAmount)}, fee ${event.feeLamports} lamports`,
      );
    case 'payment.signed':
      return say('payment', `signed: ${event.payerSignature}`);
    case 'payment.sent':
      return say('payment', 'presented with the same request');
    case 'payment.answered':
      return say(
        'settlement',
        `the seller says: ${event.receipt.settlement?.transaction ?? 'nothing'}`,
      );
    case 'payment.settled':
      return say('settlement', `your RPC node shows it: ${event.receipt.payment.signature ?? ''}`);
    case 'payment.failed':
    case 'payment.uncertain':
      return say('failed', event.code);
    default:
      return;
  }
}
