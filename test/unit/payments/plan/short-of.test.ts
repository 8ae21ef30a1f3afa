import { expect, it } from 'vitest';
import { createLedger } from '../../../../src/journal/balance-ledger.js';
import { outdateBalance } from '../../../../src/payments/plan/short-of.js';
import { seenSince } from '../../../helpers/seen-since.js';

const NOW = 1_000_000;

it('counts no payment as unspent that left while a dearer price was refused', async () => {
  const ledger = createLedger();
  const source = 'account';
  const known = seenSince(NOW);
  await ledger.see(source, { amount: 100n, at: NOW, slot: 1 });
  const facts = { source, available: 100n };
  await ledger.take(source, 'landed', 10n, known);
  await ledger.spend(source, 'landed', 2);
  await ledger.take(source, 'in flight', 15n, known);
  await outdateBalance({ ledger }, facts);
  expect(await ledger.available(source, known)).toBeUndefined();
  await ledger.see(source, { amount: 90n, at: NOW, slot: 3 });
  expect(await ledger.available(source, known)).toBe(75n);
});
