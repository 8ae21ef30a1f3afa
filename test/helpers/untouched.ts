import type { ErrorCode, ExactChangeError } from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { failureOf, type Payer } from './payer.js';

/** Matches a message that says what happened and what to do, or what the caller must do. */
const HELPFUL = /^[A-Z0-9].*([.:;] .+| must .+)\.$/s;

/** Checks that an error reports that no funds moved, in a helpful message. */
export function expectUntouched(error: ExactChangeError): void {
  expect({ code: error.code, funds: error.funds, moved: error.moved }).toEqual({
    code: error.code,
    funds: 'untouched',
    moved: [],
  });
  expect(error.message).toMatch(HELPFUL);
  // A log must be able to serialise the error, so it has no bigint and no cycle.
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({
    code: error.code,
    name: error.name,
    funds: 'untouched',
    moved: [],
    retry: error.retry,
  });
}

/**
 * Checks the refusal of a call if the journal cannot be read. This call moved nothing, but an
 * earlier call may have paid, so `funds` is `uncertain`.
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
 * Runs `work`, and checks that the wallet signs nothing, that no transaction is sent to the chain,
 * and that no request reaches the sandbox's API or facilitator.
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
 * Returns the error of a call that must be refused. Checks that nothing is signed or sent, and that
 * the caps count nothing for the call.
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
