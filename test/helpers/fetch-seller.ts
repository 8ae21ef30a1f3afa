import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  decodePaymentSignatureHeader,
  encodePaymentRequiredHeader,
  encodePaymentResponseHeader,
} from '@x402/core/http';
import type { PaymentRequired, PaymentRequirements, SettleResponse } from '@x402/core/types';
import type { Sandbox } from 'exact-change-sandbox';
import { MAINNET, PRICE, startRecorder, type Recorder } from './fetch-twins.js';

type Handle = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** An entry of `accepts` in x402 version 1. */
export interface LegacyRequirements extends Omit<PaymentRequirements, 'amount' | 'network'> {
  readonly network: 'solana';
  readonly maxAmountRequired: string;
  readonly resource: string;
}

export interface SellerOptions {
  /** Answers a request without a payment; default: 402 with the terms in the header. */
  readonly refuse?: Handle;
  /** Answers a paid request; default: 200 and a text. Settlement headers are set already. */
  readonly serve?: Handle;
  /** Requirements against which payments of version 1 are settled. */
  readonly legacy?: LegacyRequirements;
  /** False if the seller accepts payments and never settles them. */
  readonly settles?: boolean;
}

/** Returns terms of version 2 for a payment in USDC to the merchant. */
export function termsOf(sandbox: Sandbox, amount = PRICE): PaymentRequired {
  return {
    x402Version: 2,
    error: 'pay first',
    resource: { url: 'http://seller.test/' },
    accepts: [requirementsOf(sandbox, amount)],
  };
}

export function requirementsOf(sandbox: Sandbox, amount = PRICE): PaymentRequirements {
  return {
    scheme: 'exact',
    network: MAINNET,
    amount: amount.toString(),
    asset: sandbox.mints.USDC.address,
    payTo: sandbox.merchant,
    maxTimeoutSeconds: 60,
    extra: { feePayer: sandbox.feePayer },
  };
}

/** Returns the same requirements in the form of version 1. */
export function legacyRequirementsOf(sandbox: Sandbox, amount = PRICE): LegacyRequirements {
  const { amount: maxAmountRequired, ...rest } = requirementsOf(sandbox, amount);
  return { ...rest, network: 'solana', maxAmountRequired, resource: 'http://seller.test/' };
}

/** Answers 402 with terms in the header. */
export function askForPayment(response: ServerResponse, terms: PaymentRequired): void {
  response.writeHead(402, {
    'content-type': 'application/json',
    'payment-required': encodePaymentRequiredHeader(terms),
  });
  response.end('{}');
}

/**
 * Starts a seller without the official middleware, for answers that the middleware never gives.
 * The sandbox's facilitator verifies and settles its payments.
 */
export function startSeller(sandbox: Sandbox, options: SellerOptions = {}): Promise<Recorder> {
  const {
    refuse = (_request: IncomingMessage, response: ServerResponse) =>
      askForPayment(response, termsOf(sandbox)),
    serve = (_request: IncomingMessage, response: ServerResponse) => void response.end('served'),
    legacy,
    settles = true,
  } = options;
  return startRecorder((request, response, body) => {
    const [current, old] = [request.headers['payment-signature'], request.headers['x-payment']];
    const header = current ?? old;
    if (typeof header !== 'string') return refuse(request, response, body);
    if (!settles) return serve(request, response, body);
    settle(sandbox, header, legacy).then(
      (settled) => {
        response.setHeader(
          current === undefined ? 'x-payment-response' : 'payment-response',
          encodePaymentResponseHeader(settled),
        );
        serve(request, response, body);
      },
      (error: unknown) => void response.writeHead(500).end(String(error)),
    );
  });
}

async function settle(
  sandbox: Sandbox,
  header: string,
  legacy: LegacyRequirements | undefined,
): Promise<SettleResponse> {
  const paymentPayload = decodePaymentSignatureHeader(header);
  const { x402Version } = paymentPayload;
  const ask = async (path: string): Promise<unknown> => {
    const answer = await fetch(sandbox.facilitatorUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        x402Version,
        paymentPayload,
        paymentRequirements: x402Version === 1 ? legacy : paymentPayload.accepted,
      }),
    });
    return answer.json();
  };
  const verified = (await ask('/verify')) as { isValid: boolean };
  if (!verified.isValid) throw new Error(`The payment is not valid: ${JSON.stringify(verified)}`);
  const settled = (await ask('/settle')) as SettleResponse;
  if (!settled.success) throw new Error(`The payment did not settle: ${JSON.stringify(settled)}`);
  return settled;
}
