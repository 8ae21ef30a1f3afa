import type { ErrorCode, ExactChangeError } from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { failureOf, type Payer } from './payer.js';

/** A sentence on what happened and another on what to do, or one that says what has to be. */
const HELPFUL = /^[A-Z0-9].*([.:;] .+| must .+)\.$/s;

/** The parts of a refusal that every one must have: nothing moved, and words that help. */
export function expectUntouched(error: ExactChangeError): void {
  expect({ code: error.code, funds: error.funds, moved: error.moved }).toEqual({
    code: error.code,
    funds: 'untouched',
    moved: [],
  });
  expect(error.message).toMatch(HELPFUL);
  // All that a log would keep: no bigint, no cycle.
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({
    code: error.code,
    name: error.name,
    funds: 'untouched',
    moved: [],
    retry: error.retry,
  });
}

/**
 * The refusal of a call if its journal cannot tell of an earlier payment for the same: nothing moved
 * by this one, and no word that nothing was paid.
 */
export function expectUnread(error: ExactChangeError): void {
  const { code, funds, moved, retry } = error;
  expect({ code, funds, moved, retry }).toEqual({
    code: 'journal_unavailable',
    funds: 'uncertain',
    moved: [],
    retry: 'same',
  });
  expect(error.message).toMatch(HELPFUL);
}

/**
 * Watches the whole sandbox while `work` runs: nothing may be sent to the chain, and no paid
 * request may reach a seller.
 */
export async function nothingSent<T>(
  sandbox: Sandbox,
  payer: Pick<Payer, 'signed' | 'events'>,
  work: () => Promise<T>,
): Promise<T> {
  const { node, facilitator, api } = sandbox.controls;
  const count = () => ({
    sent: node.calls({ method: 'sendTransaction' }),
    verified: facilitator.calls('/verify'),
    settled: facilitator.calls('/settle'),
    served: api.served.length,
    signed: payer.signed.length,
    presented: payer.events.filter(
      ({ type }) => type === 'payment.signed' || type === 'payment.sent' || type === 'swap.signed',
    ).length,
  });
  const before = count();
  const result = await work();
  expect(count()).toEqual(before);
  return result;
}

/**
 * A call that has to be refused before anything is signed or sent, and has to leave no part of a
 * budget reserved.
 */
export async function refusal<C extends ErrorCode>(
  sandbox: Sandbox,
  payer: Payer,
  code: C,
  call: () => Promise<unknown>,
): Promise<ExactChangeError<C>> {
  const used = async () => (await payer.client.spent()).map((cap) => cap.used);
  const before = await used();
  const error = await nothingSent(sandbox, payer, () => failureOf(call(), code));
  expectUntouched(error);
  expect(await used()).toEqual(before);
  return error;
}
