import { ed25519 } from '@noble/curves/ed25519';
import {
  createKeyPairSignerFromPrivateKeyBytes,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit';
import { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { describe, expect, it } from 'vitest';
import { SOLANA_MAINNET, TOKEN_2022_PROGRAM } from '../../src/network.js';
import { addressOf } from '../../src/solana/address.js';
import { buildExactPayment } from '../../src/protocols/x402/exact.js';
import type { PaymentFacts } from '../../src/protocols/protocol.js';
import { decodeHeader } from '../../src/protocols/x402/json.js';
import { readOffers } from '../../src/protocols/x402/offers.js';
import { parsePaymentRequired } from '../../src/protocols/x402/parse-payment-required.js';
import { encodePayment } from '../../src/protocols/x402/payload.js';
import { checkOwnPayment } from '../../src/protocols/x402/self-check.js';
import type { Offer, PaymentRequired } from '../../src/protocols/types.js';
import vectors from '../fixtures/x402-vectors.json' with { type: 'json' };

const { payer } = vectors.keys;
const SEED = new Uint8Array(32).fill(1);
const NONCE = new Uint8Array(16).fill(9);

type Vector = (typeof vectors.positive)[number];

function readVector(vector: Vector): { paymentRequired: PaymentRequired; offer: Offer } {
  const paymentRequired =
    vector.body402 === undefined
      ? parsePaymentRequired({
          headers: { 'PAYMENT-REQUIRED': vector.paymentRequiredHeader ?? '' },
          body: '{}',
        })
      : parsePaymentRequired({ headers: {}, body: JSON.stringify(vector.body402) });
  if (paymentRequired === undefined) throw new Error('no terms in the vector');
  const [reading] = readOffers(paymentRequired, SOLANA_MAINNET, payer);
  if (reading?.ok !== true) throw new Error('the offer of the vector is not payable');
  return { paymentRequired, offer: reading.offer };
}

async function paymentOf(offer: Offer, blockhash: string): Promise<PaymentFacts> {
  const isToken2022 = offer.mint === '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo';
  const tokenProgram = isToken2022 ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM_ADDRESS;
  const accountOf = async (owner: string) => {
    const seeds = { owner, mint: offer.mint, tokenProgram } as unknown as Parameters<
      typeof findAssociatedTokenPda
    >[0];
    return (await findAssociatedTokenPda(seeds))[0];
  };
  const [source, destination] = await Promise.all([accountOf(payer), accountOf(offer.payTo)]);
  return {
    offer,
    payer,
    source,
    destination,
    tokenProgram,
    decimals: 6,
    blockhash,
    nonce: NONCE,
    price: 1n,
  };
}

const decodeMessage = (message: Uint8Array) =>
  getCompiledTransactionMessageDecoder().decode(message);

/** Decodes with kit, so that an error of this library cannot agree with itself. */
function instructionsOf(message: Uint8Array) {
  const { staticAccounts, instructions } = decodeMessage(message);
  return instructions.map(
    ({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) => ({
      program: staticAccounts[programAddressIndex],
      accounts: accountIndices.map((index) => staticAccounts[index]),
      dataHex: Buffer.from(data).toString('hex'),
    }),
  );
}

const messageOf = (transaction: string) =>
  new Uint8Array(getTransactionDecoder().decode(Buffer.from(transaction, 'base64')).messageBytes);

/** Puts the payer's signature into the second slot, and leaves the fee payer's slot empty. */
function wireOf(message: Uint8Array): Uint8Array {
  return Uint8Array.from([2, ...new Uint8Array(64), ...ed25519.sign(message, SEED), ...message]);
}

describe.each(vectors.positive.map((vector) => [vector.name, vector] as const))(
  'official vector %s',
  (_, vector) => {
    it('becomes the same transfer, which passes the self-check', async () => {
      const { offer } = readVector(vector);
      const payment = await paymentOf(offer, vector.decoded.lifetimeToken);
      const built = buildExactPayment(payment);
      expect(() => checkOwnPayment(built.message, payment)).not.toThrow();
      expect(built.memo).toBe('pi_3abc123def456');
      expect(instructionsOf(built.message)).toEqual(vector.decoded.instructions);
      const { header, lifetimeToken, staticAccounts } = decodeMessage(built.message) as unknown as {
        header: unknown;
        lifetimeToken: string;
        staticAccounts: string[];
      };
      expect(header).toEqual(vector.decoded.header);
      expect(lifetimeToken).toBe(vector.decoded.lifetimeToken);
      expect([...staticAccounts].sort()).toEqual([...vector.decoded.staticAccounts].sort());
      expect(staticAccounts.slice(0, 2)).toEqual(vector.decoded.staticAccounts.slice(0, 2));
    });

    it('passes the self-check as the official client built it', async () => {
      const { offer } = readVector(vector);
      const payment = await paymentOf(offer, vector.decoded.lifetimeToken);
      expect(() => checkOwnPayment(messageOf(vector.transaction), payment)).not.toThrow();
    });

    it('is presented in the same header', async () => {
      const { paymentRequired, offer } = readVector(vector);
      const official = vector.paymentSignatureHeader ?? vector.xPaymentHeader ?? '';
      const header = encodePayment({
        paymentRequired,
        offer,
        transaction: Uint8Array.from(Buffer.from(vector.transaction, 'base64')),
      });
      expect(header.name).toBe(
        vector.paymentSignatureHeader === undefined ? 'X-PAYMENT' : 'PAYMENT-SIGNATURE',
      );
      expect(decodeHeader(header.value)).toEqual(decodeHeader(official));
      expect(decodeHeader(header.value)?.['accepted']).toEqual(vector.paymentRequired?.accepts[0]);
    });
  },
);

describe('a payment that the official facilitator refuses', () => {
  it('is signed by the payer of the vectors', async () => {
    const signer = await createKeyPairSignerFromPrivateKeyBytes(SEED);
    expect(signer.address).toBe(payer);
    expect(addressOf(ed25519.getPublicKey(SEED))).toBe(payer);
    const [vector] = vectors.positive;
    if (vector === undefined) throw new Error('no vectors');
    expect(Buffer.from(wireOf(messageOf(vector.transaction))).toString('base64')).toBe(
      vector.transaction,
    );
  });

  it.each(
    vectors.negative
      .filter(({ name }) => name !== 'unsigned')
      .map((vector) => [vector.name, vector] as const),
  )('%s fails the self-check, whatever v2 offer is expected', async (_, vector) => {
    const message = messageOf(vector.transaction);
    const blockhash = decodeMessage(message).lifetimeToken;
    for (const positive of vectors.positive) {
      const { offer } = readVector(positive);
      if (offer.x402Version === 1) continue;
      const { memo: __, ...withoutMemo } = offer;
      for (const wanted of [offer, withoutMemo]) {
        const payment = await paymentOf(wanted, blockhash);
        expect(() => checkOwnPayment(message, payment)).toThrow(
          expect.objectContaining({ code: 'self_check_failed' }),
        );
      }
    }
  });
});
