import { TOKEN_PROGRAM } from '../../../src/network.js';
import type { Offer } from '../../../src/protocols/types.js';
import { refusesForm } from '../../../src/protocols/x402/facilitator-layout.js';
import { compileMessage } from '../../../src/solana/transactions/compile.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  memo,
  transferChecked,
} from '../../../src/solana/transactions/instructions.js';
import { LIGHTHOUSE_PROGRAM } from '../../../src/solana/transactions/lighthouse.js';
import { judgeChange } from '../../../src/solana/transactions/wallet-changes.js';
import { OTHER, payment, refused, WALLET, wire } from '../../../test/corpus/wallet-changes.js';
import { guardVectors } from '../../../test/fixtures/lighthouse/vectors.js';
import {
  type Compiled,
  compile,
  guarded,
  guardOn,
  insert,
} from '../../../test/helpers/changing-wallet.js';

const original = compile(payment);

/** Returns the rule that a wallet's transaction breaks, or the number of its guards. */
function verdictOn(transaction: Uint8Array): string | number {
  const judged = judgeChange(original, transaction);
  return 'id' in judged ? judged.id : judged.guards;
}

const change = (transaction: Uint8Array) => ({
  of: 'change',
  wire: transaction,
  out: verdictOn(transaction),
});
const changed = (message: Compiled) =>
  change(wire(compile(message), message.header.numSignerAccounts));

/** Returns the verdict on a transaction for each flipped bit. */
function flips(transaction: Uint8Array): unknown[] {
  return Array.from(transaction, (byte, at) => ({
    of: 'flip',
    at,
    out: [1, 2, 4, 8, 16, 32, 64, 128].map((bit) => {
      const flipped = transaction.slice();
      flipped[at] = byte ^ bit;
      return verdictOn(flipped);
    }),
  })).filter(({ at }) => at === 0 || at >= 129);
}

/** Vectors of payments that wallets changed, with the verdict on the change. */
export function walletChanges(): unknown[] {
  const places = payment.instructions.length + 1;
  const start = wire(compile(guarded(payment, WALLET, { before: 1, after: 2 })));
  return [
    { of: 'original', message: original },
    changed(payment),
    ...Object.keys(guardVectors).flatMap((name) =>
      Array.from({ length: places }, (_, at) =>
        changed(insert(payment, at, guardOn(at % 2 === 0 ? WALLET : OTHER, name))),
      ),
    ),
    ...refused.map(([, , message]) => changed(message)),
    ...[new Uint8Array(), wire(original.slice(1)), wire(original, 1)].map(change),
    changed(guarded(payment, WALLET, { after: 60 })),
    { of: 'flipped', wire: start },
    ...flips(start),
    ...forms(),
  ];
}

const guard = { program: LIGHTHOUSE_PROGRAM, accounts: [], data: Uint8Array.of(15, 0) };
const guards = (count: number) => Array.from({ length: count }, () => guard);

/** Vectors of payments with guards, with the reason why official facilitators refuse them. */
function forms(): unknown[] {
  const kinds = [
    { x402Version: 2, takesMemo: true },
    { x402Version: 1, takesMemo: true },
    { x402Version: 1, takesMemo: false, memo: 'ab' },
    { x402Version: 1, takesMemo: false },
  ] as const;
  const transfer = transferChecked({
    ...{ source: OTHER, mint: OTHER, destination: OTHER, authority: WALLET },
    ...{ amount: 1n, decimals: 6, tokenProgram: TOKEN_PROGRAM },
  });
  return kinds.flatMap((kind) =>
    [0, 1].flatMap((before) =>
      [0, 1, 2, 3, 4].map((after) => {
        const message = compileMessage({
          feePayer: OTHER,
          blockhash: OTHER,
          instructions: [
            ...[computeUnitLimit(20_000), computeUnitPrice(1n), ...guards(before), transfer],
            ...(kind.takesMemo || 'memo' in kind ? [memo('ab')] : []),
            ...guards(after),
          ],
        });
        // The form depends only on these fields of an offer.
        return { of: 'form', kind, message, out: refusesForm(kind as Offer, message) ?? null };
      }),
    ),
  );
}
