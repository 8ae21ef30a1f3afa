import type { ErrorCode } from '../errors.js';

/** The HTTP status of a problem, and its title in one line. */
interface About {
  readonly status: number;
  readonly title: string;
}

const about = (status: number, title: string): About => ({ status, title });

/**
 * No error of this library is answered with 402, because the caller may be a client that pays a
 * 402. A status of 4xx means that the request led to the error, even if another service refused it.
 * A status of 5xx means that a service could not answer.
 */
const ERRORS: { readonly [C in ErrorCode]: About } = {
  invalid_option: about(400, 'A field of the request is wrong'),
  invalid_key: about(400, 'A key cannot be used'),
  missing_dependency: about(500, 'The service lacks a package'),
  client_closed: about(503, 'The service is closing'),
  idempotency_mismatch: about(409, 'The idempotency key belongs to another request'),
  malformed_payment_required: about(422, 'The payment terms cannot be read'),
  unsupported_offer: about(422, 'The offer is of a kind that is not supported'),
  unsupported_network: about(422, 'The network is not supported'),
  no_payable_offer: about(422, 'None of the offers can be paid'),
  insecure_origin: about(422, 'The payment would go to an insecure origin'),
  body_not_replayable: about(422, 'The request cannot be repeated'),
  header_too_large: about(422, 'The payment header would be too large'),
  amount_over_limit: about(403, 'The amount is over a limit'),
  budget_exhausted: about(403, 'A budget is used up'),
  price_unknown: about(422, 'The token has no known price'),
  not_allowed: about(403, 'A rule does not allow it'),
  approval_refused: about(403, 'It was not approved'),
  fees_over_limit: about(422, 'The fees are over their limit'),
  insufficient_funds: about(422, 'The wallet holds too little of the token'),
  insufficient_sol: about(422, 'The wallet holds too little SOL'),
  payee_account_missing: about(422, 'The payee has no account for the token'),
  account_unusable: about(422, 'An account of the wallet cannot be used'),
  unknown_mint: about(422, 'There is no such mint on this network'),
  mint_not_supported: about(422, 'The mint is not supported'),
  no_route: about(422, 'There is no route for this swap'),
  price_impact_too_high: about(422, 'The swap would move the price too far'),
  swap_overhead_too_high: about(422, 'The swap would lose too much'),
  quote_mismatch: about(422, 'The quote is not what was asked for'),
  unsafe_swap: about(422, 'The swap is not safe to sign'),
  transaction_too_large: about(422, 'The transaction would be too large'),
  simulation_failed: about(422, 'The simulation failed'),
  self_check_failed: about(500, 'A transaction failed its own check'),
  signing_failed: about(500, 'Signing failed'),
  swap_failed: about(422, 'The swap failed on chain'),
  swap_expired: about(409, 'The swap expired'),
  swap_uncertain: about(409, 'What became of the swap is not known'),
  payment_rejected: about(409, 'The seller rejected the payment'),
  payment_uncertain: about(409, 'What became of the payment is not known'),
  payment_in_progress: about(409, 'The payment is in progress'),
  already_spent: about(409, 'The payment was made before'),
  journal_unavailable: about(503, 'The journal is not available'),
  journal_locked: about(503, 'The journal is in use'),
  journal_damaged: about(500, 'The journal is damaged'),
  rpc_unavailable: about(503, 'No RPC node answered'),
  rpc_wrong_network: about(503, 'The RPC node serves another network'),
  jupiter_unavailable: about(503, 'Jupiter is not available'),
  service_unavailable: about(503, 'A service behind this one is not available'),
  rate_limited: about(429, 'There were too many requests'),
  timeout: about(504, 'There was no answer in time'),
  invalid_response: about(502, 'A service behind this one gave no usable answer'),
};

/** Problems of a service alone: nearly all come before the request becomes a call. */
const SERVICE = {
  malformed_request: about(400, 'The request cannot be read'),
  secret_refused: about(400, 'The request holds a private key'),
  unauthorized: about(401, 'The caller is not known: check the API key'),
  not_found: about(404, 'There is no such thing here: check the address'),
  method_not_allowed: about(405, 'The path does not know this method'),
  request_timeout: about(408, 'The request took too long to arrive'),
  request_too_large: about(413, 'The body is too large'),
  unsupported_media_type: about(415, 'The body is not JSON'),
  headers_too_large: about(431, 'The address or the headers are too large'),
  cancelled: about(499, 'The caller went away'),
  internal_error: about(500, 'The service failed'),
} as const satisfies Record<string, About>;

export type ServiceCode = keyof typeof SERVICE;
export type ProblemCode = ErrorCode | ServiceCode;

const PROBLEMS: { readonly [C in ProblemCode]: About } = { ...ERRORS, ...SERVICE };

export const problemCodes: readonly string[] = Object.freeze(Object.keys(PROBLEMS));

export function aboutProblem(code: ProblemCode): About {
  return PROBLEMS[code];
}

/** Whether the code belongs to a service alone, and to no error of the library. */
export function isServiceCode(code: string): code is ServiceCode {
  return Object.prototype.hasOwnProperty.call(SERVICE, code);
}
