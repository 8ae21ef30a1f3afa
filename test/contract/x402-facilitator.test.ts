import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { decompileTransactionMessage, getCompiledTransactionMessageDecoder } from '@solana/kit';
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  decodePaymentSignatureHeader,
  encodePaymentRequiredHeader,
  encodePaymentResponseHeader,
} from '@x402/core/http';
import {
  appendPaymentIdentifierToExtensions,
  declarePaymentIdentifierExtension,
  extractAndValidatePaymentIdentifier,
} from '@x402/extensions/payment-identifier';
import { ExactSvmScheme } from '@x402/svm/exact/facilitator';
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/facilitator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exact as legacy } from 'x402/schemes';
import { SOLANA_MAINNET, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/network.js';
import { associatedTokenAddress } from '../../src/solana/tokens/accounts.js';
import { buildExactPayment } from '../../src/protocols/x402/exact.js';
import type { PaymentFacts } from '../../src/protocols/protocol.js';
import { encodeHeader } from '../../src/protocols/x402/json.js';
import { readOffers } from '../../src/protocols/x402/offers.js';
import { parsePaymentRequired } from '../../src/protocols/x402/parse-payment-required.js';
import {
  createPaymentId,
  encodePayment,
  offersPaymentId,
} from '../../src/protocols/x402/payload.js';
import { checkOwnPayment } from '../../src/protocols/x402/self-check.js';
import { readSettlement } from '../../src/protocols/x402/settlement.js';
import type { PaymentRequired } from '../../src/protocols/types.js';
import { faremeterTakes } from '../fixtures/faremeter.js';
import { base64, entryV1, entryV2, envelopeV1, envelopeV2 } from '../fixtures/malformed-402.js';
import { anyText } from '../helpers/any-text.js';

const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .filter((bytes) => bytes.some((byte) => byte !== 0))
  .map((bytes) => base58.encode(bytes));
const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });
// No control characters: they are refused before a payment is built.
const memo = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .filter((text) => !/\p{Cc}|\p{Cs}/u.test(text) && Buffer.byteLength(text) <= 256);

const facts = fc.record({
  seed,
  feePayer: key,
  payTo: key,
  mint: key,
  amount: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
  decimals: fc.nat(18),
  tokenProgram: fc.constantFrom(TOKEN_PROGRAM, TOKEN_2022_PROGRAM),
  blockhash: key,
  nonce: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  price: fc.bigInt({ min: 1n, max: 1_000_000n }),
  memo: fc.option(memo, { nil: undefined }),
  // Makes the terms of version 1 those of a newer seller.
  younger: fc.boolean(),
});
type Facts = typeof facts extends fc.Arbitrary<infer T> ? T : never;

function termsOf(
  version: 1 | 2,
  { feePayer, payTo, mint, amount, memo: text, younger }: Facts,
): PaymentRequired {
  const extra = {
    feePayer,
    ...(text === undefined ? {} : { memo: text }),
    ...(younger ? { features: {} } : {}),
  };
  const entry = { asset: mint, payTo, extra };
  const terms =
    version === 1
      ? parsePaymentRequired({
          body: JSON.stringify(envelopeV1([entryV1({ ...entry, maxAmountRequired: `${amount}` })])),
        })
      : parsePaymentRequired({
          headers: {
            'payment-required': base64(envelopeV2([entryV2({ ...entry, amount: `${amount}` })])),
          },
        });
  if (terms === undefined) throw new Error('no terms');
  return terms;
}

/** Turns terms on the wire into a signed payment on the wire, with all parts of this library. */
function pay(version: 1 | 2, all: Facts) {
  const payer = base58.encode(ed25519.getPublicKey(all.seed));
  const paymentRequired = termsOf(version, all);
  const [reading] = readOffers(paymentRequired, SOLANA_MAINNET, payer);
  if (reading?.ok !== true) throw reading?.error ?? new Error('no offer');
  const { offer } = reading;
  const { tokenProgram, decimals, blockhash, nonce, price } = all;
  const source = associatedTokenAddress(payer, offer.mint, tokenProgram);
  const destination = associatedTokenAddress(offer.payTo, offer.mint, tokenProgram);
  const payment: PaymentFacts = {
    offer,
    payer,
    source,
    destination,
    tokenProgram,
    decimals,
    blockhash,
    nonce,
    price,
  };
  const { message } = buildExactPayment(payment);
  checkOwnPayment(message, payment);
  const transaction = Uint8Array.from([
    2,
    ...new Uint8Array(64),
    ...ed25519.sign(message, all.seed),
    ...message,
  ]);
  const header = encodePayment({ paymentRequired, offer, transaction });
  const payload = decodePaymentSignatureHeader(header.value);
  return {
    header,
    payload,
    payer,
    payment,
    message,
    requirements: structuredClone(offer.raw) as never,
  };
}

