/** Request headers that carry an x402 payment. A client needs only these before it meets a 402. */
export const X402_HEADERS: readonly string[] = ['payment-signature', 'x-payment'];
