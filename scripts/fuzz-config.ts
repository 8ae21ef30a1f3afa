import {
  address,
  createKeyPairFromBytes,
  getBase58Encoder,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getTransactionDecoder,
  partiallySignTransaction,
} from '@solana/kit';
import type { Transport } from 'exact-change';
import type { Sandbox, SandboxWallet } from 'exact-change-sandbox';
import type { WebhookRegistry } from 'exact-change/webhooks';
import { offer, paymentRequired, terms, WALLET } from './openapi-examples.js';

interface Fuzzed {
  readonly transport: Transport;
  readonly webhooks: WebhookRegistry;
  readonly apiKey: string;
}

// Each endpoint can be removed only a single time, so there are many.
const ENDPOINTS = 50;

/**
 * Returns schemathesis' configuration for a service on this sandbox: the key, the checks, and
 * values by field. It names values, because random text is rarely an address, and never a signed
 * transaction.
 */
export async function fuzzConfig(sandbox: Sandbox, fuzzed: Fuzzed): Promise<string> {
  await fundExamples(sandbox);
  const values = Object.entries(await knownValues(sandbox, fuzzed));
  const dictionaries = values.map(
    ([field, list]) => `[dictionaries.${nameOf(field)}]\nvalues = ${JSON.stringify(list)}`,
  );
  const parameters = values.map(
    ([field]) =>
      `${JSON.stringify(field)} = { dictionary = "${nameOf(field)}", probability = 0.8 }`,
  );
  return `
continue-on-failure = true
headers = { x-api-key = "${fuzzed.apiKey}" }

[generation]
max-examples = 200
database = "none"

# What JSON Schema cannot tell apart is still refused: 43 letters that are no address, a 402 with terms that cannot be read, a wallet that holds nothing.
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "403", "404", "409", "422"]
negative_data_rejection.expected-statuses = ["4xx"]

# But not what the document itself shows, other than the endpoint of another caller.
[phases.examples]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404"]

${dictionaries.join('\n\n')}

[parameters]
${parameters.join('\n')}
`;
}

const nameOf = (field: string) => field.replaceAll('.', '-');

/** Funds the wallet of the examples, and creates the token account of their seller. */
async function fundExamples({ chain, mints }: Sandbox): Promise<void> {
  chain.fundSol(address(WALLET), 1_000_000_000n);
  await chain.fundToken(address(offer.payTo), mints.USDC, 0n);
}

async function knownValues(
  sandbox: Sandbox,
  { transport, webhooks }: Fuzzed,
): Promise<Readonly<Record<string, readonly (string | number)[]>>> {
  const wallet = await sandbox.createWallet({ SOL: '1000', USDC: '1000', BONK: '1000000' });
  const wallets = [wallet.address, wallet.address, sandbox.merchant, sandbox.mints.USDC.address];
  const mints = [
    'SOL',
    'USDC',
    'NONE',
    ...Object.values(sandbox.mints).map((mint) => mint.address),
  ];
  const amounts = [
    '0',
    '1',
    '10000',
    '5000000',
    '18446744073709551615',
    '18446744073709551616',
    '-1',
    '1.5',
    '',
  ];
  const slippage = [0, 1, 50, 51];
  const { payment } = await transport.autoPay({ paymentRequired, wallet: wallet.address });
  const body = JSON.stringify(terms);
  const told = { url: 'https://shop.example.com/', events: ['payment.settled'] } as const;
  const endpoints = await Promise.all(
    Array.from({ length: ENDPOINTS }, () => webhooks.register(told)),
  );
  const ids = endpoints.map(({ id }) => id);
  return {
    id: ids,
    wallet: wallets,
    inputMint: mints,
    outputMint: mints,
    amount: amounts,
    slippageBps: slippage,
    'body.id': ids,
    'body.wallet': wallets,
    'body.inputMint': mints,
    'body.outputMint': mints,
    'body.amount': amounts,
    'body.swapMode': ['ExactIn', 'ExactOut'],
    'body.slippageBps': slippage,
    'body.body': [body],
    'body.paymentRequired.body': [body],
    'body.signedPayment': [await signed(wallet, payment!.transaction)],
  };
}

async function signed({ secretKey }: SandboxWallet, transaction: string): Promise<string> {
  const keys = await createKeyPairFromBytes(getBase58Encoder().encode(secretKey));
  return getBase64EncodedWireTransaction(
    await partiallySignTransaction(
      [keys],
      getTransactionDecoder().decode(getBase64Encoder().encode(transaction)),
    ),
  );
}