const signerOf = (feePayer: string) =>
  ({
    getAddresses: () => [feePayer],
    simulateTransaction: async () => undefined,
  }) as unknown as ConstructorParameters<typeof ExactSvmScheme>[0];

describe('a payment of this library, at the official facilitators', () => {
  it('is accepted in version 2, for arbitrary offers', async () => {
    await fc.assert(
      fc.asyncProperty(facts, async (all) => {
        const { payload, payer, requirements, header } = pay(2, all);
        const answer = await new ExactSvmScheme(signerOf(all.feePayer)).verify(
          payload,
          requirements,
        );
        expect(answer).toMatchObject({ isValid: true, payer });
        expect(header.name).toBe('PAYMENT-SIGNATURE');
      }),
      { numRuns: 60 },
    );
  });

  it('is accepted in version 1, for arbitrary offers', async () => {
    await fc.assert(
      fc.asyncProperty(facts, async (all) => {
        const { payload, payer, requirements, header } = pay(1, all);
        const answer = await new ExactSvmSchemeV1(signerOf(all.feePayer)).verify(
          payload,
          requirements,
        );
        expect(answer).toMatchObject({ isValid: true, payer });
        expect(header.name).toBe('X-PAYMENT');
      }),
      { numRuns: 60 },
    );
  });

  it('is accepted by legacy 1.2.0, which knows three instructions and no memo', async () => {
    const rpc = {
      getMultipleAccounts: (keys: unknown[]) => ({
        send: async () => ({ value: keys.map(() => existing) }),
      }),
    };
    const existing = {
      data: ['', 'base64'],
      executable: false,
      lamports: 1n,
      owner: TOKEN_PROGRAM,
      space: 0n,
    };
    await fc.assert(
      fc.asyncProperty(facts, async (all) => {
        const { message, requirements } = pay(1, { ...all, memo: undefined, younger: false });
        const decompiled = decompileTransactionMessage(
          getCompiledTransactionMessageDecoder().decode(message),
        );
        const verify = legacy.svm.verifyTransactionInstructions(
          decompiled,
          requirements,
          { address: all.feePayer } as never,
          rpc as never,
        );
        await expect(verify).resolves.toBeUndefined();
      }),
      { numRuns: 30 },
    );
  });

  it('is accepted by faremeter, which requires a memo', async () => {
    await fc.assert(
      fc.asyncProperty(facts, async (all) => {
        const { payload, payment } = pay(1, { ...all, younger: true, tokenProgram: TOKEN_PROGRAM });
        // The payload is of the scheme exact on Solana.
        const { transaction } = payload.payload as { transaction: string };
        expect(await faremeterTakes(transaction, payment.offer.raw)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('is never made twice: its nonce differs, or its price if it has no nonce', () => {
    fc.assert(
      fc.property(facts, fc.constantFrom<1 | 2>(1, 2), (all, version) => {
        const first = pay(version, all).message;
        const nonce = all.nonce.map((byte) => byte ^ 1);
        const price = all.price === 1n ? 2n : all.price - 1n;
        expect(pay(version, { ...all, nonce, price }).message).not.toEqual(first);
        expect(pay(version, all).message).toEqual(first);
      }),
      { numRuns: 30 },
    );
  });
});

describe('the self-check of a payment', () => {
  it('finds any changed byte of the message', () => {
    fc.assert(
      fc.property(
        facts,
        fc.constantFrom<1 | 2>(1, 2),
        fc.nat(10_000),
        fc.integer({ min: 1, max: 255 }),
        (all, version, at, change) => {
          const { message, payment } = pay(version, all);
          const flipped = message.map((byte, index) =>
            index === at % message.length ? byte ^ change : byte,
          );
          expect(() => checkOwnPayment(flipped, payment)).toThrow(
            expect.objectContaining({ code: 'self_check_failed', funds: 'untouched' }),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it('finds any changed fact', () => {
    fc.assert(
      fc.property(facts, fc.constantFrom<1 | 2>(1, 2), key, (all, version, other) => {
        const { message, payment } = pay(version, all);
        const { offer } = payment;
        const hasOwnMemo = offer.takesMemo && offer.memo === undefined;
        const changes: Partial<PaymentFacts>[] = [
          { payer: other },
          { source: other },
          { destination: other },
          { source: payment.destination, destination: payment.source },
          {
            tokenProgram:
              payment.tokenProgram === TOKEN_PROGRAM ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM,
          },
          { decimals: payment.decimals + 1 },
          { blockhash: other },
          { offer: { ...offer, amount: offer.amount === 1n ? 2n : offer.amount - 1n } },
          { offer: { ...offer, mint: other } },
          { offer: { ...offer, payTo: other } },
          { offer: { ...offer, feePayer: other } },
          { offer: { ...offer, memo: `${offer.memo ?? ''}x` } },
          hasOwnMemo
            ? { nonce: payment.nonce.map((byte) => byte ^ 1) }
            : { price: payment.price === 1n ? 2n : payment.price - 1n },
        ];
        for (const change of changes) {
          expect(
            () => checkOwnPayment(message, { ...payment, ...change }),
            Object.keys(change).join(),
          ).toThrow(expect.objectContaining({ code: 'self_check_failed' }));
        }
      }),
      { numRuns: 30 },
    );
  });

  it('finds added and missing bytes', () => {
    fc.assert(
      fc.property(facts, fc.constantFrom<1 | 2>(1, 2), (all, version) => {
        const { message, payment } = pay(version, all);
        for (const bytes of [
          Uint8Array.of(...message, 0),
          message.subarray(1),
          message.subarray(0, -1),
          new Uint8Array(),
        ]) {
          expect(() => checkOwnPayment(bytes, payment)).toThrow(
            expect.objectContaining({ code: 'self_check_failed' }),
          );
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('the codecs of this library', () => {
  const text = anyText({ maxLength: 40 });
  const official = fc.record({ description: text, error: text });

  it('read and write PAYMENT-REQUIRED like the official codec', () => {
    fc.assert(
      fc.property(official, ({ description, error }) => {
        const terms = envelopeV2([entryV2()], {
          error,
          resource: { url: 'https://api.example.com/支払い', description },
        });
        const theirs = encodePaymentRequiredHeader(terms as never);
        expect(encodeHeader(terms)).toBe(theirs);
        const ours = parsePaymentRequired({ headers: { 'PAYMENT-REQUIRED': theirs } });
        expect(ours).toEqual(decodePaymentRequiredHeader(theirs));
      }),
    );
  });

  it('read PAYMENT-RESPONSE like the official codec', () => {
    const transaction = '5'.repeat(88);
    const settlement = {
      success: true,
      transaction,
      network: SOLANA_MAINNET,
      payer: 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9',
    };
    const theirs = encodePaymentResponseHeader(settlement as never);
    expect(readSettlement(new Headers({ 'PAYMENT-RESPONSE': theirs }))).toEqual(
      decodePaymentResponseHeader(theirs),
    );
  });

  it('attach a payment-identifier like the official client', () => {
    const declared = {
      'payment-identifier': declarePaymentIdentifierExtension(true),
      other: { info: { a: 1 } },
    };
    const paymentRequired = parsePaymentRequired({
      headers: { 'payment-required': base64(envelopeV2([entryV2()], { extensions: declared })) },
    });
    const [reading] =
      paymentRequired === undefined
        ? []
        : readOffers(
            paymentRequired,
            SOLANA_MAINNET,
            'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9',
          );
    if (paymentRequired === undefined || reading?.ok !== true) throw new Error('not payable');
    expect(offersPaymentId(paymentRequired)).toBe(true);
    const paymentId = createPaymentId(new Uint8Array(16).fill(0xab));
    const { value } = encodePayment({
      paymentRequired,
      offer: reading.offer,
      transaction: new Uint8Array(3),
      paymentId,
    });
    const payload = decodePaymentSignatureHeader(value);
    expect(extractAndValidatePaymentIdentifier(payload)).toEqual({
      id: paymentId,
      validation: { valid: true },
    });
    expect(payload.extensions).toEqual(
      appendPaymentIdentifierToExtensions(structuredClone(declared), paymentId),
    );
    expect(paymentRequired.extensions).toEqual(declared);
  });
});
