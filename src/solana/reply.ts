import { redact } from '../redact.js';
import { Fault } from './fault.js';

/**
 * A count, slot or amount of lamports. web3.js reads JSON numbers, which are wrong above 2^53: such an answer is refused
 * instead of rounded.
 */
export function safeInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Fault('invalid', 'a number in it is not within 0 and 2^53');
}

/** Why a transaction failed, as the node words it. */
export function errorText(error: unknown): string | null {
  return error === null || error === undefined ? null : redact(JSON.stringify(error));
}
