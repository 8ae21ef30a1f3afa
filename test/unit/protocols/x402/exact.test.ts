import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from '@solana/spl-token';
import {
  ComputeBudgetProgram,
  MessageV0,
  PublicKey,
  TransactionInstruction,
} from '@solana/web3.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { U64_MAX } from '../../../../src/amount.js';
import { SOLANA_MAINNET, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import { MEMO_PROGRAM } from '../../../../src/solana/programs.js';
import type { PaymentFacts } from '../../../../src/protocols/protocol.js';
import type { Offer } from '../../../../src/protocols/types.js';
import { exactPaymentBytes } from '../../../../src/protocols/x402/exact.js';
import { x402Protocol } from '../../../../src/protocols/x402/protocol.js';
import { addressOf } from '../../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { assembleTransaction } from '../../../../src/solana/transactions/transaction.js';
import { anyText } from '../../../helpers/any-text.js';

const key = (seed: number) => addressOf(new Uint8Array(32).fill(seed));
const [payer, mint, payTo, feePayer, blockhash] = [key(1), key(2), key(3), key(4), key(5)];

it('predicts the size of a payment for any offer', () => {
  fc.assert(
    fc.property(
      fc.option(anyText({ minLength: 1, maxLength: 250 }), { nil: undefined }),
      fc.boolean(),
      fc.bigInt({ min: 1n, max: U64_MAX }),
      fc.constantFrom(TOKEN_PROGRAM, TOKEN_2022_PROGRAM),
      (memo, takesMemo, amount, tokenProgram) => {
        const offer: Offer = {
          ...{ x402Version: 2, scheme: 'exact', network: SOLANA_MAINNET, maxTimeoutSeconds: 60 },
          ...{ index: 0, amount, mint, payTo, feePayer, takesMemo, raw: {} },
          ...(memo === undefined ? {} : { memo }),
        };
        const { message } = x402Protocol.build({
          ...{ offer, payer, tokenProgram, blockhash, decimals: 6 },
          source: associatedTokenAddress(payer, mint, tokenProgram),
          destination: associatedTokenAddress(payTo, mint, tokenProgram),
          nonce: new Uint8Array(16).fill(7),
          price: 5n,
        });
        expect(exactPaymentBytes(offer)).toBe(assembleTransaction(message, new Map()).length);
      },
    ),
    { numRuns: 40 },
  );
});

/** Owners on the curve and off it; an owner may have several roles. */
const owners = Array.from({ length: 12 }, (_, index) =>
  addressOf(Uint8Array.from({ length: 32 }, (_, at) => (index * 41 + at * (index + 3)) & 0xff)),
);
const accounts = new Map<string, PublicKey>();
/** The associated token account as spl-token derives it. */
function accountOf(owner: string, mint: string, program: string): PublicKey {
  const name = [owner, mint, program].join(' ');
  const known = accounts.get(name);
  if (known !== undefined) return known;
  const [key, mintKey, programKey] = [owner, mint, program].map(
    (address) => new PublicKey(address),
  );
  if (key === undefined || mintKey === undefined) throw new Error('three keys');
  const account = getAssociatedTokenAddressSync(mintKey, key, true, programKey);
  accounts.set(name, account);
  return account;
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The payment as web3.js and spl-token build it. */
function referenceBytes({ offer, payer, decimals, ...facts }: PaymentFacts): Uint8Array {
  const { amount, mint, payTo, feePayer } = offer;
  const hasOwnMemo = offer.memo === undefined && offer.takesMemo;
  const memo = hasOwnMemo ? Buffer.from(facts.nonce).toString('hex') : offer.memo;
  const message = MessageV0.compile({
    payerKey: new PublicKey(feePayer),
    recentBlockhash: facts.blockhash,
    instructions: [
      ComputeBudgetProgram.setComputeUnitLimit({ units: 20_000 }),
      ComputeBudgetProgram.setComputeUnitPrice({ microLamports: hasOwnMemo ? 1n : facts.price }),
      createTransferCheckedInstruction(
        accountOf(payer, mint, facts.tokenProgram),
        new PublicKey(mint),
        accountOf(payTo, mint, facts.tokenProgram),
        new PublicKey(payer),
        amount,
        decimals,
        [],
        new PublicKey(facts.tokenProgram),
      ),
      ...(memo === undefined
        ? []
        : [
            new TransactionInstruction({
              programId: new PublicKey(MEMO_PROGRAM),
              keys: [],
              data: Buffer.from(memo),
            }),
          ]),
    ],
  });
  return Uint8Array.from(message.serialize());
}

it('builds the same bytes as web3.js and spl-token from the same facts', () => {
  const owner = fc.constantFrom(...owners);
  const anyTerms = fc.record({
    feePayer: owner,
    payTo: owner,
    mint: owner,
    amount: fc.bigInt({ min: 1n, max: U64_MAX }),
    takesMemo: fc.boolean(),
    memo: fc.option(anyText({ minLength: 1, maxLength: 60 }), { nil: undefined }),
  });
  const anyFacts = fc.record({
    payer: owner,
    tokenProgram: fc.constantFrom(TOKEN_PROGRAM, TOKEN_2022_PROGRAM),
    decimals: fc.integer({ min: 0, max: 255 }),
    blockhash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(addressOf),
    nonce: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    price: fc.bigInt({ min: 1n, max: 1_000_000n }),
  });
  fc.assert(
    fc.property(anyTerms, anyFacts, ({ memo, ...terms }, facts) => {
      const { payer, tokenProgram } = facts;
      // The parties differ, as in each offer that is read.
      fc.pre(new Set([payer, terms.feePayer, terms.payTo, terms.mint]).size === 4);
      const offer: Offer = {
        ...{ x402Version: 2, scheme: 'exact', network: SOLANA_MAINNET, maxTimeoutSeconds: 60 },
        ...{ index: 0, raw: {}, ...terms, ...(memo === undefined ? {} : { memo }) },
      };
      const payment = {
        ...{ ...facts, offer },
        source: associatedTokenAddress(payer, terms.mint, tokenProgram),
        destination: associatedTokenAddress(terms.payTo, terms.mint, tokenProgram),
      };
      expect(textOf(x402Protocol.build(payment).message)).toBe(textOf(referenceBytes(payment)));
    }),
    { numRuns: 1_000 },
  );
});
