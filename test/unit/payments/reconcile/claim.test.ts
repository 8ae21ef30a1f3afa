import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { Keypair, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OpenPayment } from '../../../../src/journal/open-payment.js';
import { claimedIdOf } from '../../../../src/payments/reconcile/claim.js';
import { x402Protocol } from '../../../../src/protocols/x402/protocol.js';
import { till, TILL_PAYMENT } from '../../../helpers/till.js';
import { payment } from './fake-chain.js';

const facilitator = Keypair.fromSeed(new Uint8Array(32).fill(1));
const payer = Keypair.fromSeed(new Uint8Array(32).fill(2));

function signed(lamports: number) {
  const transaction = new VersionedTransaction(
    new TransactionMessage({
      payerKey: facilitator.publicKey,
      recentBlockhash: payer.publicKey.toBase58(),
      instructions: [
        SystemProgram.transfer({
          fromPubkey: payer.publicKey,
          toPubkey: facilitator.publicKey,
          lamports,
        }),
      ],
    }).compileToV0Message(),
  );
  transaction.sign([payer]);
  return transaction;
}

const ours = signed(1);
const idOf = ({ message }: VersionedTransaction, key = facilitator) =>
  ed25519.sign(message.serialize(), key.secretKey.slice(0, 32));
const id = idOf(ours);
const header = (transaction: Uint8Array, name = 'PAYMENT-SIGNATURE') => {
  const text = Buffer.from(transaction).toString('base64');
  const json = JSON.stringify({ x402Version: 2, payload: { transaction: text } });
  return { name, value: name === TILL_PAYMENT ? text : Buffer.from(json).toString('base64') };
};
const open = (part: Parameters<typeof payment>[0] = {}): OpenPayment => ({
  attempt: {
    payment: payment({
      header: header(ours.serialize()),
      payerSignature: base58.encode(ours.signatures[1] ?? new Uint8Array()),
      ...part,
    }),
  } as never,
});
const judge = async (pending: OpenPayment, claim: string | undefined) => {
  const settlement = { success: true, transaction: claim, network: '' };
  pending.attempt = { ...pending.attempt, receipt: { settlement } as never };
  const claimed = claimedIdOf([x402Protocol, till], pending);
  return (await claimed?.isProven()) === true ? claimed?.id : undefined;
};
const proven = (claim: string | undefined, part: Parameters<typeof payment>[0] = {}) =>
  judge(open(part), claim);

describe('the transaction id that a seller claims', () => {
  it('is proved to be our payment if the fee payer signed our message with it', async () => {
    const claim = base58.encode(id);
    expect(await proven(claim)).toBe(claim);
    expect(await proven(claim, { header: header(ours.serialize(), TILL_PAYMENT) })).toBe(claim);
  });

  it('is not proved when any bit of it is changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(63), fc.nat(7), async (byte, bit) => {
        const changed = Uint8Array.from(id);
        changed[byte] = (changed[byte] ?? 0) ^ (1 << bit);
        expect(await proven(base58.encode(changed))).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it.each<[string, string | undefined]>([
    ['is absent', undefined],
    ['is empty', ''],
    ['is a word', 'settled'],
    ['is too long', '5'.repeat(5_000)],
    ['has another length than 64 bytes', '1'.repeat(88)],
    ['has only zeros', '1'.repeat(64)],
    ['is our own signature', base58.encode(ours.signatures[1] ?? new Uint8Array())],
    ['belongs to another payment', base58.encode(idOf(signed(2)))],
    [
      'belongs to another fee payer',
      base58.encode(idOf(ours, Keypair.fromSeed(new Uint8Array(32)))),
    ],
  ])('is not proved when it %s', async (_, claim) => {
    expect(await proven(claim)).toBeUndefined();
  });

  it.each<[string, Parameters<typeof payment>[0]]>([
    ['another transaction', { header: header(signed(2).serialize()) }],
    ['no transaction', { header: header(Uint8Array.of(1, 2, 3)) }],
    [
      'no base64',
      { header: { name: 'PAYMENT-SIGNATURE', value: '{"payload":{"transaction":"?"}}' } },
    ],
    ['a header of another form', { header: { name: 'PAYMENT-SIGNATURE', value: 'x' } }],
    ['a transaction that we did not sign', { payerSignature: base58.encode(id) }],
  ])('is not proved if the record holds %s', async (_, part) => {
    expect(await proven(base58.encode(id), part)).toBeUndefined();
  });

  it.each(['1'.repeat(88), 'z'.repeat(64), 'z'.repeat(88)])(
    'is not sent to a node if it has another length than 64 bytes: %s',
    (claim) => {
      const pending = open();
      const settlement = { success: true, transaction: claim, network: '' };
      pending.attempt = { ...pending.attempt, receipt: { settlement } as never };
      expect(claimedIdOf([x402Protocol], pending)).toBeUndefined();
    },
  );

  it('is judged by the message that this process signed', async () => {
    const signedHere = { ...open(), message: signed(2).message.serialize() };
    expect(await judge(signedHere, base58.encode(id))).toBeUndefined();
    const claim = base58.encode(idOf(signed(2)));
    expect(await judge(signedHere, claim)).toBe(claim);
  });

  it('is judged once for each payment, and again if the seller claims another id', async () => {
    const pending = open();
    const claim = base58.encode(id);
    const other = base58.encode(idOf(signed(2)));
    const results: (string | undefined)[] = [];
    for (const text of [claim, claim, other, other, claim])
      results.push(await judge(pending, text));
    expect(results).toEqual([claim, claim, undefined, undefined, claim]);
  });
});
