import { isRecord, type UnknownRecord } from '../../internal/record.js';

/** The platform fee that a quote carries, in basis points; undefined if it cannot be read. */
export function platformFeeOf(raw: UnknownRecord): number | undefined {
  const fee = raw['platformFee'];
  if (fee === undefined || fee === null) return 0;
  if (!isRecord(fee)) return undefined;
  const bps = fee['feeBps'] ?? 0;
  const none = fee['amount'] === undefined || fee['amount'] === null || fee['amount'] === '0';
  return typeof bps === 'number' && none ? bps : undefined;
}
