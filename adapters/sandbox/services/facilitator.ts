import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyPairSigner } from '@solana/kit';
import { x402Facilitator } from '@x402/core/facilitator';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorSvmSigner } from '@x402/svm';
import { registerExactSvmScheme } from '@x402/svm/exact/facilitator';
import { FaultBoard, type ServiceControls } from './faults.js';
import { listen, pathOf, readJson, sendJson } from './http.js';

/** CAIP-2 id of Solana mainnet, because the sandbox has mainnet's genesis hash. */
export const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/**
 * Controls of the facilitator. Endpoints: `/verify`, `/settle`, `/supported`.
 * `fault('/settle', { kind: 'dropAfter' })` lands the payment and drops the answer.
 */
export interface FacilitatorControls extends ServiceControls {
  /** Refuses connections until {@link start}, which listens on the same port again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface FacilitatorService {
  readonly url: string;
  /** Address that pays the fees of every payment. */
  readonly feePayer: string;
  readonly controls: FacilitatorControls;
  close(): Promise<void>;
}

/**
 * Serves the official facilitator with the official `exact` scheme of Solana, versions 2 and 1,
 * settling over `rpcUrl`.
 */
export async function startFacilitator(options: {
  port: number;
  rpcUrl: string;
  feePayer: KeyPairSigner;
}): Promise<FacilitatorService> {
  const facilitator = registerExactSvmScheme(new x402Facilitator(), {
    signer: toFacilitatorSvmSigner(options.feePayer, { defaultRpcUrl: options.rpcUrl }),
    networks: MAINNET,
  });
  const board = new FaultBoard();
  const listener = await listen(options.port, board, (request, response) => {
    answer(facilitator, request, response).catch((error: unknown) => {
      if (!response.headersSent)
        sendJson(response, 500, {
          error: error instanceof Error ? error.message : 'facilitator failed',
        });
    });
  });
  return {
    url: listener.url,
    feePayer: options.feePayer.address,
    controls: Object.assign(board, { stop: () => listener.stop(), start: () => listener.start() }),
    close: () => listener.stop(),
  };
}

async function answer(
  facilitator: x402Facilitator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const call = `${request.method ?? ''} ${pathOf(request)}`;
  if (call === 'GET /supported') return sendJson(response, 200, facilitator.getSupported());
  if (call !== 'POST /verify' && call !== 'POST /settle')
    return sendJson(response, 404, { error: 'not found' });
  const body = await readJson(request);
  if (!isPaymentRequest(body))
    return sendJson(response, 400, {
      error: 'paymentPayload and paymentRequirements are required',
    });
  const result =
    call === 'POST /verify'
      ? await facilitator.verify(body.paymentPayload, body.paymentRequirements)
      : await facilitator.settle(body.paymentPayload, body.paymentRequirements);
  sendJson(response, 200, result);
}

/** Returns true if both parts are objects; the official facilitator checks their content. */
function isPaymentRequest(
  body: unknown,
): body is { paymentPayload: PaymentPayload; paymentRequirements: PaymentRequirements } {
  if (typeof body !== 'object' || body === null) return false;
  const { paymentPayload, paymentRequirements } = body as Record<string, unknown>;
  return (
    typeof paymentPayload === 'object' &&
    paymentPayload !== null &&
    typeof paymentRequirements === 'object' &&
    paymentRequirements !== null
  );
}
