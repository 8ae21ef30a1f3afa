import { base64 } from '../../internal/bytes.js';
import { readInner } from '../transactions/inner.js';
import type { Address } from '../types.js';
import type { Request } from './failover.js';
import {
  asAnswers,
  asFields,
  asList,
  asText,
  orNull,
  rawErrorText,
  readAccount,
  readContext,
  safeInteger,
} from './reply.js';
import type { CallOptions, Simulation } from './rpc.js';
import { settings } from './tip.js';

/** Has a node run a transaction without landing it. */
export async function simulate(
  request: Request,
  transaction: Uint8Array,
  watch: readonly Address[],
  call: CallOptions | undefined,
): Promise<Simulation> {
  const config = {
    ...settings(call),
    encoding: 'base64',
    sigVerify: false,
    replaceRecentBlockhash: true,
    innerInstructions: true,
    accounts: { encoding: 'base64', addresses: watch },
  };
  const result = await request('simulateTransaction', [base64.encode(transaction), config]);
  const { slot, value } = readContext(result, call);
  const { err, logs, accounts, unitsConsumed, innerInstructions } = asFields(value);
  const shown = orNull(accounts, asList) ?? [];
  const error = rawErrorText(err);
  // A transaction that fails before it runs has no accounts to show.
  if (error === null) asAnswers(shown, watch, 'accounts');
  return {
    slot,
    error,
    logs: orNull(logs, asList)?.map(asText) ?? [],
    unitsConsumed: BigInt(safeInteger(unitsConsumed ?? 0)),
    accounts: watch.map((_, index) => orNull(shown[index], readAccount)),
    inner: orNull(innerInstructions, readInner) ?? undefined,
  };
}
