import { address } from '@solana/kit';
import type { PaymentProtocol } from '../../src/protocols/protocol.js';
import type { PaymentRequired } from '../../src/protocols/types.js';
import { x402Protocol } from '../../src/protocols/x402/protocol.js';

/** Header with the terms: `mint=... amount=... to=... fee-payer=...`. */
export const TILL_TERMS = 'x-till';
/** Header with the transaction in base64. */
export const TILL_PAYMENT = 'x-till-payment';
/** Header with the settlement: `paid`, or the reason of a refusal. */
export const TILL_WORD = 'x-till-word';

const read = new WeakSet<PaymentRequired>();

/**
 * A minimal second payment protocol. Its headers, terms and settlement report differ from x402; its
 * transaction has the same layout.
 */
export const till: PaymentProtocol = {
  id: 'till',
  headers: [TILL_PAYMENT],
  detect(response) {
    const header = response.status === 402 ? response.headers.get(TILL_TERMS) : null;
    if (header === null) return Promise.resolve(undefined);
    const entry = Object.fromEntries(header.split(' ').map((pair) => pair.split('=')));
    const terms: PaymentRequired = { x402Version: 2, accepts: [entry], url: response.url };
    read.add(terms);
    return Promise.resolve(terms);
  },
  parse: () => undefined,
  owns: (terms) => read.has(terms),
  offers(terms, network) {
    const [raw = {}] = terms.accepts;
    const offer = {
      ...({ index: 0, x402Version: 2, scheme: 'exact', network, takesMemo: true } as const),
      amount: BigInt(String(raw['amount'])),
      mint: address(String(raw['mint'])),
      payTo: address(String(raw['to'])),
      feePayer: address(String(raw['fee-payer'])),
      maxTimeoutSeconds: 60,
      raw,
    };
    return { terms, readings: [{ ok: true, offer }] };
  },
  headerOf: () => TILL_PAYMENT,
  checkHeader: (terms, offer) => x402Protocol.checkHeader(terms, offer),
  refusesForm: () => undefined,
  build: (payment) => x402Protocol.build(payment),
  attach: ({ transaction }) => ({
    header: { name: TILL_PAYMENT, value: Buffer.from(transaction).toString('base64') },
    hasPaymentId: false,
  }),
  transactionIn: ({ value }) => Uint8Array.from(Buffer.from(value, 'base64')),
  readOutcome(response) {
    const word = response.headers.get(TILL_WORD) ?? undefined;
    return Promise.resolve(word === 'paid' ? {} : { reason: word });
  },
};
