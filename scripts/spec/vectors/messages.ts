import { createHash } from 'node:crypto';
import { isExactChangeError } from '../../../src/errors.js';
import { SOLANA_MAINNET, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/network.js';
import type { Offer, PaymentRequired } from '../../../src/protocols/types.js';
import { readTerms } from '../../../src/protocols/x402/body.js';
import { readOffers } from '../../../src/protocols/x402/offers.js';
import { x402Protocol } from '../../../src/protocols/x402/protocol.js';
import { addressOf } from '../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../src/solana/tokens/accounts.js';
import { compileMessage } from '../../../src/solana/transactions/compile.js';
import { assembleTransaction, decodeMessage, decodeTransaction } from '../../../src/solana/transactions/transaction.js';
import { resolveInstructions } from '../../../src/solana/transactions/resolve.js';
import type { Instruction } from '../../../src/solana/types.js';
import { createRandom, type Random } from '../../../test/simulation/random.js';
import { entryV1, entryV2, envelopeV1, envelopeV2 } from '../../../test/fixtures/malformed-402.js';

const PYUSD = '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const someKey = (random: Random) => addressOf(random.bytes(32));

function drawInstruction(random: Random, keys: readonly string[]): Instruction {
  return {
    program: random.pick(keys.slice(0, 4)),
    accounts: Array.from({ length: random.int(0, 9) }, () => ({
      address: random.pick(keys),
      signer: random.chance(0.1),
      writable: random.chance(0.4),
    })),
    data: random.bytes(random.int(0, 140)),
  };
}

const refusal = (error: unknown): string => {
  if (isExactChangeError(error)) return error.code;
  throw error;
};

/** Vectors of messages with random instructions, with and without lookup tables. */
export function messages(): unknown[] {
  return Array.from({ length: 110 }, (_, index) => {
    const random = createRandom(`spec/messages/${index}`);
    const keys = Array.from({ length: random.int(5, 24) }, () => someKey(random));
    const lookupTables = Array.from({ length: random.int(0, 3) }, () => ({
      address: someKey(random),
      addresses: Array.from({ length: random.int(0, 12) }, () => random.pick(keys)),
    }));
    const input = {
      feePayer: random.pick(keys),
      instructions: Array.from({ length: random.int(1, 6) }, () => drawInstruction(random, keys)),
      blockhash: someKey(random),
      lookupTables,
    };
    try {
      const message = compileMessage(input);
      const decoded = decodeMessage(message);
      const resolved =
        decoded === undefined ? undefined : resolveInstructions(decoded, lookupTables);
      return { ...input, message, resolves: resolved !== undefined };
    } catch (error) {
      return { ...input, refused: refusal(error) };
    }
  });
}

/** Vectors of bytes that are no transaction, or a changed transaction. */
export function transactions(): unknown[] {
  return Array.from({ length: 120 }, (_, index) => {
    const random = createRandom(`spec/transactions/${index}`);
    const keys = Array.from({ length: random.int(4, 7) }, () => someKey(random));
    const instructions = Array.from({ length: random.int(1, 2) }, () => ({
      ...drawInstruction(random, keys),
      data: random.bytes(random.int(0, 12)),
    }));
    const message = compileMessage({
      feePayer: keys[3] ?? '',
      instructions,
      blockhash: someKey(random),
    });
    const whole = assembleTransaction(message, new Map());
    const at = random.int(0, whole.length - 1);
    const spoilt = [
      () => whole,
      () => whole.slice(0, at),
      () => Uint8Array.of(...whole, random.int(0, 255)),
      () => whole.map((byte, place) => (place === at ? random.int(0, 255) : byte)),
      () => whole.map((byte, place) => (place > whole[0]! * 64 && place === at ? 0 : byte)),
      () => Uint8Array.of(...whole.slice(0, at), 0x80, 0x00, ...whole.slice(at)),
    ];
    const bytes = random.pick(spoilt)();
    const decoded = decodeTransaction(bytes);
    if (decoded === undefined) return { bytes, out: null };
    const { header, staticAccounts, blockhash, lookups } = decoded;
    return {
      bytes,
      out: {
        header,
        staticAccounts,
        blockhash,
        lookups,
        instructions: decoded.instructions.length,
      },
    };
  });
}

function drawTerms(random: Random, index: number): Record<string, unknown> {
  const extra: Record<string, unknown> = { feePayer: someKey(random) };
  if (random.chance(0.3)) extra['memo'] = random.pick(['order 7', 'grün 😀', 'x'.repeat(256)]);
  if (random.chance(0.2)) extra['decimals'] = 6;
  if (random.chance(0.2)) extra['features'] = { a: 1 };
  const change = {
    extra,
    payTo: someKey(random),
    asset: random.chance(0.3) ? PYUSD : 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    maxTimeoutSeconds: random.pick([60, 1, 900, 12.7, 'x']),
  };
  const amount = String(random.int(1, 2 ** 40));
  if (index % 4 === 3) {
    const network = random.chance(0.5) ? {} : { network: SOLANA_MAINNET };
    return envelopeV1([entryV1({ ...change, ...network, maxAmountRequired: amount })]);
  }
  const extensions = random.pick([
    {},
    { extensions: { 'payment-identifier': { info: { required: true }, schema: {} } } },
    { extensions: { bazaar: { info: { note: 'ä'.repeat(random.int(0, 40)) } } } },
    { extensions: { bazaar: { note: 'y'.repeat(4_000), more: 'z'.repeat(4_000) } } },
  ]);
  return envelopeV2([entryV2({ ...change, amount })], extensions);
}

function facts(offer: Offer, payer: string, random: Random) {
  const tokenProgram = offer.mint === PYUSD ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
  return {
    ...{ offer, payer, tokenProgram, decimals: 6 },
    source: associatedTokenAddress(payer, offer.mint, tokenProgram),
    destination: associatedTokenAddress(offer.payTo, offer.mint, tokenProgram),
    blockhash: someKey(random),
    nonce: random.bytes(16),
    price: BigInt(random.int(1, 1_000_000)),
  };
}

/** Vectors of payments, from the terms to the presented header. */
export function payments(): unknown[] {
  return Array.from({ length: 140 }, (_, index) => {
    const random = createRandom(`spec/payments/${index}`);
    const body = drawTerms(random, index);
    const payer = someKey(random);
    const terms = readTerms({ body }) as PaymentRequired;
    const [reading] = readOffers(terms, SOLANA_MAINNET, payer);
    if (reading?.ok !== true) throw new Error('the offer is not payable');
    const paymentFacts = facts(reading.offer, payer, random);
    const { message, memo } = x402Protocol.build(paymentFacts);
    const signature = random.bytes(64);
    const bytes = random.bytes(16);
    const { offer: _offer, ...rest } = paymentFacts;
    const input = { body, ...rest, signature, random: bytes };
    const transaction = assembleTransaction(message, new Map([[payer, signature]]));
    try {
      const attached = x402Protocol.attach({
        terms,
        offer: reading.offer,
        transaction,
        random: () => bytes,
      });
      return {
        ...input,
        message,
        memo,
        header: { name: attached.header.name, sha256: sha256(attached.header.value) },
        hasId: attached.hasPaymentId,
      };
    } catch (error) {
      return { ...input, message, memo, refused: refusal(error) };
    }
  });
}
