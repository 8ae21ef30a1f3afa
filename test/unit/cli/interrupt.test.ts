import type { ClientEvent } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createInterruption } from '../../../adapters/cli/interrupt.js';
import { terminalOf } from '../../../adapters/cli/terminal.js';

const SWAP = 'swap signature';
const PAYMENT = 'payment signature';
const base = { id: 'a', at: 0 };
const cost = { networkFeeLamports: '0', rentLamports: '0' };
const swapped = {
  ...{ signature: SWAP, inputMint: 'in', inAmount: '1', outputMint: 'out', outAmount: '1' },
  provider: 'jupiter',
};
const receipt = {
  ...{ id: 'a', url: 'https://api.example.com/', method: 'GET', at: 0, state: 'settled' as const },
  payment: {
    ...{ network: 'solana', mint: 'out', amount: '1', decimals: 6, uiAmount: '0.000001' },
    ...{ payTo: 'seller', payer: 'wallet', payerSignature: PAYMENT, signature: 'transaction' },
  },
  ...{ cost, timings: {} },
};

const swapSigned: ClientEvent = {
  ...base,
  ...{ type: 'swap.signed', signature: SWAP, lastValidBlockHeight: '1' },
};
const swapConfirmed: ClientEvent = {
  ...base,
  ...{ type: 'swap.confirmed', ...swapped, feeLamports: '5000' },
};
const swapLost: ClientEvent = {
  ...base,
  ...{ type: 'swap.failed', signature: SWAP, code: 'swap_uncertain' },
};
const swapFailed: ClientEvent = { ...swapLost, code: 'swap_failed' };
const swapExpired: ClientEvent = { ...swapLost, code: 'swap_expired' };
const paymentSigned: ClientEvent = {
  ...base,
  ...{ type: 'payment.signed', payerSignature: PAYMENT, lastValidBlockHeight: '1' },
};
const paymentSettled: ClientEvent = { ...base, type: 'payment.settled', receipt };
const paymentUnsettled: ClientEvent = {
  ...base,
  type: 'payment.unsettled',
  receipt: { ...receipt, state: 'unsettled' },
};

const paymentSent: ClientEvent = {
  ...base,
  ...{ type: 'payment.sent', url: receipt.url, method: 'GET' },
};
const paymentAnswered: ClientEvent = {
  ...base,
  ...{ type: 'payment.answered', status: 402, receipt: { ...receipt, state: 'uncertain' } },
};
const otherReceipt = {
  ...receipt,
  ...{
    url: 'https://other.example.com/',
    payment: { ...receipt.payment, payerSignature: 'other' },
  },
};

/** Returns the report of a call that is interrupted after the events. */
function reportAfter(events: readonly ClientEvent[]) {
  const interruption = createInterruption(terminalOf(process));
  onTestFinished(() => interruption.end());
  for (const event of events) interruption.listener(event);
  const { exit, funds, notes = [] } = interruption.openReport() ?? {};
  return { exit, funds, said: notes.join(' ') };
}

describe('the report of an interrupted call', () => {
  it.each([
    ['nothing when nothing was signed', [], undefined, ''],
    ['a swap that is signed', [swapSigned], 'uncertain', SWAP],
    ['a swap that no node confirms', [swapSigned, swapLost], 'uncertain', SWAP],
    ['a payment that is signed', [paymentSigned], 'uncertain', PAYMENT],
    ['a swap that has landed', [swapSigned, swapConfirmed], 'swapped', SWAP],
    [
      'the signed payment after a swap',
      [swapSigned, swapConfirmed, paymentSigned],
      'uncertain',
      PAYMENT,
    ],
    ['a payment that has landed', [paymentSigned, paymentSettled], 'spent', PAYMENT],
    [
      'the swap when its payment never lands',
      [swapSigned, swapConfirmed, paymentSigned, paymentUnsettled],
      'swapped',
      SWAP,
    ],
    ['a swap that has landed and failed', [swapSigned, swapFailed], 'untouched', SWAP],
    [
      'the second swap when the first swap has failed',
      [swapSigned, swapFailed, swapSigned, swapConfirmed],
      'swapped',
      SWAP,
    ],
    ['a payment of an earlier call that is sent again', [paymentSent], 'uncertain', 'earlier call'],
    ['an earlier payment that was answered', [paymentSent, paymentAnswered], 'uncertain', PAYMENT],
    [
      'an earlier payment that lands beside the payment of another call',
      [paymentSent, { ...paymentSettled, receipt: otherReceipt }],
      'uncertain',
      'earlier call',
    ],
    ['an earlier payment that landed before', [paymentSettled, paymentSent], 'spent', PAYMENT],
    ['nothing of the payment of another call', [paymentSettled], undefined, ''],
    ['an earlier payment that has landed', [paymentSent, paymentSettled], 'spent', PAYMENT],
    [
      'an earlier payment that was answered and has landed',
      [paymentSent, paymentAnswered, paymentSettled],
      'spent',
      PAYMENT,
    ],
    [
      'the own payment once when it is sent twice',
      [paymentSigned, paymentSent, paymentSettled, paymentSent],
      'spent',
      PAYMENT,
    ],
    ['nothing when an earlier payment never lands', [paymentSent, paymentUnsettled], undefined, ''],
    ['nothing when the swap can never land', [swapSigned, swapExpired], undefined, ''],
  ] as const)('names %s', (_, events, funds, signature) => {
    const report = reportAfter(events);
    const exit = funds === 'untouched' ? 'interrupted' : funds;
    expect([report.exit, report.funds]).toEqual([exit, funds]);
    expect(report.said).toContain(signature);
    // Only payments are on record, so resume cannot tell of a swap.
    const mayBePaid = funds === 'uncertain' && signature !== SWAP;
    expect(report.said.includes('exact-change resume asks')).toBe(mayBePaid);
  });
});
