import { receiptOf, type ErrorCode, type ExactChangeError, type SigningIntent } from 'exact-change';
import { expect } from 'vitest';
import { failureOf } from '../../helpers/payer.js';
import { expectUntouched } from '../../helpers/untouched.js';
import type { Buyer } from './world.js';

/** Returns the answer of a call, which must be a purchase with a receipt. */
export async function bought(call: Promise<Response>): Promise<Response> {
  const response = await call;
  expect(response.status).toBe(200);
  expect(receiptOf(response)).toBeDefined();
  return response;
}

/** Returns the error of a call, which must be refused before any signature. */
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

/** Returns the kinds of transactions that the wallet signed, in order. */
export function signedBy({ signed }: Buyer): SigningIntent['kind'][] {
  return signed.map(({ kind }) => kind);
}
