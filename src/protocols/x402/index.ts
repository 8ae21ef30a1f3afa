/** What x402 payments go out in: all that a client knows of the protocol before it meets a 402. */
export const X402_HEADERS: readonly string[] = ['payment-signature', 'x-payment'];
