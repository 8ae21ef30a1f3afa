import type { Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { landed } from '../../helpers/chain.js';
import { attemptsIn, linesOf, movesOf, usdcOf, type Line } from './evidence.js';
import type { Purchase, Story } from './survive.js';

/** Base units of USDC; every route in these tests has this price. */
const PRICE = 10_000n;
const CENTS_PER_PAYMENT = 1n;

/** Expects the chain, the journal, the merchant's ledger and the caller's outcomes to agree. */
export async function audit(
  sandbox: Sandbox,
  { point, wallet, journal, request, held }: Purchase,
  story: Story,
): Promise<void> {
  const { purchases } = story;
  // Wait for each signed swap: a swap in flight must be part of the audit.
  for (const signature of story.swaps) await landed(sandbox.rpcUrl, signature);
  const moves = await movesOf(sandbox, wallet.address);
  const payments = moves.filter(({ received }) => received > 0n);
  const swaps = moves.filter(({ change }) => change > 0n);
  const attempts = await attemptsIn(journal, wallet.address);
  const settled = attempts.filter(({ state }) => state === 'settled');

  // The chain: one payment for each purchase, one swap at most, and nothing else.
  expect(payments.map(({ received, change }) => [received, change])).toEqual(
    Array(purchases).fill([PRICE, -PRICE]),
  );
  expect(swaps.length).toBe(point.wallet === 'swap' ? 1 : 0);
  for (const signature of story.swaps)
    expect(swaps.map((swap) => swap.signature)).toEqual([signature]);
  expect(moves.length).toBe(payments.length + swaps.length);
  expect(moves.filter(({ failed }) => failed)).toEqual([]);
  const paid = sum(payments.map(({ received }) => received));
  expect((await usdcOf(sandbox, sandbox.merchant)) - held.merchant).toBe(paid);
  expect(await usdcOf(sandbox, wallet.address)).toBe(
    held.wallet + sum(swaps.map(({ change }) => change)) - paid,
  );

  // The journal: every attempt is decided, nothing is held, and each payment has its receipt.
  const onChain = payments.map(({ signature }) => signature).sort();
  expect(
    attempts.filter(({ state }) => !['settled', 'unsettled', 'unpaid'].includes(state)),
  ).toEqual([]);
  expect(settled.map(({ receipt }) => receipt?.payment.signature).sort()).toEqual(onChain);
  expect(sum(settled.map(({ amount }) => BigInt(amount)))).toBe(paid);
  for (const { state, receipt } of attempts.filter((attempt) => attempt.state !== 'unpaid'))
    expect(receipt?.state).toBe(state);
  for (const { id, payment } of story.recorded.values()) {
    const now = attempts.find((attempt) => attempt.id === id);
    expect(now?.receipt?.payment.payerSignature).toBe(payment?.payerSignature);
  }
  for (const { receipt } of settled) {
    if (receipt?.swap === undefined) continue;
    expect(swaps).toMatchObject([
      { signature: receipt.swap.signature, change: BigInt(receipt.swap.outAmount) },
    ]);
  }
  expect(story.spent).toEqual([dollars(BigInt(purchases) * CENTS_PER_PAYMENT)]);

  // The merchant: it received only payments on record, and each payment that landed.
  const lines = linesOf(sandbox, wallet.address, request.url);
  const bySignature = new Map(
    attempts.map((attempt) => [attempt.payment?.payerSignature, attempt]),
  );
  const stateOf = (line: Line) => bySignature.get(line.payerSignature)?.state;
  const landedLines = lines.filter((line) => stateOf(line) === 'settled');
  expect(lines.filter((line) => stateOf(line) === undefined)).toEqual([]);
  expect(new Set(landedLines.map(({ payerSignature }) => payerSignature)).size).toBe(purchases);
  expect(lines.filter((line) => line.settled && !landedLines.includes(line))).toEqual([]);

  // The outcomes that the caller got.
  for (const outcome of story.outcomes) {
    // A caller that may present the payment again gets its purchase.
    if (point.identified) expect(outcome.kind).toBe('answer');
    if (outcome.kind === 'answer') {
      expect(outcome).toMatchObject({ status: 200, receipt: { state: 'settled' } });
      expect(JSON.parse(outcome.body)).toMatchObject({ ok: true, method: point.method });
      expect(onChain).toContain(outcome.receipt.payment.signature);
    } else {
      expect(outcome).toMatchObject({ kind: 'error', code: 'already_spent', funds: 'spent' });
      if (outcome.kind === 'error') expect(onChain).toContain(outcome.details['signature']);
    }
  }
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((all, amount) => all + amount, 0n);
}

/** Formats less than a dollar, such as `0.02`. */
function dollars(cents: bigint): string {
  return `0.${cents.toString().padStart(2, '0')}`;
}
