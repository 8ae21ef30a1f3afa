import fc from 'fast-check';
import { expect, it } from 'vitest';
import { U64_MAX } from '../../../../src/amount.js';
import { SOLANA_MAINNET, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import type { Offer } from '../../../../src/protocols/types.js';
import { exactPaymentBytes } from '../../../../src/protocols/x402/exact.js';
import { x402Protocol } from '../../../../src/protocols/x402/protocol.js';
import { addressOf } from '../../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { assembleTransaction } from '../../../../src/solana/transactions/transaction.js';

const key = (seed: number) => addressOf(new Uint8Array(32).fill(seed));
const [payer, mint, payTo, feePayer, blockhash] = [key(1), key(2), key(3), key(4), key(5)];

it('the size that is told ahead is that of the payment, whatever is offered', () => {
  fc.assert(
    fc.property(
      fc.option(fc.string({ minLength: 1, maxLength: 250, unit: 'binary' }), { nil: undefined }),
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
