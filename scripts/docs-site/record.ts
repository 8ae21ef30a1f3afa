import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createClient, settled, type ClientEvent } from 'exact-change';
import { createSandbox } from 'exact-change-sandbox';

/** A recorded paid call; the page steps through it. */
export interface Recording {
  readonly holds: string;
  readonly steps: readonly Step[];
}

/** A message between two parties, or an event of the client. */
export interface Step {
  /** Milliseconds since the call began. */
  readonly after: number;
  readonly message: Message | ClientEvent;
}

interface Message {
  readonly type: 'http';
  readonly to: 'seller' | 'jupiter' | 'solana';
  /** Method and path; for a node, the RPC method. */
  readonly request: string;
  /** Payment header of the request, as JSON. */
  readonly payment?: unknown;
  readonly status: number;
  /** Terms of the 402, as JSON. */
  readonly terms?: unknown;
}

export const PLACE = fileURLToPath(new URL('../../docs/site/payment.json', import.meta.url));

/** Records a purchase for USDC by a wallet that holds only SOL: a swap and a payment. */
export async function recordPayment(): Promise<Recording> {
  const sandbox = await createSandbox();
  const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
  const steps: Step[] = [];
  const began = Date.now();
  const note = (message: Step['message']): void =>
    void steps.push({ after: Date.now() - began, message });
  const client = createClient({
    ...{ walletSecretKey: secretKey, autoSwap: true },
    ...{ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl },
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const response = await fetch(request);
      const { origin, pathname } = new URL(request.url);
      if (origin === new URL(sandbox.apiUrl).origin)
        note({
          ...{ type: 'http', to: 'seller', request: `${request.method} ${pathname}` },
          ...partOf('payment', request.headers.get('payment-signature')),
          status: response.status,
          ...partOf('terms', response.headers.get('payment-required')),
        });
      return response;
    },
  });
  client.on('*', note);
  try {
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    await response.text();
    await settled(response);
  } finally {
    await client.close();
    await sandbox.close();
  }
  return { holds: '0.5 SOL', steps };
}

/** Decodes an x402 header, which is JSON in base64. */
function partOf(name: 'payment' | 'terms', header: string | null): object {
  if (header === null) return {};
  return { [name]: JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as unknown };
}

/** Returns the parts of a recording that every run has in common: names, and types of values. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  const parts = Object.entries(value).map(
    ([key, part]) =>
      [key, key === 'type' || key === 'status' ? (part as unknown) : shapeOf(part)] as const,
  );
  return Object.fromEntries(parts);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(PLACE, `${JSON.stringify(await recordPayment(), null, 2)}\n`);
