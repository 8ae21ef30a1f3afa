import {
  local,
  type Journal,
  type LocalOptions,
  type LocalTransport,
  type PaymentResult,
} from 'exact-change';
import { createHandler } from 'exact-change/http';
import type { Sandbox, SandboxWallet } from 'exact-change-sandbox';
import { onTestFinished } from 'vitest';
import { termsOf } from '../contract/transport-contract.js';
import { until } from './chain.js';
import { signedByKit } from './flow.js';
import { served } from './served.js';

/** A service, reachable over a real socket. */
export interface AutoPayService {
  readonly url: string;
  readonly transport: LocalTransport;
  close(): Promise<void>;
}

/** Starts such a service until the end of the test. */
export async function startService(
  sandbox: Sandbox,
  journal: Journal | undefined,
  options: Partial<LocalOptions> = {},
): Promise<AutoPayService> {
  const transport = local({
    rpcUrl: sandbox.rpcUrl,
    jupiterUrl: sandbox.jupiterUrl,
    journal,
    ...options,
  });
  const { url, close } = await served(createHandler(transport));
  const service = {
    url,
    transport,
    async close() {
      await close();
      await transport.close();
    },
  };
  onTestFinished(() => service.close());
  return service;
}

export interface Answer {
  readonly status: number;
  readonly body: PaymentResult & {
    readonly code?: string;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

/** A purchase by a caller that has only `fetch` and a signer. */
export interface Buyer {
  /** Terms of the seller's 402, fetched a single time. */
  readonly paymentRequired: Awaited<ReturnType<typeof termsOf>>;
  post(service: { readonly url: string }, more?: object): Promise<Answer>;
  sign(transaction: string | undefined): Promise<string>;
  present(answer: Answer): Promise<Response>;
}

export async function buyerOf(
  wallet: SandboxWallet,
  url: string,
  fixed: object = {},
): Promise<Buyer> {
  const paymentRequired = await termsOf(url);
  return {
    paymentRequired,
    async post(service, more = {}) {
      const response = await fetch(`${service.url}/api/x402/auto-pay`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          paymentRequired,
          wallet: wallet.address,
          autoSwap: true,
          ...fixed,
          ...more,
        }),
      });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    },
    sign: async (transaction) => (await signedByKit(wallet, transaction)).wire,
    present: ({ body: { header } }) =>
      fetch(url, { headers: { [header?.name ?? '']: header?.value ?? '' } }),
  };
}

/** Calls `ask` until the answered step is in the given state. */
export function untilState(
  state: PaymentResult['state'],
  ask: () => Promise<Answer>,
): Promise<Answer> {
  return until(`the answer is ${state}`, async () => {
    const answer = await ask();
    return answer.body.state === state ? answer : undefined;
  });
}
