import { receiptOf, type ErrorCode, type ExactChangeError, type SigningIntent } from 'exact-change';
import { expect } from 'vitest';
import { failureOf } from '../../helpers/payer.js';
import { expectUntouched } from '../../helpers/untouched.js';
import type { Buyer } from './world.js';

/** The answer of a call that must have bought what it was for. */
export async function bought(call: Promise<Response>): Promise<Response> {
  const response = await call;
  expect(response.status).toBe(200);
  expect(receiptOf(response)).toBeDefined();
  return response;
}

/** The error of a call that must have been refused before anything was signed. */
export async function refused<C extends ErrorCode>(
  buyer: Buyer,
  call: Promise<Response>,
  code: C,
): Promise<ExactChangeError<C>> {
  const before = buyer.signed.length;
  const error = await failureOf(call, code);
  expectUntouched(error);
  expect(buyer.signed.length).toBe(before);
  return error;
}

/** What the wallet was asked to sign, in that order. */
export function signedBy({ signed }: Buyer): SigningIntent['kind'][] {
  return signed.map(({ kind }) => kind);
}
